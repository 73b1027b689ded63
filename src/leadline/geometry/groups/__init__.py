"""Finite groups as data: tables, actions, representations, averages, equivariant maps, convolution."""
