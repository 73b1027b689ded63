"""Paths between minima: curves, elastic bands, almost convex constructions."""
