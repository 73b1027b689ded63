from .averaged_kernels import averaged_ntk as averaged_ntk
from .description import describe_ntk as describe_ntk, ntk_eigenvalues as ntk_eigenvalues
from .dynamics.certificates import certified_descent as certified_descent, certify as certify
from .dynamics.descent_curves import descent_three_ways as descent_three_ways
from .dynamics.drift import ntk_drift as ntk_drift
from .dynamics.family_descent import family_kernels as family_kernels, train_family as train_family
from .dynamics.gradient_bounds import gradient_ratio as gradient_ratio
from .dynamics.gradient_flows import parameter_flow as parameter_flow
from .dynamics.hessian_ratio import hessian_gradient_ratio as hessian_gradient_ratio
from .dynamics.kernel_flows import KernelFlow as KernelFlow, functional_gradient as functional_gradient
from .dynamics.regimes import judge_regime as judge_regime
from .dynamics.velocities import OutputRisk as OutputRisk, dissipation as dissipation
from .empirical_ntk import empirical_ntk as empirical_ntk, layer_ntks as layer_ntks
from .last_layer import (
    feature_spectrum as feature_spectrum,
    last_layer_gram as last_layer_gram,
    last_layer_limit as last_layer_limit,
)
from .least_squares import tangent_fit as tangent_fit
from .linearisation import Linearised as Linearised, linearise as linearise
from .plan import ntk_plan as ntk_plan
from .products import ntk_product as ntk_product
from .two_layer import lecun_two_layer as lecun_two_layer
from .wide_distances import distance_to_wide as distance_to_wide
