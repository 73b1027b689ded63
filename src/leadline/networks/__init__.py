"""Neural networks as Equinox modules, and the functions they are made of."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "activations": [
            "ACTIVATIONS",
            "activation",
            "gelu",
            "gelu_derivative",
            "gelu_tanh",
            "identity",
            "preimage",
        ],
        "image_classifiers": ["ConvClassifier", "accuracy", "permute_inputs", "train_classifier"],
    },
)
