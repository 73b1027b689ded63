"""Bayes risk and the error terms."""

MODULES = ("bayes_risk", "error_terms", "overparametrisation", "pruning")
