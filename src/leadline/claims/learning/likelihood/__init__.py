"""Likelihood and priors."""

MODULES = ("likelihood", "intervals", "priors")
