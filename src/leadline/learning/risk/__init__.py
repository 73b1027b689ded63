"""Distributions of labelled examples, risks, their minimisers and the error terms."""
