"""How well tangent features predict: the peak of least-norm regression, and the comparison with the full network."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import as_apply, data, infinite_width, networks, tangent
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, mean
from leadline.presentation import figure
from leadline.training import minimise


def _shuffled_digits(rng, train, test):
    """Digits in random order, centred on the training part; odd = +1, even = -1: (x, y), (z, labels)."""
    images, labels = data.digits()
    order = rng.permutation(len(labels))[: train + test]
    x, y = images[order] - images[order[:train]].mean(axis=0), np.where(labels[order] % 2 == 1, 1.0, -1.0)
    return (x[:train], y[:train]), (x[train:], y[train:])


def _unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _two_layer(dim, width, key):
    """v·relu(W x) with standard normal v and W; the common factor √(2/m) changes no prediction."""
    net = tangent.lecun_two_layer(dim, width, "relu", parametrisation="ntk", key=key)
    return networks.TwoLayer(net.weight, net.head, "relu")


@claim(sources=("sheet",), slow="about 8 seconds", empirical=True)
def tangent_interpolation_peak(
    key, components: Int(9, 12) = 10, peak: Int(18, 24) = 20, flipped: Real(0.05, 0.12) = 0.1, seeds: Int(8, 16) = 10
):
    r"""Double descent with tangent features.

    Least-norm regression on tangent features has its worst test error where their rank reaches n; beyond, the error
    falls with width although the training error stays 0. A bias-free two-layer ReLU network has m(d+1) features of
    rank md, so the peak is at md = n.

    $$w_j \cdot \partial f/\partial w_j = v_j\, \partial f/\partial v_j, \quad m_{\text{peak}} = n/d$$

    Assumes: noisy labels.

    Check: Odd and even digits on their leading principal components, n = d · `peak`, some labels flipped.
    """
    d, n = components, components * peak
    ratios = np.array([0.1, 0.2, 0.4, 0.8, 0.9, 1.0, 1.2, 1.6, 6.4, 25.6])
    widths = np.unique(np.maximum(np.round(ratios * peak).astype(int), 1))
    small, large = int(1.6 * peak) + 1, int(25.6 * peak) + 1
    risk, error, norm, fit, ranks = (np.zeros((seeds, len(widths))) for _ in range(5))
    for seed in range(seeds):
        rng = data.generator(jax.random.fold_in(key, seed))
        (x, y), (z, truth) = _shuffled_digits(rng, n, 500)
        basis = np.linalg.svd(x, full_matrices=False)[2][:d]
        x, z = _unit(x @ basis.T), _unit(z @ basis.T)
        y = np.where(rng.permutation(n) < round(flipped * n), -y, y)
        for i, m in enumerate(widths):
            net = _two_layer(d, int(m), jax.random.fold_in(key, 1000 * seed + int(m)))
            if m == peak:  # so badly conditioned that J, not its square, is decomposed
                J, J_test = (np.asarray(networks.parameter_jacobian(*as_apply(net), a)) for a in (x, z))
                best = tangent.tangent_fit(J, y, dual=False)
                outputs, at_data = J_test @ best.beta, J @ best.beta
                ranks[seed, i], norm[seed, i] = best.rank, np.sqrt(best.squared_norm)
            else:
                net = net.padded(small if m <= small else large)  # two compiled shapes for all widths
                wide = infinite_width.WideTraining(net.tangent_kernel(x), y)
                outputs, at_data = np.asarray(wide.at(net.tangent_kernel(z, x)).mean()), np.asarray(wide.mean())
                lam, U = np.asarray(wide.eigenvalues), np.asarray(wide.eigenvectors)
                ranks[seed, i] = np.sum(lam > 0)
                norm[seed, i] = np.sqrt(np.sum(((U.T @ y) ** 2)[lam > 0] / lam[lam > 0]))
            risk[seed, i], error[seed, i] = np.mean((outputs - truth) ** 2), np.mean(np.sign(outputs) != truth)
            fit[seed, i] = np.mean((at_data - y) ** 2)
    medians, errors = np.median(risk, axis=0), np.median(error, axis=0)
    full = np.minimum(widths * d, n)
    yield at_most(ranks, full, f"rank of the m(d+1) = {d + 1} m tangent features, all widths and seeds")
    yield exactly(np.median(ranks, axis=0), full, "median rank, against min(m d, n)")
    yield exactly(widths[np.argmax(medians)], peak, "width with the worst median test error, against n/d")
    yield close(np.median(fit[:, widths > peak], axis=0), 0.0, "median training error beyond the peak", atol=1e-6)
    what = f"median test error at m = {widths[-1]}, against the best before the peak"
    yield at_most(medians[-1], medians[widths < peak].min(), what, strict=True)
    beyond = errors[widths >= peak]
    falls = at_most(beyond[-1], beyond[0], "test error rate at the widest, against that at the peak", strict=True)
    yield falls
    what = "test accuracy at the widest, against that at the peak"
    wrong = at_most(1 - beyond[-1], 1 - beyond[0], what, strict=True)
    prints = "test accuracy decreases past 100% training accuracy (for: test error)"
    yield erratum(wrong, of=falls, by="sheet", prints=prints)
    load, rules = widths * d / n, {"m d = n": ("x", 1.0)}
    points, label = {"test": (load, medians)}, "median mean squared test error"
    title = "Test error of least-norm regression"
    left = figure.curves(title, "m d / n", label, points=points, rules=rules, log="xy")
    points = {"‖β‖": (load, np.median(norm, axis=0))}
    right = figure.curves("Norm of the solution", "m d / n", "median ‖β‖", points=points, rules=rules, log="xy")
    title = f"The test error peaks where m d = n, at {medians.max():.3g}, and ends at {medians[-1]:.2g}"
    yield figure.beside(title, left, right)


def _parity(rng, train, test, dim=40):
    """Signs in R^dim with the product of the first two as the label, rows of unit length, padded to 64 columns."""
    signs = rng.choice([-1.0, 1.0], (train + test, dim))
    x = np.pad(signs / np.sqrt(dim), ((0, 0), (0, 64 - dim)))
    y = signs[:, 0] * signs[:, 1]
    return (x[:train], y[:train]), (x[train:], y[train:])


def _digits(rng, train, test):
    (x, y), (z, truth) = _shuffled_digits(rng, train, test)
    return (_unit(x), y), (_unit(z), truth)


@cache
def _adam(steps):
    """Adam with a rate that falls from 0.3 to 0 along a cosine; one object for each length, compiled once."""
    return optax.adam(optax.cosine_decay_schedule(0.3, steps))


def _half_mean_square(net, x, y):
    return 0.5 * jnp.mean((net(x) - y) ** 2)


def _late(wide):
    """The time of 2000 steps 1/λ_max."""
    return 2000 / float(wide.eigenvalues[-1])


@claim(sources=("eth",), slow="about 10 seconds", empirical=True)
def linearised_versus_full(key, width: Int(48, 96) = 64, seeds: Int(3, 8) = 4, num_steps: Int(100, 300) = 120):
    r"""Linearised against fully trained network.

    Whether the linearised network predicts worse than the network itself depends on the data: on 400 digits the
    infinite network is not worse and the linearised one is within five percentage points; on sparse parity, which
    requires feature learning, both lose to the trained network.

    $$f_0(x) + k(x,X) K^{+} (y - f_0(X)) \quad \text{against} \quad f_{\theta_T}(x)$$

    Check: The tasks are odd against even digits, and the product x₁x₂ of two of 40 random signs, with 400 examples
    each; the networks have one hidden ReLU layer of width m and 4m. The linearised and the infinite network follow
    their gradient flow, in closed form, up to the time of 2000 steps of size 1/λₘₐₓ; the network is trained by Adam in
    single precision. Every seed has its own data and start, shared by the three arms.
    """
    limit = infinite_width.dense_stack(1, "relu", W_std=2**0.5, first_W_std=64**0.5).kernel_fn
    widths, arms = (width, 4 * width), ("infinite", "linearised", "full")
    found = {}
    for task, draw in (("digits", _digits), ("parity", _parity)):
        scores = found[task] = {arm: np.zeros((len(widths), seeds)) for arm in arms}
        for seed in range(seeds):
            (x, y), (z, truth) = draw(data.generator(jax.random.fold_in(key, seed)), 400, 600)
            K, cross = (limit(jnp.asarray(a), jnp.asarray(x), get="ntk") for a in (x, z))
            wide = infinite_width.WideTraining(K, y)
            ends = wide.at(cross).mean(_late(wide))
            scores["infinite"][:, seed] = np.mean(np.sign(ends) == truth)
            for i, m in enumerate(widths):
                own = jax.random.fold_in(key, 100 * seed + m)
                net = tangent.lecun_two_layer(64, m, "relu", gain=2**0.5, parametrisation="ntk", key=own)
                wide = infinite_width.WideTraining(net.tangent_kernel(x), y)
                cross = net.tangent_kernel(z, x)
                ends = wide.at(cross).from_start(_outputs(net, x), _outputs(net, z), _late(wide))
                scores["linearised"][i, seed] = np.mean(np.sign(ends) == truth)
                single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), net)
                rows = np.float32(x), np.float32(y)
                trained, _ = minimise(_half_mean_square, single, _adam(num_steps), num_steps, *rows)
                scores["full"][i, seed] = np.mean(np.sign(_outputs(trained, np.float32(z))) == truth)
    best = {task: {arm: s.mean() for arm, s in scores.items()} for task, scores in found.items()}
    digits, parity = found["digits"], found["parity"]
    gap = (digits["infinite"] - digits["full"]).mean(axis=0)
    yield mean(gap, 0.0, "digits: accuracy of the infinite network minus the full one, paired", side="at least")
    behind = best["digits"]["full"] - best["digits"]["linearised"]
    near = at_most(behind, 0.05, "digits: accuracy that the linearised network lacks, against five points")
    yield near
    wrong = at_least(behind, 0.05, "digits: accuracy that the linearised network lacks, at least five points")
    prints = "Lee et al. (2019) show linearised networks to be non-competitive"
    yield erratum(wrong, of=near, by="eth", prints=prints)
    for arm in ("linearised", "infinite"):
        lost = parity["full"] - parity[arm]
        yield at_least(lost.mean(axis=0), 0.0, f"parity: full minus {arm}, paired, every seed", strict=True)

    def panel(task, title):
        points = {}
        for shift, (arm, s) in zip((0.96, 1.0, 1.04), found[task].items(), strict=True):  # beside each other
            points[arm] = (np.array(widths) * shift, s.mean(axis=1), s.min(axis=1), s.max(axis=1))
        return figure.curves(title, "width m", "test accuracy", points=points, log="x")

    yield figure.beside(
        f"Linearised against full: {best['digits']['linearised']:.3f} and {best['digits']['full']:.3f} on digits, "
        f"{best['parity']['linearised']:.2f} and {best['parity']['full']:.2f} on parity",
        panel("digits", "Digits, odd or even: the kernel is not worse"),
        panel("parity", "Product of 2 of 40 signs: features must be learnt"),
    )


@eqx.filter_jit
def _outputs(net, x):
    return net(x)
