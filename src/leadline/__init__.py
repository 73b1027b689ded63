"""Leadline: deep learning with what theory predicts beside what is measured."""

import lazy_loader as lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submodules=[
        "agents", "claims", "coding", "data", "dichotomies", "differentiation", "embeddings", "evidence", "learning",
        "margins", "memories", "networks", "neurons", "perceptrons", "probability", "recipes", "training",
    ],
    submod_attrs={"claims": ["check"]},
)  # fmt: skip
