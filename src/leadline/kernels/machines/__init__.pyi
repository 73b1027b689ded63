from .expansion import Expansion as Expansion
from .gaussian_process import gp_regression as gp_regression
from .kernel_perceptron import kernel_perceptron as kernel_perceptron
from .logistic_classifier import (
    feature_logistic_descent as feature_logistic_descent,
    kernel_logistic as kernel_logistic,
    kernel_logistic_descent as kernel_logistic_descent,
)
from .marginal_likelihood import log_evidence as log_evidence, maximise_evidence as maximise_evidence
from .ridge_regression import kernel_ridge as kernel_ridge, kernel_ridge_path as kernel_ridge_path
from .risk_minimisers import feature_erm as feature_erm, kernel_erm as kernel_erm
from .support_vectors import kernel_margin as kernel_margin, kernel_svm as kernel_svm
