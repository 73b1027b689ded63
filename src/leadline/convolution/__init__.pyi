from . import augmentation as augmentation
from .algebra.algorithm_costs import AlgorithmTuner as AlgorithmTuner, layer_work as layer_work
from .algebra.black_boxes import identify_convolution as identify_convolution
from .algebra.continuous import (
    fourier_transform as fourier_transform,
    integral_matrix as integral_matrix,
    inverse_fourier_transform as inverse_fourier_transform,
    sampled_convolution as sampled_convolution,
)
from .algebra.discrete import (
    convolve as convolve,
    correlate as correlate,
    fft_convolve as fft_convolve,
    flip as flip,
    matching_scores as matching_scores,
)
from .algebra.image_filters import (
    FILTERS as FILTERS,
    centre_surround_kernel as centre_surround_kernel,
    frequency_response as frequency_response,
    sobel_gradient as sobel_gradient,
)
from .algebra.layer_algorithms import (
    layer_correlation as layer_correlation,
    merged_kernel as merged_kernel,
    spread_taps as spread_taps,
    windows as windows,
)
from .algebra.layer_spectra import layer_norm_bound as layer_norm_bound, layer_singular_values as layer_singular_values
from .algebra.low_rank import (
    convolve_separable as convolve_separable,
    kernel_rank as kernel_rank,
    separable_factors as separable_factors,
    separable_sum as separable_sum,
)
from .algebra.matrices import (
    circulant_part as circulant_part,
    convolution_matrix as convolution_matrix,
    layer_matrix as layer_matrix,
)
from .algebra.transposed import (
    overlap_counts as overlap_counts,
    transposed_convolution as transposed_convolution,
    transposed_size as transposed_size,
)
from .layers.block_kinds import (
    DropoutLayer as DropoutLayer,
    GlobalPool as GlobalPool,
    Parallel as Parallel,
    Residual as Residual,
    UpLayer as UpLayer,
)
from .layers.conv_network import ConvNetwork as ConvNetwork
from .layers.feature_pictures import maximise_responses as maximise_responses, top_patches as top_patches
from .layers.layer_kinds import ConvLayer as ConvLayer, DenseLayer as DenseLayer, PoolLayer as PoolLayer
from .layers.published_stacks import (
    all_convolutional as all_convolutional,
    inception as inception,
    pyramid as pyramid,
    unet as unet,
)
from .layers.receptive_fields import (
    gradient_field as gradient_field,
    measure_field as measure_field,
    receptive_field as receptive_field,
)
from .layers.stack_calculator import shared_weight_counts as shared_weight_counts, stack_costs as stack_costs
from .pooling.maxout_networks import MaxoutNetwork as MaxoutNetwork
from .pooling.nuisances import nuisance_curves as nuisance_curves, usual_nuisances as usual_nuisances
from .pooling.routed_gradients import max_pool_gradient as max_pool_gradient, tied_windows as tied_windows
from .pooling.shift_spectra import (
    average_gains as average_gains,
    energy_above_nyquist as energy_above_nyquist,
    filtered_change as filtered_change,
)
from .pooling.stride_aliasing import stride_aliasing as stride_aliasing
from .pooling.template_detectors import TemplateDetector as TemplateDetector
from .pooling.windows import (
    average_pool as average_pool,
    blur_pool as blur_pool,
    max_pool as max_pool,
    norm_pool as norm_pool,
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
from .symmetry.equivariance_defects import (
    equivariance_defect as equivariance_defect,
    fit_action as fit_action,
    homomorphism_defect as homomorphism_defect,
    invariance_defect as invariance_defect,
    layer_defects as layer_defects,
)
from .symmetry.group_axioms import group_test as group_test
from .symmetry.group_layers import (
    GroupConvolution as GroupConvolution,
    LiftingConvolution as LiftingConvolution,
    turn_maps as turn_maps,
    turn_planes as turn_planes,
)
from .symmetry.group_networks import GroupNetwork as GroupNetwork
from .symmetry.image_transformations import (
    Transformation as Transformation,
    central_crops as central_crops,
    circular_shifts as circular_shifts,
    occlusions as occlusions,
    quarter_turns as quarter_turns,
    rotations as rotations,
    zero_shifts as zero_shifts,
)
from .symmetry.log_polar import log_polar as log_polar
from .symmetry.score_audits import audit_scores as audit_scores, usual_transformations as usual_transformations
