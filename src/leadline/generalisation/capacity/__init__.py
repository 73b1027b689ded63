"""Capacity of a class: growth functions, VC dimension, Rademacher averages."""
