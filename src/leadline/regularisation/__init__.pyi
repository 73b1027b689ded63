from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
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
from .statistics.activation_shift import (
    gradient_shift as gradient_shift,
    moment_shift as moment_shift,
    squared_mmd as squared_mmd,
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
