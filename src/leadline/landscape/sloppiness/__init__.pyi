from .aligned_posteriors import aligned_posterior as aligned_posterior
from .effective_dimensions import (
    effective_dimension as effective_dimension,
    prior_scale as prior_scale,
    stiff_count as stiff_count,
)
from .estimator_covariances import (
    cramer_rao_bound as cramer_rao_bound,
    repeated_fits as repeated_fits,
    wishart_edges as wishart_edges,
)
from .fisher_spectra import (
    entry_names as entry_names,
    fisher_eigenvalues as fisher_eigenvalues,
    fisher_spectrum as fisher_spectrum,
    gaussian_root_jacobian as gaussian_root_jacobian,
    output_jacobian as output_jacobian,
    softmax_root_jacobian as softmax_root_jacobian,
)
from .manifolds.geodesic_paths import (
    geodesic_between as geodesic_between,
    least_energy_path as least_energy_path,
    shoot_geodesic as shoot_geodesic,
)
from .manifolds.manifold_widths import ball_widths as ball_widths, hull_width as hull_width, hull_widths as hull_widths
from .manifolds.model_manifolds import (
    boundary_limit as boundary_limit,
    local_dimension as local_dimension,
    manifold_grid as manifold_grid,
)
from .manifolds.path_lengths import fisher_length as fisher_length, path_length as path_length
from .manifolds.trajectory_embeddings import (
    intensive_distances as intensive_distances,
    intensive_embedding as intensive_embedding,
    pca_embedding as pca_embedding,
)
from .models.regression_models import (
    michaelis_menten as michaelis_menten,
    network_model as network_model,
    polynomial_model as polynomial_model,
    sum_of_exponentials as sum_of_exponentials,
)
from .models.vandermonde_matrices import inverse_vandermonde as inverse_vandermonde
from .parameter_directions import (
    describe_directions as describe_directions,
    probability_embedding as probability_embedding,
)
from .profile_bands import linear_half_width as linear_half_width, profile_band as profile_band
from .stiff_subspaces import random_subspace as random_subspace, train_in_subspace as train_in_subspace
from .weight_ellipsoids import cramer_rao_ellipse as cramer_rao_ellipse
