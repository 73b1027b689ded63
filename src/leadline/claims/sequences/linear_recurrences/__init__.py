"""Linear recurrences."""

MODULES = ("state_spaces", "scans", "diagonal_forms", "stability", "universality")
