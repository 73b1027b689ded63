"""Perceptrons: the linear threshold classifier, its training rule, its variants and its dual form."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "classifier": ["LinearThreshold", "absorb_bias", "fires", "from_threshold", "with_constant"],
        "cycling": ["Cycle", "find_cycle", "sweep_states"],
        "dual": [
            "Cost",
            "DualClassifier",
            "dual_cost",
            "dual_form",
            "inner_product",
            "mistake_weights",
            "monomial_features",
            "polynomial_kernel",
            "primal_cost",
        ],
        "hyperplane": ["absorbed_distance", "foot", "plane_offset", "signed_distance"],
        "subgradient": ["perceptron_loss", "subgradient_descent"],
        "training": ["Path", "Run", "fit", "is_mistake", "path", "sweep_order"],
        "variants": ["Pocket", "averaged", "path_errors", "pocket"],
    },
)
