"""Generalisation: test sets, capacity, random labels, PAC-Bayes."""

SECTIONS = ("probability_tools", "vc_dimension", "randomisation_tests", "pac_bayes")
