from .arms.arm import Arm as Arm, standard_arms as standard_arms
from .arms.regulariser_comparison import compare_regularisers as compare_regularisers
from .committees.bagging import bag as bag, committee_of as committee_of
from .committees.boosting import adaboost as adaboost, stump as stump
from .committees.bootstraps import bootstrap as bootstrap
from .committees.committee_variance import committee_variance as committee_variance, member_moments as member_moments
from .committees.deep_ensembles import DeepEnsemble as DeepEnsemble, deep_ensemble as deep_ensemble
from .committees.resamples import bootstrap_rows as bootstrap_rows, distinct_share as distinct_share
from .distillation.soft_targets import soft_targets as soft_targets
from .distillation.students import Distilled as Distilled, distil as distil, distillation_loss as distillation_loss
from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
from .evaluation.bias_variance import (
    bias_variance as bias_variance,
    squared_terms as squared_terms,
    zero_one_terms as zero_one_terms,
)
from .evaluation.cross_validation import cross_validate as cross_validate
from .evaluation.error_regimes import diagnose as diagnose, learning_curve as learning_curve
from .evaluation.guarded_data import guard as guard
from .evaluation.hypotheses import state_hypothesis as state_hypothesis
from .evaluation.nearest_neighbour_bracket import bayes_error_bracket as bayes_error_bracket
from .evaluation.paired_comparisons import (
    compare_with_baseline as compare_with_baseline,
    holm as holm,
    mcnemar as mcnemar,
    paired_difference as paired_difference,
)
from .evaluation.replication import replicate as replicate
from .evaluation.risk_gaps import risk_gap as risk_gap
from .evaluation.selection_optimism import selection_optimism as selection_optimism
from .layers.dropout import DropConnect as DropConnect, Dropout as Dropout, convert_dropout as convert_dropout
from .layers.modal_objective import ModalObjective as ModalObjective
from .layers.normalisation import BatchNorm as BatchNorm, normalisation as normalisation
from .layers.regularised_mlp import RegularisedMLP as RegularisedMLP
from .layers.weight_normalisation import (
    data_dependent_start as data_dependent_start,
    weight_norm_gradients as weight_norm_gradients,
    weight_normalised as weight_normalised,
)
from .layers.whitening import (
    BatchWhitening as BatchWhitening,
    fit_whitening as fit_whitening,
    inverse_square_root as inverse_square_root,
    newton_schulz as newton_schulz,
)
from .masks.dropout_regression import (
    dropout_loss as dropout_loss,
    dropout_ridge as dropout_ridge,
    masked_moments as masked_moments,
)
from .masks.mask_ensembles import distinct_subnetworks as distinct_subnetworks, mask_ensemble as mask_ensemble
from .masks.monte_carlo import keyed_apply as keyed_apply, mc_dropout as mc_dropout
from .masks.sub_networks import (
    deletion_curve as deletion_curve,
    mean_unit_correlation as mean_unit_correlation,
    sub_network as sub_network,
)
from .modes.auditing import ModeAudit as ModeAudit, audit_modes as audit_modes
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
from .pretraining.contrastive_coding import (
    ContrastiveCoder as ContrastiveCoder,
    InfoNCE as InfoNCE,
    info_nce as info_nce,
)
from .pretraining.label_efficiency import label_efficiency as label_efficiency
from .pretraining.pretext_tasks import PatchTask as PatchTask, Pretext as Pretext, RotationTask as RotationTask
from .shift.detector import detect_shift as detect_shift
from .shift.importance_weights import density_ratios as density_ratios, effective_sample_size as effective_sample_size
from .shift.simulator import CovariateShift as CovariateShift, shifted_inputs as shifted_inputs
from .shift.weighted_fits import fit_weighted as fit_weighted, weighted_least_squares as weighted_least_squares
from .statistics.activation_shift import (
    gradient_shift as gradient_shift,
    moment_shift as moment_shift,
    step_landscape as step_landscape,
)
from .statistics.buffers import (
    batch_norm_buffers as batch_norm_buffers,
    from_torch_buffers as from_torch_buffers,
    set_batch_norm_buffers as set_batch_norm_buffers,
    torch_buffers as torch_buffers,
)
from .statistics.feature_normalisation import (
    dropout_variance as dropout_variance,
    normalise_features as normalise_features,
    normalise_features_gradient as normalise_features_gradient,
    rectified_moments as rectified_moments,
)
from .statistics.mode_gaps import mode_gap as mode_gap
from .statistics.recalibration import recalibrate as recalibrate
from .statistics.running_averages import (
    pooled_moments as pooled_moments,
    running_average as running_average,
    running_law as running_law,
)
