from .committees.deep_ensembles import DeepEnsemble as DeepEnsemble, deep_ensemble as deep_ensemble
from .distillation.soft_targets import soft_targets as soft_targets
from .distillation.students import Distilled as Distilled, distil as distil, distillation_loss as distillation_loss
from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
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
