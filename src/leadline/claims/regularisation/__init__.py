"""Regularisation: penalties, early stopping, noise, dropout, committees, normalisation, and whether they helped."""

SECTIONS = (
    "risk",
    "protocol",
    "penalties",
    "early_stopping",
    "noise",
    "committees",
    "dropout",
    "normalisation",
    "batch_normalisation",
    "shift",
    "distillation",
    "pretraining",
)
