"""Changes of the parameters that keep the function, and matching of units across networks."""
