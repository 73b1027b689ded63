"""Internal covariate shift, measured beside the speed of training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import affine_parts, dense_maker, digit_part, trained
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, exactly, instrument
from leadline.presentation import figure

WIDTHS = (64, *[32] * 6, 10)


@instrument(
    sources=("penn", "eth"),
    empirical=True,
    shows=("regularisation.moment_shift", "regularisation.gradient_shift", "regularisation.step_landscape"),
)
def internal_covariate_shift(key, seeds: Int(4, 12) = 8, num_steps: Int(60, 300) = 120, noise: Real(0.1, 1.0) = 0.5):
    r"""Internal covariate shift.

    How far a layer's inputs move in one step: the change of their means and deviations, in units of the deviation;
    how far its gradient turns when the layers below are updated; and how the loss varies along the step. Random shifts
    and scales behind each batch normalisation, other ones at every step, make the first as large as one likes. If such
    networks still train nearly as well as those without the noise, low shift is not what explains their gain.

    $$s_l = \frac{\sqrt{\mathrm{mean}\,[(\Delta\mu)^2 + (\Delta\sigma)^2]}}{\sqrt{\mathrm{mean}\,\sigma^2}}, \qquad
    g_l = \frac{\|\nabla_l(\theta'_{<l}, \theta_{\ge l}) - \nabla_l(\theta)\|}{\|\nabla_l(\theta)\|}$$

    Assumes: plain SGD at 0.1; the noise has mean 0 for shifts, 1 for scales.

    Check: Networks of seven layers on 400 digits: plain, with batch normalisation, and with noise behind it. Last
    training losses, paired by seed: with noise it should be nearer to that of batch normalisation than to that of
    plain networks, and below the latter. The shift is that at the fourth hidden layer on 100 fixed digits.
    """
    part = digit_part(400)
    probe = part.x[:100]

    def jittered(net, key):
        parts, keys = affine_parts(net), jax.random.split(key, 2 * len(net.normalisations))
        moved = []
        for index in range(0, len(parts), 2):
            like = parts[index].shape, parts[index].dtype
            scale = 1 + noise * jax.random.uniform(keys[index], *like, minval=-1.0, maxval=1.0)
            shift = noise * jax.random.normal(keys[index + 1], *like)
            moved += [parts[index] * scale, parts[index + 1] * scale + shift]
        return eqx.tree_at(affine_parts, net, moved)

    def measure_of(wrap):
        def measure(seen):
            # The noise of a step is part of what the next layer sees, so that both ends of the step get their own.
            keys = jax.random.split(jax.random.fold_in(jax.random.key(0), seen.number))
            ends = [wrap(end.parameters, k) for end, k in zip((seen.before, seen.after), keys, strict=True)]
            before, after = (_hidden(_layers(net)[:3], probe) for net in ends)
            return seen.loss, regularisation.moment_shift(before, after)

        return measure

    arms = {"plain": (None, _as_it_is), "BN": ("batch", _as_it_is), "BN with noise": ("batch", jittered)}
    losses, shifts = {}, {}
    for name, (normalisation, wrap) in arms.items():
        make = dense_maker(WIDTHS, normalisation=normalisation)
        options = {"seeds": seeds, "num_steps": num_steps, "wrap": wrap}
        ran = trained(key, make, part, measure=measure_of(wrap), **options)
        losses[name], shifts[name] = (np.asarray(values, float) for values in ran.measured)
    last = {name: values[:, -20:].mean(axis=1) for name, values in losses.items()}
    moved = {name: values[:, -20:].mean(axis=1) for name, values in shifts.items()}
    what = "shift at the fourth hidden layer, with noise less plain, each network: above 0"
    yield at_least(moved["BN with noise"] - moved["plain"], 0.0, what, strict=True).as_empirical()
    yield paired_excess(last["plain"], last["BN"], "last training loss, plain less BN")
    noisy = last["BN with noise"]
    yield paired_excess(last["plain"], noisy, "last training loss, plain less BN with noise")
    half = (last["plain"] + last["BN"]) / 2
    yield paired_excess(half, noisy, "last training loss, half-way from plain to BN, less BN with noise")
    turned, varied = {}, {}
    for name, (normalisation, _) in list(arms.items())[:2]:
        make = dense_maker(WIDTHS, normalisation=normalisation)
        turned[name], varied[name] = _at_the_start(make, jax.random.split(key, seeds), part.x[:64], part.y[:64])
    firsts = np.concatenate([values[:, 0] for values in turned.values()])
    yield exactly(firsts > 1e-4, False, "change of the first layer's gradient, which has nothing below it: none")
    steps = 1 + np.arange(num_steps)
    one = {name: (steps, shifts[name].mean(axis=0)) for name in arms}
    two = {name: (steps, losses[name].mean(axis=0)) for name in arms}
    panels = [
        figure.curves("shift of a layer's inputs in a step", "step", "shift, in deviations", log="y", points=one),
        figure.curves("training loss", "step", "cross-entropy", log="y", points=two),
        figure.curves(
            "gradient of each layer, after a step below it",
            "layer",
            "relative change",
            points={
                name: (1 + np.arange(values.shape[1]), np.median(values, axis=0)) for name, values in turned.items()
            },
        ),
        figure.curves(
            "at the start: gradient after a step of size η",
            "η",
            "relative change",
            log="x",
            points={name: (_SIZES, np.median(values, axis=0)) for name, values in varied.items()},
        ),
    ]
    told = "" if regularisation.paired_difference(half, noisy).low > 0 else " (near to BN: not confirmed)"
    title = (
        f"Noise makes the shift {moved['BN with noise'].mean() / moved['plain'].mean():.1f} times that of plain "
        f"networks; last loss {last['plain'].mean():.2f} plain, {last['BN'].mean():.2f} BN, "
        f"{last['BN with noise'].mean():.2f} with noise{told}"
    )
    yield figure.beside(title, *panels)


_SIZES = np.geomspace(0.01, 1.0, 7)


def _as_it_is(net, key):
    return net


def _layers(net):
    """The parameters of each layer, first to last: weights, biases, and gain and shift of a normalisation."""
    *inner, last = net.dense.affine()
    norms = net.normalisations
    return [*(((w, b, norms[i].weight, norms[i].bias) if norms else (w, b)) for i, (w, b) in enumerate(inner)), last]


def _hidden(layers, x):
    """The outputs of these hidden layers, normalised by the statistics of the rows."""
    for w, b, *affine in layers:
        x = x @ w.T + b
        if affine:
            x = regularisation.normalise_features(x) * affine[0] + affine[1]
        x = jnp.maximum(x, 0.0)
    return x


def _loss(layers, x, y):
    w, b = layers[-1]
    outputs = _hidden(layers[:-1], x) @ w.T + b
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(outputs, y))


def _at_the_start(make, keys, x, y):
    """For each start: change of every layer's gradient after a step of 0.1 below it, and of the whole gradient along
    steps of each size; both relative."""

    def one(key):
        layers = _layers(make(key)[0])
        slope = jax.grad(_loss)(layers, x, y)
        after = jax.tree.map(lambda p, g: p - 0.1 * g, layers, slope)
        turned = regularisation.gradient_shift(lambda p: _loss(p, x, y), layers, after).distances
        along = regularisation.step_landscape(lambda p: _loss(p, x, y), layers, jnp.asarray(_SIZES, x.dtype))
        return turned, along.gradient_changes / optax.global_norm(slope)

    return tuple(np.asarray(part, float) for part in eqx.filter_jit(eqx.filter_vmap(one))(keys))
