"""Pooling: maxima and means over windows, their gradients, what shifts do to them, detectors built on them."""
