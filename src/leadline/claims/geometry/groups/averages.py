"""Averages over a group: what they make of a function, and what they do to its risk."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, geometry, networks
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean, method
from leadline.presentation import figure


@method(sources=("sheet",), shows=("geometry.smooth", "geometry.sampled_smooth", "geometry.random_rotation"))
def group_smoothing(key, points: Int(3, 12) = 6, width: Int(2, 64) = 16, draws: Int(500, 20000) = 4000):
    r"""Smoothing over a group.

    The mean over the group makes any function invariant, or equivariant if each value is carried back. Doing it twice
    changes nothing, nor does it change what is invariant already. It may leave nothing at all: an odd function under
    the change of signs becomes 0. Where a group is large or continuous, elements drawn by its Haar measure do.

    $$(Sf)(x) = \frac{1}{|G|} \sum_g f(\rho(g)x), \qquad \frac{1}{|G|} \sum_g \rho(g)^{-1} f(\rho(g)x)$$

    Assumes: the group is finite, or compact with its Haar measure.

    Check: a random network in the plane under the turns and mirrors of a polygon; sampled means against the exact one,
    and against |x|²/3, the mean of the square of a coordinate over all rotations of space.
    """
    group = geometry.rotation_representation(geometry.dihedral_group(points), points)
    odd = networks.MLP((2, width, 2), "tanh", dtype=jnp.float64, key=key)
    x = jax.random.normal(jax.random.fold_in(key, 1), (2,), jnp.float64)
    orbit = jnp.asarray(group.matrices) @ x

    def net(x):
        return odd(x + 0.5)  # without the shift its mean would be 0 wherever −1 is in the group

    def score(x):
        return net(x)[0]

    def over(f, xs):
        return np.asarray(eqx.filter_jit(jax.vmap(f))(xs))

    smoothed = geometry.smooth(score, group)
    before, after = over(score, orbit), over(smoothed, orbit)
    size = float(np.abs(before).max())
    yield at_most(np.ptp(after) / size, 1e-14, "smoothed network: spread over an orbit, relative")
    yield close(after, before.mean(), "its value, against the mean of the network over the orbit", atol=1e-14 * size)
    field = geometry.smooth(net, group, group)
    carried = np.einsum("gij,j->gi", group.matrices, over(field, x[None])[0])
    yield at_most(np.abs(over(field, orbit) - carried).max() / size, 1e-14, "smoothed field: f(gx) − gf(x), relative")
    again = over(geometry.smooth(smoothed, group), x[None])
    yield close(again, after[0], "smoothed twice, against once", atol=1e-14 * size)

    def radial(x):
        return jnp.cos(x @ x)

    kept = over(geometry.smooth(radial, group), x[None])
    yield close(kept, over(radial, x[None]), "cos |x|², invariant already: smoothed, as it was", atol=1e-14)
    signs = np.array([np.eye(2), -np.eye(2)])
    gone = over(geometry.smooth(lambda x: jnp.tanh(x).sum() ** 3, signs), orbit)
    yield at_most(np.abs(gone).max(), 1e-14, "an odd function under the change of signs: what is left")
    keys = jax.random.split(jax.random.fold_in(key, 2), draws)

    def drawn(key, x):
        return jnp.asarray(group.matrices)[jax.random.randint(key, (), 0, 2 * points)] @ x

    one = jax.vmap(lambda k: geometry.sampled_smooth(score, drawn, k[None])(x))  # the mean of a single draw
    samples = np.asarray(eqx.filter_jit(one)(keys))
    yield mean(samples, float(before.mean()), "elements drawn at random: mean of the network, exact mean")
    y = jnp.array([1.0, -2.0, 0.5])
    squares = jax.jit(jax.vmap(lambda k: (geometry.random_rotation(k, 3) @ y)[0] ** 2))(keys)
    yield mean(squares, float(y @ y) / 3, "random rotations of space: mean of (Rx)₁², against |x|²/3")
    at = np.arange(2 * points)
    yield figure.curves(
        f"Over an orbit the network varies by {np.ptp(before):.2g}, its mean over the group by {np.ptp(after):.0e}",
        "group element",
        "output",
        lines={"mean over the group": (at, np.full(2 * points, before.mean()))},
        points={"network": (at, before), "smoothed": (at, after)},
    )


@claim(sources=("sheet",), shows=("geometry.smooth",))
def smoothing_reduces_risk(key, inputs: Int(2, 5) = 5, samples: Int(5, 100) = 30, noise: Real(0.0, 2.0) = 0.5):
    r"""Smoothing over the group never hurts the squared loss.

    If the law of the inputs and the target are invariant, the error of a predictor and its mean over the group differ
    by the size of what smoothing takes away. The mean over the group is the nearest invariant function.

    $$E(f - y)^2 = E(Sf - y)^2 + E(f - Sf)^2$$

    Assumes: gX has the law of X for every g; y(gx) = y(x); squared loss.

    Check: all permutations of a few inputs, the median as target, and a linear predictor with a cubic part; every
    sample comes in all orders. A target that is no function of the set, the first input, is a counter-example: there
    smoothing raises the risk. The 1.03792 = 0.80107 + 0.23685 that was measured elsewhere belongs to samples that are
    not known.
    """
    rng = data.generator(key)
    every = np.eye(inputs)[geometry.symmetric_permutations(inputs)]
    x = rng.normal(size=(samples, inputs)) + noise * rng.normal(size=(samples, 1))
    slope, cubic = rng.normal(size=(2, inputs)) / np.sqrt(inputs)

    def predictor(x):
        return x @ slope + 0.1 * (x**3) @ cubic

    orders = np.einsum("gij,nj->ngi", every, x)  # every sample in every order: an invariant law
    plain = predictor(orders)
    smooth = np.asarray(jax.jit(jax.vmap(jax.vmap(geometry.smooth(predictor, every))))(jnp.asarray(orders)))
    median = np.median(orders, axis=2)
    risk, rest, gone = (np.mean(d**2) for d in (plain - median, smooth - median, plain - smooth))
    yield close(risk, rest + gone, "risk of the predictor, against that of its mean plus what was taken", rtol=1e-12)
    yield at_most(rest, risk, "risk of the mean over the group, of the predictor", rtol=1e-12)
    first = orders[..., 0]
    whole = 0.0  # the first input predicts itself
    exact = np.asarray(jax.jit(jax.vmap(jax.vmap(geometry.smooth(lambda x: x[0], every))))(jnp.asarray(orders)))
    raised = float(np.mean((exact - first) ** 2))
    yield at_least(raised, whole, "target that is not invariant: risk of the mean, of the exact predictor", strict=True)
    within = float(np.mean(np.var(x, axis=1)))  # the mean of a set predicts each of its members with this error
    yield close(
        raised,
        within,
        "first input as target: risk of its mean over the group, against the variance within a set",
        rtol=1e-12,
    )
    parts = {
        "predictor": {"median": risk, "first input": whole},
        "its mean over the group": {"median": rest, "first input": raised},
        "what smoothing took": {"median": gone},
    }
    title = f"Median: {risk:.4g} = {rest:.4g} + {gone:.4g}; the first input is spoilt by {raised:.2g}"
    yield figure.bars(title, "target", "mean squared error", values=parts)
