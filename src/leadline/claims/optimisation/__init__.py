"""Deterministic optimisation: convexity, smoothness, descent, Newton, momentum, lower bounds, adaptive methods.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import objectives_zoo, convexity, convexity_orders, minimisers, smoothness, co_coercivity
from . import measured_constants, network_curvature, pl, descent_methods, descent_instruments, edge_of_stability
from . import descent_bounds, descent_rates, line_search_zigzag, basins, gradient_flow, newton, preconditioning
from . import lower_bounds, momentum_forms, momentum_stability, momentum_rates, momentum_choice, momentum_flows
from . import adaptive_methods, adaptive_behaviour, adam_variants
