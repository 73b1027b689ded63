"""Units and activations."""

MODULES = ("units", "activations", "activation_exchange", "activation_health")
