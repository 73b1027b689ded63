"""Models with known sloppiness: regressions, orbits, Vandermonde systems."""
