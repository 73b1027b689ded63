from .advice import Advice as Advice, advise as advise, as_finite_sum as as_finite_sum, follow as follow
from .averaging import (
    AverageWeight as AverageWeight,
    DecayWeight as DecayWeight,
    PolynomialWeight as PolynomialWeight,
    average_path as average_path,
    averaged_parameters as averaged_parameters,
    with_average as with_average,
)
from .moments.kesten import hill_estimate as hill_estimate, kesten_moment as kesten_moment
from .moments.moments import LeastSquaresMoments as LeastSquaresMoments
from .moments.quadratic_floors import quadratic_floor as quadratic_floor
from .moments.scalar_recursion import affine_recurrence as affine_recurrence, scalar_moments as scalar_moments
from .moments.second_moments import (
    second_moment_envelope as second_moment_envelope,
    second_moment_form as second_moment_form,
)
from .noise.bias_test import gradient_bias as gradient_bias
from .noise.noise_spectrum import gradient_noise as gradient_noise
from .noise.streamed_gradients import streamed_noise as streamed_noise
from .problems.finite_sum import (
    FiniteSum as FiniteSum,
    finite_logistic as finite_logistic,
    finite_softmax as finite_softmax,
    least_squares_sum as least_squares_sum,
)
from .problems.linear_loss import LinearLoss as LinearLoss
from .problems.oracle_problems import (
    Newsvendor as Newsvendor,
    NoisyShortestPath as NoisyShortestPath,
    StochasticProblem as StochasticProblem,
    solve_by_sgd as solve_by_sgd,
)
from .problems.softmax_sgd import measured_floor as measured_floor, softmax_equilibrium as softmax_equilibrium
from .runs.ensembles import ensemble_band as ensemble_band
from .runs.index_streams import draw_indices as draw_indices, index_stream as index_stream
from .runs.line_search_sgd import armijo_rule as armijo_rule, line_search_run as line_search_run
from .runs.plateau import drop_on_plateau as drop_on_plateau
from .runs.rule_runs import rule_run as rule_run
from .runs.sgd import sgd_run as sgd_run, sgd_runs as sgd_runs
from .runs.short_continuations import continue_sgd as continue_sgd
from .runs.sign_descent import (
    bits_per_step as bits_per_step,
    error_feedback as error_feedback,
    majority_run as majority_run,
    majority_vote as majority_vote,
    one_bit_sign as one_bit_sign,
)
from .schedules import power_schedule as power_schedule, step_sizes as step_sizes
from .sgd_bounds import (
    averaged_gap as averaged_gap,
    constant_step_bound as constant_step_bound,
    guaranteed_floor as guaranteed_floor,
    largest_constant_step as largest_constant_step,
    noise_floor as noise_floor,
)
from .variance_reduction.control_variates import (
    controlled as controlled,
    controlled_mean as controlled_mean,
    controlled_variance as controlled_variance,
)
from .variance_reduction.next_directions import (
    buffered_directions as buffered_directions,
    snapshot_directions as snapshot_directions,
)
from .variance_reduction.variance_reduced import sag as sag, saga as saga, svrg as svrg
