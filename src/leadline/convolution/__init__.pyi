from .layer_kinds import ConvLayer as ConvLayer, PoolLayer as PoolLayer
from .receptive_fields import (
    StackNetwork as StackNetwork,
    drawn_stack as drawn_stack,
    gradient_field as gradient_field,
    measure_field as measure_field,
    receptive_field as receptive_field,
)
from .stack_calculator import shared_weight_counts as shared_weight_counts, stack_costs as stack_costs
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
from .symmetry.invariant_networks import ShiftInvariantNetwork as ShiftInvariantNetwork
from .symmetry.log_polar import log_polar as log_polar
from .symmetry.score_audits import audit_scores as audit_scores, usual_transformations as usual_transformations
