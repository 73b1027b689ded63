from .classification.encoding import (
    label_sets as label_sets,
    multi_hot as multi_hot,
    one_hot as one_hot,
    predicted_class as predicted_class,
)
from .classification.linear_scores import fit_linear_scores as fit_linear_scores
from .classification.logistic_regression import (
    descend_logistic as descend_logistic,
    finite_fit_exists as finite_fit_exists,
    fit_logistic as fit_logistic,
)
from .classification.metrics import (
    area_under_curve as area_under_curve,
    bootstrap_interval as bootstrap_interval,
    brier_score as brier_score,
    calibration_error as calibration_error,
    confusion_matrix as confusion_matrix,
    cost_sensitive_error as cost_sensitive_error,
    error_rate as error_rate,
    interval_coverage as interval_coverage,
    log_loss as log_loss,
    mean_absolute_error as mean_absolute_error,
    mean_pinball_loss as mean_pinball_loss,
    precision_recall as precision_recall,
    reliability as reliability,
    root_mean_square_error as root_mean_square_error,
    top_k_error as top_k_error,
)
from .classification.overlaps import dice as dice, intersection_over_union as intersection_over_union
from .classification.softmax_loss import (
    binary_cross_entropy as binary_cross_entropy,
    cross_entropy as cross_entropy,
    log_softmax as log_softmax,
    multi_label_loss as multi_label_loss,
    smooth_labels as smooth_labels,
    smoothing_optimum as smoothing_optimum,
    soft_maximum as soft_maximum,
    softmax as softmax,
    softmax_entropy as softmax_entropy,
    softmax_jacobian as softmax_jacobian,
)
from .importance import (
    permutation_importance as permutation_importance,
    refit_importance as refit_importance,
    variable_importance as variable_importance,
)
from .loss_minimisers import fit_affine as fit_affine
from .losses import (
    LOSSES as LOSSES,
    absolute as absolute,
    epsilon_insensitive as epsilon_insensitive,
    exponential as exponential,
    half_squared as half_squared,
    hinge as hinge,
    huber as huber,
    logistic as logistic,
    loss_slope as loss_slope,
    perceptron_hinge as perceptron_hinge,
    pinball as pinball,
    squared as squared,
    zero_one as zero_one,
)
from .memorisers import memorise as memorise
from .pruning import (
    apply_mask as apply_mask,
    magnitude_mask as magnitude_mask,
    random_mask as random_mask,
    train_masked as train_masked,
)
from .regression.gaussian_model import (
    fit_gaussian as fit_gaussian,
    gaussian_posterior as gaussian_posterior,
    predictive_interval as predictive_interval,
    predictive_quantile as predictive_quantile,
    residual_diagnostics as residual_diagnostics,
)
from .regression.linear import (
    chebyshev_fit as chebyshev_fit,
    design as design,
    least_squares as least_squares,
    null_space as null_space,
    total_least_squares as total_least_squares,
)
from .regression.noise_models import (
    fit_label_flips as fit_label_flips,
    fit_noise_model as fit_noise_model,
    noise_distribution as noise_distribution,
    rank_noise_models as rank_noise_models,
)
from .regression.polynomial import legendre_features as legendre_features
from .regression.quantile import (
    discrete_quantile as discrete_quantile,
    invert_cdf as invert_cdf,
    quantile_regression as quantile_regression,
    rearrange as rearrange,
)
from .regression.random_features import draw_features as draw_features, fit_readout as fit_readout
from .regression.ridge_path import ridge as ridge, ridge_fits as ridge_fits
from .regression.sparse import (
    lasso as lasso,
    lasso_ceiling as lasso_ceiling,
    lasso_path as lasso_path,
    proximal_lasso as proximal_lasso,
    soft_threshold as soft_threshold,
)
from .regression.subsets import (
    backward_selection as backward_selection,
    best_subsets as best_subsets,
    forward_selection as forward_selection,
)
from .regression.tikhonov import spline_space as spline_space, tikhonov_fits as tikhonov_fits
from .risk.bayes_risk import bayes_predictor as bayes_predictor, bayes_risk as bayes_risk
from .risk.distributions import (
    BinaryDistribution as BinaryDistribution,
    EmpiricalDistribution as EmpiricalDistribution,
    GaussianClasses as GaussianClasses,
    RegressionDistribution as RegressionDistribution,
    draw_sample as draw_sample,
    logistic_distribution as logistic_distribution,
)
from .risk.erm import minimise_risk as minimise_risk
from .risk.error_terms import (
    ball_minimum as ball_minimum,
    empirical_moments as empirical_moments,
    finite_error_terms as finite_error_terms,
    linear_error_terms as linear_error_terms,
    population_moments as population_moments,
    uniform_gap as uniform_gap,
)
from .risk.hypotheses import (
    LinearClass as LinearClass,
    affine as affine,
    cosine_series as cosine_series,
    polynomials as polynomials,
)
from .risk.input_distributions import UniformInputs as UniformInputs
from .risk.risk import (
    estimate_risk as estimate_risk,
    monte_carlo_risk as monte_carlo_risk,
    population_risk as population_risk,
)
from .scaling import standardise as standardise
from .splits import (
    SealedPart as SealedPart,
    grouped_split as grouped_split,
    random_split as random_split,
    stratified_split as stratified_split,
    temporal_split as temporal_split,
)
from .tasks import LearningTask as LearningTask
