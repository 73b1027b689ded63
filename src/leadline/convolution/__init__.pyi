from .layers.block_kinds import (
    DropoutLayer as DropoutLayer,
    GlobalPool as GlobalPool,
    Parallel as Parallel,
    Residual as Residual,
    UpLayer as UpLayer,
)
from .layers.conv_network import ConvNetwork as ConvNetwork
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
