from . import programs as programs
from .backward_pass import backpropagate as backpropagate, network_loss as network_loss
from .checkpointing import checkpointed_gradient as checkpointed_gradient
from .checks.difference_table import difference_table as difference_table
from .checks.gradient_check import check_gradient as check_gradient, check_layer as check_layer
from .input_gradients import input_gradient as input_gradient, saliency as saliency
from .jacobians import (
    jacobian_matrix as jacobian_matrix,
    jacobian_report as jacobian_report,
    layer_jacobians as layer_jacobians,
)
from .layer_pairs import (
    affine_pair as affine_pair,
    chain_pair as chain_pair,
    layer_norm_pair as layer_norm_pair,
    pointwise_pair as pointwise_pair,
    residual_pair as residual_pair,
)
from .modes import (
    Dual as Dual,
    forward_jacobian as forward_jacobian,
    jvp as jvp,
    reverse_jacobian as reverse_jacobian,
    vjp as vjp,
)
from .tape import Tape as Tape
