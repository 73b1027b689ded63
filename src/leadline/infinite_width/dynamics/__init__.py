"""Training of infinitely wide networks in closed form."""
