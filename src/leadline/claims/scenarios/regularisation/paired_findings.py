"""How an empirical finding about pairs is judged: it is confirmed where the whole of its interval says so."""

import numpy as np
from jaxtyping import Array, Real

from leadline.evidence import Comparison, at_least
from leadline.regularisation import paired_difference


def paired_excess(
    more: Real[Array | np.ndarray, " pairs"],
    less: Real[Array | np.ndarray, " pairs"],
    what: str,
    *,
    level: float = 0.95,
) -> Comparison:
    """`more` is above `less` on average: the lower end of Student's interval of the paired differences is above 0.

    The burden of proof is on the finding: where the interval holds 0 it is not confirmed.

    >>> found = paired_excess(np.array([3.0, 4.0, 5.0]), np.array([1.0, 1.0, 2.0]), "difference of the errors")
    >>> found.what, str(found.verdict), found.empirical
    ('difference of the errors, lower end of its 95% interval (t, 2 degrees of freedom)', 'holds', True)
    """
    found = paired_difference(more, less, level=level)
    return at_least(found.low, 0.0, f"{what}, lower end of its {found.interval}", strict=True).as_empirical()
