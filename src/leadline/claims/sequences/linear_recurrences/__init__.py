"""Linear recurrences."""

MODULES = ("minimal_units", "diagonal_units")
