from .committees.bagging import Committee as Committee, bag as bag, committee_of as committee_of
from .committees.boosting import adaboost as adaboost, stump as stump
from .committees.bootstraps import bootstrap as bootstrap
from .committees.committee_variance import committee_variance as committee_variance, member_moments as member_moments
from .committees.deep_ensembles import DeepEnsemble as DeepEnsemble, deep_ensemble as deep_ensemble
from .committees.resamples import bootstrap_rows as bootstrap_rows, distinct_share as distinct_share
from .early_stopping.fitting_order import fitting_order as fitting_order
from .early_stopping.stopping_points import stopping_point as stopping_point
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
