"""Activations of infinitely wide layers: E φ(u)φ(v) and E φ'(u)φ'(v) for Gaussian (u, v)."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "activation": ["ActivationLayer"],
        "error_function": ["Erf", "Gelu"],
        "hermite": ["Elementwise", "Sigmoid", "Silu", "Softplus", "Tanh"],
        "named": ["activation_layer"],
        "polynomial": ["Polynomial"],
        "rectified": ["ABRelu", "Abs", "Heaviside", "LeakyRelu", "Relu", "Sign", "Step"],
        "trigonometric": ["Cos", "Exp", "GaussianBump", "Sin"],
    },
)
