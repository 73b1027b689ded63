"""Linear algebra used."""

MODULES = ("projections", "whitening", "least_squares")
