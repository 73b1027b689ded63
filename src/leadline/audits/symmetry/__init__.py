"""The audit of symmetry: networks with and without quarter turns built in, on digits."""
