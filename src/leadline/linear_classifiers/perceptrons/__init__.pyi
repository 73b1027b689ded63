from .classifier import (
    LinearThreshold as LinearThreshold,
    absorb_bias as absorb_bias,
    from_threshold as from_threshold,
    with_constant as with_constant,
)
from .dual import dual_form as dual_form, mistake_weights as mistake_weights, polynomial_kernel as polynomial_kernel
from .hyperplane import foot as foot, signed_distance as signed_distance
from .training import learn as learn, path as path, sweep_order as sweep_order
from .variants import averaged as averaged, pocket as pocket
