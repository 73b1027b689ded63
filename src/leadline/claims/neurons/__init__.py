"""Threshold units, the perceptron, margins, counting of linear dichotomies, and associative memory."""

SECTIONS = ("units", "perceptron", "mistake_bounds", "dichotomies", "associative_memory", "agents_and_codes")
