"""Regularisers against none: the same network, rows and seeds, one change at a time."""
