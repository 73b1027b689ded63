from . import augmentation as augmentation
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
from .layers.block_kinds import (
    DropoutLayer as DropoutLayer,
    GlobalPool as GlobalPool,
    Parallel as Parallel,
    Residual as Residual,
    UpLayer as UpLayer,
)
from .layers.conv_network import ConvNetwork as ConvNetwork
from .layers.layer_kinds import ConvLayer as ConvLayer, DenseLayer as DenseLayer, PoolLayer as PoolLayer
from .layers.receptive_fields import (
    gradient_field as gradient_field,
    measure_field as measure_field,
    receptive_field as receptive_field,
)
from .layers.stack_calculator import shared_weight_counts as shared_weight_counts, stack_costs as stack_costs
from .score_audits import audit_scores as audit_scores, usual_transformations as usual_transformations
