from .equivariance_defects import (
    equivariance_defect as equivariance_defect,
    fit_action as fit_action,
    homomorphism_defect as homomorphism_defect,
    invariance_defect as invariance_defect,
    layer_defects as layer_defects,
)
from .group_axioms import group_test as group_test
from .image_transformations import (
    Transformation as Transformation,
    central_crops as central_crops,
    circular_shifts as circular_shifts,
    occlusions as occlusions,
    quarter_turns as quarter_turns,
    rotations as rotations,
    zero_shifts as zero_shifts,
)
from .invariant_networks import ShiftInvariantNetwork as ShiftInvariantNetwork
from .layer_kinds import ConvLayer as ConvLayer, PoolLayer as PoolLayer
from .receptive_fields import (
    StackNetwork as StackNetwork,
    drawn_stack as drawn_stack,
    gradient_field as gradient_field,
    measure_field as measure_field,
    receptive_field as receptive_field,
)
from .scattering.filter_bank import (
    FilterBank as FilterBank,
    littlewood_paley as littlewood_paley,
    morlet_bank_1d as morlet_bank_1d,
    morlet_bank_2d as morlet_bank_2d,
)
from .scattering.morlet_wavelets import gabor_2d as gabor_2d, morlet_2d as morlet_2d
from .scattering.paths import path_count as path_count, scattering_paths as scattering_paths
from .scattering.scattering_1d import Scattering1D as Scattering1D
from .scattering.scattering_2d import Scattering2D as Scattering2D
from .scattering.scattering_classifier import (
    ScatteringClassifier as ScatteringClassifier,
    fit_scattering_classifier as fit_scattering_classifier,
)
from .scattering.scattering_network import (
    global_scattering as global_scattering,
    scattering_layers as scattering_layers,
    windowed_scattering as windowed_scattering,
)
from .scattering.wave_packets import (
    dilated_modulus_change as dilated_modulus_change,
    fourier_modulus as fourier_modulus,
    wave_packet as wave_packet,
)
from .scattering.wavelet_transform import wavelet_transform as wavelet_transform
from .score_audits import audit_scores as audit_scores, usual_transformations as usual_transformations
from .stack_calculator import shared_weight_counts as shared_weight_counts, stack_costs as stack_costs
