"""Sequence to sequence."""

MODULES = ("factorisation", "encoder_decoders", "feedback", "forcing", "exposure", "bottleneck")
