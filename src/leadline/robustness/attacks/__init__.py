"""Adversarial attacks: gradient attacks, DeepFool, and the projections they need."""
