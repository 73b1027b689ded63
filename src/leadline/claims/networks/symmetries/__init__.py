"""Parameter symmetries."""

MODULES = ("symmetries", "matching")
