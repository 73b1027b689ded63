"""Optimisation: objectives with their constants, methods as Optax rules, runs, and what theory says of them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "descent": ["Descent", "descend", "evaluation_point", "steps_to_reach", "tunable"],
        "objective": ["Constants", "Objective", "Quadratic", "spread_quadratic"],
        "softmax_regression": ["SoftmaxRidge", "digits_softmax", "minimise_by_newton", "softmax_ridge_loss"],
    },
)
