"""How alike the weights of two networks are, for the order their units have and for the best."""

import numpy as np

from leadline.landscape.paths.almost_convex_paths import TwoLayer


class WeightComparison:
    """The weights of two two-layer networks beside each other, in any order of the hidden units of the second."""

    def __init__(self, a: TwoLayer, b: TwoLayer) -> None:
        norms = [np.sqrt(np.sum(n.first**2) + np.sum(n.second**2)) for n in (a, b)]
        # What putting unit l of b in the place of unit k of a adds to the cosine.
        self.gains = (a.first @ b.first.T + a.second.T @ b.second) / np.prod(norms)

    @property
    def cosine(self) -> float:
        return float(np.trace(self.gains))

    @property
    def matched(self) -> float:
        """The largest cosine over all orders of the units, as `networks.match_weights` finds it for one layer."""
        from scipy.optimize import linear_sum_assignment

        return float(self.gains[linear_sum_assignment(self.gains, maximize=True)].sum())

    @property
    def score(self) -> float:
        """The cosine less its mean over random orders, in their standard deviations (Hoeffding 1951)."""
        g = self.gains
        centred = g - g.mean(axis=0) - g.mean(axis=1)[:, None] + g.mean()
        return float((np.trace(g) - g.sum() / len(g)) / np.sqrt(np.sum(centred**2) / (len(g) - 1)))
