"""Leadline: deep learning with what theory predicts beside what is measured."""

import lazy_loader as lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submodules=[
        "agents", "bayes", "chains", "claims", "coding", "convolution", "curvature", "data", "deep_linear",
        "dichotomies", "differentiation", "dissection", "embeddings", "evidence", "features", "generalisation",
        "infinite_width", "kernel_machines", "kernels", "landscape", "learning", "margins", "memories", "networks",
        "neurons", "optimisation", "perceptrons", "probability", "recipes", "robustness", "sloppiness", "stochastic",
        "study", "tangent", "training",
    ],
    submod_attrs={"claims": ["check"]},
)  # fmt: skip
