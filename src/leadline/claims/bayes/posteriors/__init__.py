"""Posterior, MAP and evidence."""

MODULES = ("posteriors", "predictions")
