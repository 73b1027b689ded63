"""Tasks, risks, losses, regression, likelihood, classification, error terms and the probability toolbox."""

SECTIONS = (
    "tasks_and_risk",
    "losses",
    "regression",
    "likelihood",
    "classification",
    "error_terms",
    "memorising",
    "probability",
)
