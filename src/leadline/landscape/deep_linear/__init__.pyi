from .alternating import alternate_factors as alternate_factors
from .block_optima import (
    best_decoder as best_decoder,
    best_encoder as best_encoder,
    least_squares_map as least_squares_map,
)
from .critical_atlas import atlas as atlas, count_families as count_families, hessian_inertia as hessian_inertia
from .critical_search import refine_critical as refine_critical
from .deep_critical import deep_hessian as deep_hessian
from .deep_gradients import (
    compose_layers as compose_layers,
    descend_layers as descend_layers,
    layer_gradients as layer_gradients,
)
from .factor_descent import descend_factors as descend_factors, gaussian_factors as gaussian_factors
from .linear_problem import (
    LinearProblem as LinearProblem,
    autoencoder_problem as autoencoder_problem,
    digits_autoencoder as digits_autoencoder,
    random_problem as random_problem,
)
from .mode_times import passage_times as passage_times
from .projections import oblique_projector as oblique_projector, orthogonal_projector as orthogonal_projector
from .whitening import whiten as whiten
