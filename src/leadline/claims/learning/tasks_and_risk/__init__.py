"""Tasks, data and risk."""

MODULES = ("tasks", "hypotheses", "risk", "stochastic_gradient")
