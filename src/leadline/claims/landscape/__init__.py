"""Loss landscapes: critical points, linear networks, paths and connectedness, Fisher information and sloppiness.

Importing this package declares its entries, in the order of the curriculum's sections.
"""

# ruff: noqa: F401, I001
from . import critical_points, slices, saddles, gibbs_landscapes
from . import projections, whitening, least_squares
from . import (
    linear_networks,
    factors,
    atlas,
    saddle_counts,
    global_minima,
    autoencoder,
    modes,
    deep_minima,
    weight_decay,
)
from . import sublevels, linear_paths, connectors, almost_convex, coverings, path_losses, valleys
from . import (
    regression_models,
    data_embeddings,
    fisher,
    fisher_hessian,
    fisher_inputs,
    geodesics,
    prediction_bands,
    ellipsoids,
    stiffness,
    stiff_training,
    certificates,
    vandermonde,
    local_models,
    cramer_rao,
    orbits,
)
