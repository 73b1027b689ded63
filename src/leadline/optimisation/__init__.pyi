from .bounds.lower_bounds import (
    chain_best_gap as chain_best_gap,
    chain_distance as chain_distance,
    chain_gap as chain_gap,
    chain_gradient as chain_gradient,
    conjugate_gradient_points as conjugate_gradient_points,
    first_order_lower_bound as first_order_lower_bound,
)
from .bounds.momentum_spectrum import (
    mode_path as mode_path,
    momentum_alignment as momentum_alignment,
    worst_factor as worst_factor,
)
from .bounds.pair_inequalities import inequality_table as inequality_table, pair_table as pair_table
from .bounds.rate_bounds import (
    gd_convex_bound as gd_convex_bound,
    gd_pl_bound as gd_pl_bound,
    gd_pl_steps as gd_pl_steps,
    gd_steps as gd_steps,
    gd_strongly_convex_bound as gd_strongly_convex_bound,
    nesterov_convex_bound as nesterov_convex_bound,
    nesterov_steps as nesterov_steps,
    nesterov_strongly_convex_bound as nesterov_strongly_convex_bound,
)
from .bounds.step_bounds import adam_step_bound as adam_step_bound
from .bounds.step_limits import check_step as check_step, growth_factor as growth_factor
from .instruments.convergence import convergence_order as convergence_order
from .instruments.convergence_measures import (
    classify_stationary as classify_stationary,
    measure_convergence as measure_convergence,
)
from .instruments.convexity_certificates import NotConvex as NotConvex, certify_convex as certify_convex
from .instruments.convexity_tests import (
    refute_convexity as refute_convexity,
    refute_convexity_along as refute_convexity_along,
)
from .instruments.critical_points import find_critical_points as find_critical_points
from .instruments.curvature_pairs import curvature_ratios as curvature_ratios
from .instruments.hessian_spectra import hessian_spectrum as hessian_spectrum
from .instruments.line_slices import slice_loss as slice_loss
from .instruments.measured_constants import (
    measure_condition as measure_condition,
    measure_lipschitz as measure_lipschitz,
    measure_pl as measure_pl,
    measure_smoothness as measure_smoothness,
    measure_strong_convexity as measure_strong_convexity,
    pl_ratios as pl_ratios,
)
from .instruments.sharpness_paths import sharpness_path as sharpness_path
from .instruments.span_test import check_span as check_span, span_residuals as span_residuals
from .objectives.any_loss import flat_objective as flat_objective
from .objectives.feature_scaling import condition_of_features as condition_of_features
from .objectives.log_cosh import LogCoshBowl as LogCoshBowl
from .objectives.nonconvex import DoubleWell as DoubleWell, Himmelblau as Himmelblau, Rosenbrock as Rosenbrock
from .objectives.objective import Quadratic as Quadratic, spread_quadratic as spread_quadratic
from .objectives.regression_losses import LeastSquares as LeastSquares, LogisticRidge as LogisticRidge
from .objectives.softmax_regression import SoftmaxRidge as SoftmaxRidge, digits_softmax as digits_softmax
from .objectives.worst_cases import (
    Huber as Huber,
    Lessard as Lessard,
    LogSumExp as LogSumExp,
    PowerFunction as PowerFunction,
    QuarticBowl as QuarticBowl,
    SineParabola as SineParabola,
    UserFunction as UserFunction,
    WorstChain as WorstChain,
)
from .rules.adaptive_rules import (
    adagrad as adagrad,
    amsgrad_of_raw_maximum as amsgrad_of_raw_maximum,
    respond as respond,
    uncorrected_adam as uncorrected_adam,
)
from .rules.diagonal_scaling import running_squares as running_squares
from .rules.gradient_free import (
    descend_without_gradient as descend_without_gradient,
    estimate_gradient as estimate_gradient,
)
from .rules.line_searches import (
    backtracking_descent as backtracking_descent,
    exact_step as exact_step,
    scale_by_exact_linesearch as scale_by_exact_linesearch,
)
from .rules.momentum_forms import (
    constant_schedule as constant_schedule,
    growing_schedule as growing_schedule,
    heavy_ball_one_line as heavy_ball_one_line,
    heavy_ball_velocity as heavy_ball_velocity,
    nesterov_two_line as nesterov_two_line,
)
from .rules.momentum_rules import (
    heavy_ball as heavy_ball,
    heavy_ball_tuning as heavy_ball_tuning,
    nesterov as nesterov,
    nesterov_growing as nesterov_growing,
    nesterov_tuning as nesterov_tuning,
)
from .rules.newton_rules import (
    armijo_step as armijo_step,
    modified_newton_step as modified_newton_step,
    newton as newton,
    newton_cg as newton_cg,
    truncated_conjugate_gradient as truncated_conjugate_gradient,
)
from .rules.preconditioning import (
    preconditioned_condition as preconditioned_condition,
    preconditioner as preconditioner,
    scale_by_matrix as scale_by_matrix,
)
from .runs.descent import (
    descend as descend,
    gradient_path as gradient_path,
    steps_to_reach as steps_to_reach,
    tunable as tunable,
)
from .runs.gradient_flows import gradient_flow as gradient_flow, integrate as integrate
from .runs.momentum_flows import (
    damped_mode as damped_mode,
    damping_regime as damping_regime,
    equivalent_friction as equivalent_friction,
    inertial_flow as inertial_flow,
    vanishing_friction_mode as vanishing_friction_mode,
)
from .runs.newton_minimum import newton_minimum as newton_minimum
from .runs.online import average_regret as average_regret, play_online as play_online
from .runs.quadratic_descent import steepest_path as steepest_path
from .runs.stress_runs import step_sweep as step_sweep
