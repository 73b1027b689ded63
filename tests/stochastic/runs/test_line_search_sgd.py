import numpy as np

from leadline import stochastic


def test_every_accepted_step_meets_armijos_condition_and_the_last_refused_one_does_not():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    problem = stochastic.least_squares_sum(x, y)
    rows = rng.integers(10, size=(30, 2))
    rule = stochastic.armijo_rule(largest=3.0, sufficient=0.4, shrink=0.5, reset=2.0)
    run = stochastic.line_search_run(problem, np.zeros(3), rows, rule)
    w, before = np.zeros(3), 1.0
    for t, pick in enumerate(rows):
        a, b = x[pick], y[pick]

        def loss(v, a=a, b=b):
            return np.mean((a @ v - b) ** 2) / 2

        gradient = a.T @ (a @ w - b) / 2
        eta, trials = min(2.0 * before, 3.0), 1
        while loss(w - eta * gradient) > loss(w) - 0.4 * eta * gradient @ gradient:
            eta, trials = eta / 2, trials + 1
        np.testing.assert_allclose(run.steps[t], eta, rtol=1e-12)
        assert int(run.trials[t]) == trials
        w, before = w - eta * gradient, eta
        np.testing.assert_allclose(run.points[t], w, rtol=1e-9, atol=1e-12)
    assert float(run.errors.max()) == 0.0
