"""ODE views."""

MODULES = ("momentum_flows", "momentum_flow_orders")
