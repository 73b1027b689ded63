"""Fisher information."""

MODULES = ("fisher", "fisher_hessian", "fisher_inputs", "prediction_bands", "ellipsoids", "certificates", "cramer_rao")
