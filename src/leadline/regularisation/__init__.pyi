from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
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
from .layers.dropout import DropConnect as DropConnect, Dropout as Dropout, convert_dropout as convert_dropout
from .layers.modal_objective import ModalObjective as ModalObjective
from .layers.normalisation import BatchNorm as BatchNorm, normalisation as normalisation
from .layers.regularised_mlp import RegularisedMLP as RegularisedMLP
from .modes.auditing import ModeAudit as ModeAudit, audit_modes as audit_modes
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
