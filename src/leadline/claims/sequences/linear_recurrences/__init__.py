"""Linear recurrences."""

MODULES = ("state_spaces", "scans", "minimal_units", "diagonal_units", "diagonal_forms", "stability", "universality")
