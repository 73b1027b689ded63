"""Probability and analysis toolbox."""

MODULES = ("distributions", "inequalities", "generating_functions", "analysis")
