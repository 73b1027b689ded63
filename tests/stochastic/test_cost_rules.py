import numpy as np
import pytest

from leadline.stochastic.cost_rules import convex_costs, crossover_accuracy


def test_both_methods_cost_the_same_at_the_crossover():
    constants = {"smoothness": 3.0, "gradient_bound": 2.0}
    accuracy = crossover_accuracy(500, **constants)
    costs = convex_costs(500, accuracy, radius=0.7, **constants)
    np.testing.assert_allclose(costs.descent, costs.stochastic)
    assert convex_costs(500, accuracy / 2, **constants).cheaper == "gradient descent"
    with pytest.raises(ValueError, match="positive"):
        convex_costs(10, 0.0)
