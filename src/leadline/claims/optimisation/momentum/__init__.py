"""Momentum."""

MODULES = (
    "momentum_forms",
    "momentum_state",
    "momentum_stability",
    "momentum_cycle",
    "momentum_rates",
    "momentum_choice",
    "method_race",
)
