"""Deterministic optimisation: convexity, smoothness, descent, Newton, momentum, lower bounds, adaptive methods.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import objectives_zoo, convexity, convex_functions, convexity_orders, minimisers, smoothness, co_coercivity
from . import measured_constants, network_curvature, pl, descent_methods, descent_instruments, edge_of_stability
from . import descent_bounds, stationarity, descent_distances, descent_rates
from . import condition_number_rates, line_search_zigzag, basins
from . import gradient_flow, newton, newton_speed, preconditioning, curvature_stand_ins
from . import lower_bounds, momentum_forms, momentum_memory, momentum_stability, momentum_cycle, momentum_rates
from . import momentum_choice, method_race, momentum_flows, momentum_flow_orders
from . import adaptive_methods, adam_methods, adaptive_behaviour, adam_steps, adam_variants, adam_settings
