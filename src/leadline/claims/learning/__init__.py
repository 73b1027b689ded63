"""Tasks, risks, losses, regression, likelihood, classification, error terms and the probability toolbox.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import tasks, hypotheses, risk, stochastic_gradient
from . import losses, surrogates, metrics
from . import least_squares, model_choice, selection, ridge, quantiles
from . import likelihood, intervals, priors
from . import logistic, softmax, cross_entropy, label_smoothing, multi_label
from . import bayes_risk, error_terms, overparametrisation, pruning
from . import memorising, spurious
from . import distributions, inequalities, generating_functions, analysis
