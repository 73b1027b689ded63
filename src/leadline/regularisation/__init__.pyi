from .committees.bagging import bag as bag, committee_of as committee_of
from .committees.boosting import adaboost as adaboost, stump as stump
from .committees.bootstraps import bootstrap as bootstrap
from .committees.committee_variance import committee_variance as committee_variance, member_moments as member_moments
from .committees.deep_ensembles import deep_ensemble as deep_ensemble
from .committees.resamples import bootstrap_rows as bootstrap_rows, distinct_share as distinct_share
from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
from .evaluation.bias_variance import (
    aggregate as aggregate,
    bias_variance as bias_variance,
    linear_terms as linear_terms,
    refits as refits,
    squared_terms as squared_terms,
    zero_one_terms as zero_one_terms,
)
from .evaluation.cross_validation import cross_validate as cross_validate
from .evaluation.error_regimes import (
    diagnose as diagnose,
    follow_advice as follow_advice,
    learning_curve as learning_curve,
)
from .evaluation.finite_distributions import finite_distribution as finite_distribution
from .evaluation.guarded_data import guard as guard
from .evaluation.hypotheses import read_hypothesis as read_hypothesis, state_hypothesis as state_hypothesis
from .evaluation.nearest_neighbour_bracket import bayes_error_bracket as bayes_error_bracket
from .evaluation.paired_comparisons import (
    compare_with_baseline as compare_with_baseline,
    holm as holm,
    mcnemar as mcnemar,
    paired_difference as paired_difference,
)
from .evaluation.replication import replicate as replicate
from .evaluation.risk_gaps import risk_gap as risk_gap
from .evaluation.selection_optimism import (
    attack_accuracy as attack_accuracy,
    orient_and_vote as orient_and_vote,
    selection_optimism as selection_optimism,
)
from .noise.injected_noise import NoiseInjection as NoiseInjection
from .noise.noise_penalties import (
    input_noise_penalty as input_noise_penalty,
    input_noise_ridge as input_noise_ridge,
    smoothed_losses as smoothed_losses,
)
from .noise.virtual_examples import (
    label_changes as label_changes,
    virtual_examples as virtual_examples,
    virtual_sample_size as virtual_sample_size,
)
from .penalties.feature_sweeps import feature_sweep as feature_sweep
from .penalties.filtered_fits import filtered_fits as filtered_fits
from .penalties.leave_one_out import ridge_leave_one_out as ridge_leave_one_out
from .penalties.norms import (
    AbsoluteNorm as AbsoluteNorm,
    GroupNorm as GroupNorm,
    NormBall as NormBall,
    SquaredNorm as SquaredNorm,
    everything as everything,
    matrices as matrices,
)
from .penalties.penalised_objectives import Penalised as Penalised, convert_strength as convert_strength
from .penalties.penalty_rules import (
    constrained as constrained,
    decoupled_decay as decoupled_decay,
    proximal as proximal,
)
from .penalties.spectral_filters import (
    DescentFilter as DescentFilter,
    FlowFilter as FlowFilter,
    NoiseFilter as NoiseFilter,
    RidgeFilter as RidgeFilter,
    filtered_minimiser as filtered_minimiser,
)
from .penalties.spectral_risk import filter_risk as filter_risk, flow_against_ridge as flow_against_ridge
