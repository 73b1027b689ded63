import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import generalisation as g
from leadline.generalisation.margin_bounds import (
    frobenius_margin_bound,
    grid_cost,
    linear_margin_bound,
    path_margin_bound,
    spectral_margin_bound,
)
from leadline.generalisation.network_norms import fold_biases, layer_norms, ramp_loss
from leadline.networks.dissection import dissect


def relu_net(sizes, rng):
    weights = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    return weights, [rng.normal(size=b) for b in sizes[1:]]


def run(weights, biases, x):
    for index, (w, b) in enumerate(zip(weights, biases, strict=True)):
        x = (np.maximum(x, 0) if index else x) @ w.T + b
    return x


def test_margins_and_ramp():
    scores = np.array([[1.0, 4.0, 2.0], [0.0, 0.0, 5.0]])
    np.testing.assert_allclose(g.class_margins(scores, np.array([1, 0])), [2.0, -5.0])
    margins = np.linspace(-1, 3, 41)
    for gamma in (0.1, 1.0, 10.0):
        assert (margins <= 0).mean() <= ramp_loss(margins, gamma) <= (margins < gamma).mean() + 1e-12
    with pytest.raises(ValueError, match="positive"):
        ramp_loss(margins, 0.0)
    with pytest.raises(ValueError, match="two classes"):
        g.class_margins(np.ones((3, 1)), np.zeros(3, int))


def test_folding_biases_keeps_the_function_and_norms_bound_it():
    rng = np.random.default_rng(0)
    weights, biases = relu_net((5, 7, 6, 3), rng)
    x = rng.normal(size=(20, 5))
    folded, out = fold_biases(weights, biases), run(weights, biases, x)
    extended = np.column_stack([x, np.ones(20)])
    np.testing.assert_allclose(run(folded, [0, 0, 0], extended), out)
    norms = layer_norms(folded)
    np.testing.assert_allclose(norms.frobenius, [np.sqrt((m**2).sum()) for m in folded])
    np.testing.assert_allclose(norms.spectral, [np.linalg.svd(m)[1][0] for m in folded])
    np.testing.assert_allclose(norms.moved, [np.sqrt((m**2).sum(axis=1)).sum() for m in folded])
    assert np.all(np.linalg.norm(out, axis=1) <= np.prod(norms.spectral) * np.linalg.norm(extended, axis=1))
    assert np.all(np.abs(out) <= g.path_norms(folded) * np.abs(extended).max())


def test_path_norm_sums_over_paths_and_ignores_rescaling():
    a, b = np.array([[1.0, -2.0], [3.0, 0.0]]), np.array([[2.0, -1.0]])
    assert g.path_norms([a, b])[0] == 2 * 3 + 1 * 3
    scale = np.array([5.0, 0.1])
    np.testing.assert_allclose(g.path_norms([scale[:, None] * a, b / scale]), g.path_norms([a, b]))


def test_the_shares_of_delta_add_up_to_one():
    total = sum(math.exp(-grid_cost(j)) for j in range(-2000, 2001))
    assert total == pytest.approx(1, abs=1e-3)
    assert total <= 1


def test_linear_bound_is_its_formula_at_the_margin_it_reports():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 3))
    w = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    y = (x[:, 0] < 0).astype(int)
    margins = g.class_margins(x @ w.T, y)
    bound = linear_margin_bound(margins, w, x)
    gamma = bound.ingredients["γ"]
    complexity = 2 * 2.0 / gamma * np.linalg.norm(x) / 4000
    rest = bound.value - ramp_loss(margins, gamma) - complexity
    assert 3 * math.sqrt(math.log(40) / 8000) < rest < 3 * math.sqrt((math.log(40) + 12) / 8000)
    assert linear_margin_bound(1000 * margins, 1000 * w, x).value == pytest.approx(bound.value, rel=0.1)


def test_margin_bounds_say_something_on_an_easy_task_with_many_rows():
    n = 100_000
    x = np.repeat([[1.0, 0.0], [0.0, 1.0]], n // 2, axis=0)
    margins = np.full(n, 2.0)
    matrices = [np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]])]
    values = [
        frobenius_margin_bound(margins, matrices, x),
        path_margin_bound(margins, matrices, x),
        spectral_margin_bound(margins, layer_norms(matrices, matrices), x, width=2),
    ]
    assert all(v.informative for v in values)
    assert all(0 < v.value < 0.9 for v in values)


def test_random_labels_cannot_be_certified_by_margins():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(80, 100)), rng.choice([-1, 1], 80)
    w = np.linalg.lstsq(x, y.astype(float), rcond=None)[0]
    two = np.stack([-w / 2, w / 2])
    margins = g.class_margins(x @ two.T, (y > 0).astype(int))
    assert margins.min() > 0.99
    assert linear_margin_bound(margins, two, x, trivial=0.5).vacuous


def apply(p, x):
    h = jax.nn.relu(x @ p["a"] + p["b"])
    return h @ p["c"] + p["d"]


def test_chain_bounds_reads_layers_start_and_activation():
    rng = np.random.default_rng(3)
    p = {"a": rng.normal(size=(4, 6)), "b": rng.normal(size=6), "c": rng.normal(size=(6, 3)), "d": rng.normal(size=3)}
    params = {k: jnp.asarray(v) for k, v in p.items()}
    x = rng.normal(size=(50, 4))
    y = np.asarray(apply(params, x).argmax(axis=1))
    margins = g.class_margins(np.asarray(apply(params, x)), y)
    chain = dissect(apply, params, x[:2]).chain
    found = g.chain_bounds(chain, margins, x, 0.0)
    folded = fold_biases([p["a"].T, p["c"].T], [p["b"], p["d"]])
    np.testing.assert_allclose(found.norms.spectral, [np.linalg.norm(m, 2) for m in folded])
    assert found.path == pytest.approx(g.path_norms(folded).max())
    assert set(found.bounds) == {"VC dimension", "Frobenius norms", "path norm", "spectral norms"}
    assert all(b.valid and b.vacuous for b in found.bounds.values())
    still = g.chain_bounds(chain, margins, x, 0.0, start=chain)
    assert still.norms.moved.tolist() == [0, 0]
    assert still.bounds["spectral norms"].value < found.bounds["spectral norms"].value

    smooth = dissect(lambda p, x: jax.nn.sigmoid(x @ p["a"] + p["b"]) @ p["c"] + p["d"], params, x[:2]).chain
    other = g.chain_bounds(smooth, margins, x, 0.0)
    shifted = fold_biases([p["a"].T, p["c"].T], [p["b"], p["d"] + 0.5 * p["c"].sum(axis=0)])
    np.testing.assert_allclose(other.norms.frobenius, [np.linalg.norm(m) for m in shifted])
    assert not other.bounds["path norm"].valid
    assert not other.bounds["VC dimension"].valid
    assert other.bounds["spectral norms"].valid
