"""Learning with kernels: expansions, ridge, logistic and hinge machines, perceptrons, Gaussian processes."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "evidence": ["EvidenceMaximum", "log_evidence", "maximise_evidence"],
        "expansion": ["Expansion"],
        "factorisation": ["Factor", "factorise"],
        "logistic_classifier": [
            "FeatureDescent",
            "KernelDescent",
            "feature_logistic_descent",
            "kernel_logistic",
            "kernel_logistic_descent",
        ],
        "mistake_driven": ["KernelRun", "kernel_perceptron"],
        "process_regression": [
            "LeaveOneOut",
            "Paths",
            "ProcessPosterior",
            "gaussian_paths",
            "gp_regression",
            "prior_paths",
        ],
        "ridge_regression": [
            "KernelRidge",
            "KernelRidgePath",
            "kernel_ridge",
            "kernel_ridge_path",
            "penalty_for_residual",
        ],
        "risk_minimisers": [
            "FeatureMinimum",
            "KernelMinimum",
            "feature_erm",
            "feature_objective",
            "kernel_erm",
            "newton_coefficients",
        ],
        "support_vectors": ["KernelMargin", "SupportVectors", "kernel_margin", "kernel_svm"],
    },
)
