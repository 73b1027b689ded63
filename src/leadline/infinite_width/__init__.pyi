from .activation_kernels.error_function import Erf as Erf, Gelu as Gelu
from .activation_kernels.hermite import (
    Elementwise as Elementwise,
    Sigmoid as Sigmoid,
    Silu as Silu,
    Softplus as Softplus,
    Tanh as Tanh,
)
from .activation_kernels.named import activation_layer as activation_layer
from .activation_kernels.rectified import (
    Abs as Abs,
    Heaviside as Heaviside,
    LeakyRelu as LeakyRelu,
    Relu as Relu,
    Sign as Sign,
)
from .activation_kernels.trigonometric import Cos as Cos, Exp as Exp, GaussianBump as GaussianBump, Sin as Sin
from .correlations import (
    correlations_through_depth as correlations_through_depth,
    kernels_through_depth as kernels_through_depth,
)
from .dynamics.losses import (
    function_flow as function_flow,
    softmax_cross_entropy as softmax_cross_entropy,
    train_wide_on_loss as train_wide_on_loss,
)
from .dynamics.posterior import nngp_posterior as nngp_posterior
from .dynamics.training import WideTraining as WideTraining, train_wide as train_wide
from .gaussianity import energy_to_gaussian as energy_to_gaussian
from .layers.attention import Attention as Attention
from .layers.branches import (
    FanInConcat as FanInConcat,
    FanInSum as FanInSum,
    FanOut as FanOut,
    parallel as parallel,
    residual as residual,
)
from .layers.combinators import serial as serial
from .layers.convolution import Conv as Conv
from .layers.dense import Dense as Dense
from .layers.function_layers import function_layer as function_layer
from .layers.layer_draws import draw_outputs as draw_outputs, output_kurtosis as output_kurtosis
from .layers.normalisation import LayerNorm as LayerNorm
from .layers.pooling import AvgPool as AvgPool, Flatten as Flatten, GlobalAvgPool as GlobalAvgPool, SumPool as SumPool
from .layers.stacks import dense_stack as dense_stack
from .ordinary_networks import wide_kernel as wide_kernel
