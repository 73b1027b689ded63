"""Memories beyond Hopfield's: steeper energies, their capacity, and the continuous memory that is attention."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, memories
from leadline.evidence import Int, Real, at_most, claim, exactly, frequency, mean, model
from leadline.memories.dense import Exponential, dense_bit_error, dense_capacity
from leadline.memories.modern import modern_associate
from leadline.presentation import figure

DIGITS_SHOWN = (2, 3, 5, 9)
EXPONENTIAL_DIM = 24


@model(sources=("eth",), shows=("memories.dense_fields",))
def dense_associative_memory(
    key, dim: Int(20, 300) = 200, patterns: Int(1, 200) = 40, flips: Real(0.0, 0.5) = 0.2, power: Int(2, 12) = 5
):
    r"""Dense associative memory.

    A dense associative memory descends an energy that is steeper than a square in the overlaps with its patterns, and
    so tells correlated patterns apart.

    $$E(X) = -\sum_t F(x_t \cdot X), \quad F(z) = z^k,\ \max(z,0)^k,\ e^z; \qquad X_i \leftarrow \mathrm{sgn} \sum_t
    \big[F(x_{t,i} + u_t) - F(-x_{t,i} + u_t)\big], \quad u_t = \sum_{j \ne i} x_{t,j} X_j$$

    Assumes: patterns and states are ±1; one neuron is updated at a time, ties go to +1.

    Check: The quadratic case is compared with the Hopfield network under Hebb's rule.
    """
    stored_key, noise_key, large_key, digit_key = jax.random.split(key, 4)
    stored = data.random_signs(patterns, dim, key=stored_key)
    cues = stored[:20] * _noise(noise_key, stored[:20].shape, flips)
    hopfield = memories.asynchronous(memories.hebbian_network(stored), cues, order="cyclic", sweeps=200).states
    square = memories.dense_retrieve(stored, cues, energy=memories.Power(2), sweeps=200)
    yield exactly((hopfield != square).sum(), 0, "neurons where k = 2 and the Hopfield run end differently")
    energies = {
        f"z^{power}": memories.Power(power),
        f"max(z, 0)^{power}": memories.Power(power, rectified=True),
        "exp(z)": Exponential(),
    }
    for name, energy in energies.items():
        path = memories.dense_path(stored, cues[0], energy=energy, sweeps=4)
        descent = memories.dense_energy(stored, path, energy=energy)
        rise = jnp.diff(descent) / (1 + jnp.abs(descent[:-1]))
        yield at_most(rise, 0.0, f"rise of the energy at one visit, F = {name}", atol=1e-12)
    large = data.random_signs(20, 10_000, key=large_key, dtype=jnp.float32)
    noisy = large[:4] * _noise(key, (4, 10_000), min(flips, 0.4)).astype(jnp.float32)
    found = memories.dense_retrieve(large, noisy, sweeps=3)
    overflowing = (~jnp.isfinite(memories.dense_energy(large, noisy))).sum()
    yield exactly(overflowing, 0, "energies that are not finite at d = 10⁴, exp, 32 bits")
    yield exactly((found != large[:4]).sum(), 0, "wrong neurons at d = 10⁴, exp, 32 bits")
    bitmaps = data.digit_bitmaps()
    damaged = bitmaps * np.asarray(_noise(digit_key, bitmaps.shape, flips))
    rules = {f"k = {k}": memories.Power(k) for k in (2, 3, 5)} | {"exp": Exponential()}
    ends = {name: np.asarray(memories.dense_retrieve(bitmaps, damaged, energy=rule)) for name, rule in rules.items()}
    right = {name: int((end == bitmaps).all(1).sum()) for name, end in ends.items()}
    columns = {"stored": bitmaps, "cue": damaged} | ends
    title = "Ten correlated digits recalled exactly: " + ", ".join(f"{n} by {name}" for name, n in right.items())
    images = [(name, image[digit].reshape(8, 8)) for digit in DIGITS_SHOWN for name, image in columns.items()]
    yield figure.images(title, images=images, columns=len(columns))


@claim(sources=("eth",))
def dense_memory_capacity(key, dim: Int(60, 100) = 100, power: Int(2, 4) = 3, doublings: Int(4, 11) = 11):
    r"""Capacity of dense associative memories.

    With F = zᵏ a bit of one of K random patterns flips with probability about
    $Q\Big(\sqrt{\frac{d^{k-1}}{(2k-3)!!\,K}}\Big)$, so the capacity grows as dᵏ⁻¹; with F = exp it grows
    exponentially.

    $$P(\text{flip}) \approx Q\left(\sqrt{\frac{d^{k-1}}{(2k-3)!!\, K}}\right), \qquad K_{\max} =
    \frac{d^{k-1}}{2\,(2k-3)!!\, \ln d}$$

    Assumes: patterns are independent fair signs; to leading order in d: within 15%, where the predicted error is at
    least 0.01.

    Check: Every bit of a stored pattern is updated once, over independent sets of patterns. For F = exp the number of
    patterns is $2^{\text{doublings}}$ at d = 24.
    """
    run_key, whole_key, exponential_key, figure_key = jax.random.split(key, 4)
    confidence = 1 - 0.01 / 9  # nine comparisons, 1% in all
    limit = dense_capacity(dim, power)
    loads = [int(factor * limit) for factor in (2, 4, 8)]
    sets = int(np.clip(1.5e7 / (loads[-1] * dim), 6, 50))
    for load, errors in zip(loads, _bit_errors(run_key, loads, dim, power, sets=sets, shown=10), strict=True):
        predicted = dense_bit_error(load, dim, power)
        # Two one-sided intervals: the rate lies within 15% of the prediction.
        for factor, side in ((0.85, "at least"), (1.15, "at most")):
            what = f"bit error at K = {load}, {side} {factor} of Q"
            rate = mean(errors, factor * predicted, what, side=side, confidence=confidence)
            yield rate.given(predicted >= 0.01, "the predicted error is at least 0.01")
    # The bits of a pattern begin to fail at K_max: half of it keeps nearly every pattern whole, four times almost none.
    half, four = int(limit / 2), int(4 * limit)
    whole = (_bit_errors(whole_key, [half, four], dim, power, sets=40, shown=1) == 0).sum(1)
    what = "share of patterns kept whole at K ="
    yield frequency(whole[0], 40, 0.95, f"{what} K_max/2 = {half}", side="at least", confidence=confidence)
    yield frequency(whole[1], 40, 0.05, f"{what} 4 K_max = {four}", side="at most", confidence=confidence)
    many = 2**doublings
    shares = np.array([_fixed_share(k, many) for k in jax.random.split(exponential_key, 8)])
    what = f"share of {many} patterns that are fixed, exp, d = {EXPONENTIAL_DIM}"
    yield mean(shares, 0.99, what, side="at least", confidence=confidence)
    lines, points = {}, {}
    for k, size in ((2, 200), (3, 60), (4, 30)):
        scale = size ** (k - 1)
        spaced = [int(scale / (math.prod(range(2 * k - 3, 0, -2)) * z**2)) for z in (2.4, 1.9, 1.5, 1.2)]
        measured = _bit_errors(figure_key, spaced, size, k, sets=15, shown=10)
        error = 2 * measured.std(1) / math.sqrt(measured.shape[1])
        xs = np.geomspace(spaced[0] / 1.5, 1.3 * spaced[-1], 50)
        name = f"k = {k}, d = {size}"
        lines[name] = (xs / scale, [dense_bit_error(x, size, k) for x in xs])
        rate = measured.mean(1)
        points[name] = (np.array(spaced) / scale, rate, rate - error, rate + error)
    title = f"Errors follow Q at loads of order d^(k−1); exp keeps {shares.mean():.1%} of {many} patterns"
    yield figure.curves(title, "load K / d^(k−1)", "one-step bit error", lines=lines, points=points, log="xy")


@model(sources=("eth",), shows=("memories.modern_retrieve", "memories.modern_weights"))
def modern_hopfield(
    key,
    patterns: Int(2, 200) = 50,
    dim: Int(2, 256) = 64,
    beta: Real(0.1, 1000.0, log=True) = 20.0,
    noise: Real(0.0, 1.0) = 0.15,
):
    r"""Modern Hopfield network.

    A continuous memory moves to the softmax average of its patterns: its energy never rises, and one step lands near a
    well-separated pattern.

    $$\xi \leftarrow X\,\mathrm{softmax}(\beta X^\top \xi), \quad E(\xi) = -\tfrac{1}{\beta} \log \sum_t e^{\beta x_t
    \cdot \xi} + \tfrac12 \|\xi\|^2, \qquad \|\xi_{\mathrm{new}} - x_t\| \le 2M(N-1)\, e^{-\beta(\Delta_t - 2M\|\xi -
    x_t\|)}$$

    Check: Random unit vectors, and digits of unit length; a cue is at the distance `noise` of its pattern.
    """
    pattern_key, noise_key = jax.random.split(key)
    random = _unit(jax.random.normal(pattern_key, (patterns, dim)))
    images = data.digits().images
    digits = _unit(images[:patterns] - images.mean(0))
    for name, stored in (("random", random), ("digits", digits)):
        targets = np.arange(len(stored))
        cues = stored + noise * _unit(jax.random.normal(noise_key, stored.shape))
        states, descent = cues, [memories.modern_energy(stored, cues, beta=beta)]
        for _ in range(10):
            states = memories.modern_update(stored, states, beta=beta)
            descent.append(memories.modern_energy(stored, states, beta=beta))
        yield at_most(np.diff(descent, axis=0), 0.0, f"rise of the energy at one update, {name}", atol=1e-12)
        error = jnp.linalg.norm(memories.modern_update(stored, cues, beta=beta) - stored, axis=1)
        bound = memories.retrieval_bound(stored, cues, targets, beta=beta)
        yield at_most(error, bound, f"distance to the pattern after one update, {name}", atol=1e-12, trivial=2.0)
        flat = memories.modern_update(stored, cues, beta=1e-9)
        what = f"distance to the mean of all patterns at β = 10⁻⁹, {name}"
        yield at_most(jnp.abs(flat - stored.mean(0)), 0.0, what, atol=1e-8)
    start = random + noise * _unit(jax.random.normal(noise_key, random.shape))
    best = int(jnp.argmax(memories.separations(random)))
    betas = np.geomspace(0.1, 1000.0, 60)
    cue, target = start[best : best + 1], np.array([best])
    after = np.stack([memories.modern_update(random, cue, beta=b)[0] for b in betas])
    errors = np.linalg.norm(after - random[best], axis=1)
    bounds = np.array([memories.retrieval_bound(random, cue, target, beta=b)[0] for b in betas])
    useful, above = bounds < 2.0, errors > 1e-9  # below 1e-9 there is rounding only
    drawn = useful & (bounds > 1e-9)
    first = f"below 2 from β = {betas[useful][0]:.3g} on" if useful.any() else "never below 2 here"
    title = f"One update retrieves a pattern once β is large; the bound is {first}"
    lines = {"bound": (betas[drawn], bounds[drawn])} if drawn.any() else {}
    points = {"after one update": (betas[above], errors[above])}
    rules = {"says nothing: 2M": ("y", 2.0)} | ({"cue": ("y", noise)} if noise > 0 else {})
    axes = "inverse temperature β", "distance to the pattern"
    yield figure.curves(title, *axes, lines=lines, points=points, rules=rules, log="xy")


@claim(sources=("eth",))
def modern_hopfield_is_attention(
    key, states: Int(1, 200) = 32, patterns: Int(1, 500) = 100, dim: Int(1, 256) = 64, flips: Real(0.0, 0.5) = 0.2
):
    r"""Modern Hopfield update is attention.

    One update of the modern Hopfield network is one attention head: the query is ξ, the keys and values are the stored
    patterns, and β = 1/√d.

    $$X\,\mathrm{softmax}(\beta X^\top \xi) = \mathrm{Attention}(Q = \xi,\ K = V = X), \qquad \beta = 1/\sqrt{d_k}$$

    Check: The update is compared with JAX's own dot-product attention, which shares no code with the memory, in 32-bit
    precision and with entries in [−1, 1].
    """
    draw = partial(jax.random.uniform, dtype=jnp.float32, minval=-1.0, maxval=1.0)
    k1, k2, k3, k4 = jax.random.split(key, 4)
    stored, other, cues = draw(k1, (patterns, dim)), draw(k2, (patterns, dim)), draw(k3, (states, dim))
    beta = 1 / math.sqrt(dim)
    head = lambda q, k, v: jax.nn.dot_product_attention(*(a[None, :, None] for a in (q, k, v)))[0, :, 0]  # noqa: E731
    update = memories.modern_update(stored, cues, beta=beta)
    attended = head(cues, stored, stored)
    yield at_most(jnp.abs(update - attended), 1e-6, "difference of one update and self-associative attention")
    recalled = modern_associate(stored, other, cues, beta=beta)
    attended = head(cues, stored, other)
    what = "difference of one hetero-associative update and attention with separate values"
    yield at_most(jnp.abs(recalled - attended), 1e-6, what)
    one_by_one = jnp.concatenate([memories.modern_update(stored, cue[None], beta=beta) for cue in cues[:8]])
    yield at_most(jnp.abs(one_by_one - update[:8]), 1e-6, "difference of a batch of queries and single states")
    bitmaps = data.digit_bitmaps().astype(np.float32)
    damaged = bitmaps * np.asarray(_noise(k4, bitmaps.shape, flips), np.float32)
    weights = np.asarray(memories.modern_weights(bitmaps, damaged, beta=1 / 8))
    right = int((weights.argmax(1) == np.arange(10)).sum())
    title = f"Attention as retrieval: {right} of 10 digits with {flips:.0%} flipped pixels attend most to their own"
    keys, queries = "stored digit (key)", "damaged digit (query)"
    yield figure.heatmap(title, keys, queries, values=weights.round(2), colour="attention weight", text=True)


def _noise(key, shape, flips):
    return jnp.where(jax.random.bernoulli(key, flips, shape), -1.0, 1.0)


def _unit(x):
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def _bit_errors(key, loads, dim, power, *, sets, shown):
    """Share of bits that one update flips, for each load (rows) and each independent set of patterns (columns)."""
    keys = jax.random.split(key, (len(loads), sets))
    return np.asarray(_flip_rates(keys, jnp.asarray(loads), max(loads), dim, power, min(shown, *loads)))


@partial(jax.jit, static_argnames=("slots", "dim", "power", "shown"))
def _flip_rates(keys, loads, slots, dim, power, shown):
    def one_set(key, load):
        # Empty slots hold zeros, which have no effect on any field: so all loads share one compiled program.
        stored = data.random_signs(slots, dim, key=key, dtype=jnp.float32) * (jnp.arange(slots) < load)[:, None]
        fields = memories.dense_fields(stored, stored[:shown], energy=memories.Power(power))
        return jnp.mean((fields >= 0) != (stored[:shown] > 0))

    return jax.lax.map(lambda row: jax.lax.map(lambda key: one_set(key, row[1]), row[0]), (keys, loads))


def _fixed_share(key, patterns):
    stored = data.random_signs(patterns, EXPONENTIAL_DIM, key=key)
    shown = stored[:256]
    return float(((memories.dense_fields(stored, shown) >= 0) == (shown > 0)).all(1).mean())
