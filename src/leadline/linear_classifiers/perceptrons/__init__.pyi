from .classifier import (
    LinearThreshold as LinearThreshold,
    absorb_bias as absorb_bias,
    fires as fires,
    from_threshold as from_threshold,
    with_constant as with_constant,
)
from .dual import (
    DualClassifier as DualClassifier,
    dual_cost as dual_cost,
    dual_form as dual_form,
    mistake_weights as mistake_weights,
    polynomial_kernel as polynomial_kernel,
    primal_cost as primal_cost,
)
from .hyperplane import foot as foot, signed_distance as signed_distance
from .training import fit as fit, path as path, sweep_order as sweep_order
from .variants import averaged as averaged, path_errors as path_errors, pocket as pocket
