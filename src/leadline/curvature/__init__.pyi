from .kinks import KinkWarning as KinkWarning
from .operators.dense_gauss_newton import gauss_newton_matrix as gauss_newton_matrix, softmax_fisher as softmax_fisher
from .operators.dense_operator import DenseOperator as DenseOperator
from .operators.example_norms import example_gradient_norms as example_gradient_norms
from .operators.gauss_newton_operators import fisher as fisher, gauss_newton as gauss_newton
from .operators.gradient_operators import (
    empirical_fisher as empirical_fisher,
    gradient_covariance as gradient_covariance,
)
from .operators.hessian_operator import hessian as hessian
from .operators.operator_difference import OperatorDifference as OperatorDifference
from .sharpness.filter_normalisation import (
    filter_norms as filter_norms,
    normalise_filters as normalise_filters,
    random_filter_directions as random_filter_directions,
)
from .sharpness.sharpness_measures import (
    filter_normalised_rise as filter_normalised_rise,
    filter_normalised_sharpness as filter_normalised_sharpness,
    top_sharpness as top_sharpness,
    trace_sharpness as trace_sharpness,
)
from .sharpness.worst_case_sharpness import adaptive_sharpness as adaptive_sharpness, ball_sharpness as ball_sharpness
from .spectra.lanczos import top as top
from .spectra.lanczos_quadrature import spectral_quadrature as spectral_quadrature
from .spectra.linear_solves import logdet as logdet, solve as solve
from .spectra.outlying_eigenvalues import count_outliers as count_outliers
from .spectra.spectral_density import density as density
from .spectra.trace_estimates import trace as trace
