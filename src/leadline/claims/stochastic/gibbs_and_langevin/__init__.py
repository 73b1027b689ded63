"""Gibbs and Langevin view."""

MODULES = ("gibbs", "gibbs_distributions", "well_shares", "annealing", "cooling", "equilibration", "basin_escape")
