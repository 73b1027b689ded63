"""Training: the plain descent, and the loop with validation, checkpoints and a progress bar."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "checkpoints": ["Checkpoints", "StorageFull"],
        "descent": ["apply_rule", "minimise"],
        "divergence": ["Diverged", "sharpness"],
        "fitting": ["Run", "Schedule", "fit"],
        "many": ["fit_many"],
        "objectives": ["LOSSES", "Loss", "Sample", "checked_sample", "one_hot_squared_error", "squared_error"],
        "weights": ["load_weights", "named_arrays", "save_weights"],
    },
)
