"""Two-layer and deep linear networks."""

MODULES = (
    "linear_networks",
    "factors",
    "atlas",
    "saddle_counts",
    "global_minima",
    "autoencoder",
    "modes",
    "deep_minima",
    "weight_decay",
)
