"""Training the linearised network."""

MODULES = ("linearised", "linearised_compared")
