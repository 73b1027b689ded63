"""What a student is shown: more of it helps, and images help more than noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, regularisation, training
from leadline.claims.scenarios.regularisation.digit_teachers import batch_scores, digit_teacher
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import OneOf, Real, claim
from leadline.presentation import figure

SEEDS, STEPS, HIDDEN = 5, 800, 32


@claim(sources=("eth", "sheet"), shows=("regularisation.Distilled",), empirical=True)
def distillation_transfer_set(key, largest: OneOf(3000, 10000, 100000) = 10000, temperature: Real(1.0, 8.0) = 2.0):
    r"""The transfer set of distillation.

    A student agrees with its teacher the more, the more inputs the teacher has labelled for it. Where they are few,
    inputs from the domain, or mixtures of two of them, are worth more than noise: inputs must lie where the teacher
    will be asked.

    $$\tilde x = \lambda x_i + (1 - \lambda) x_j, \quad \lambda \sim U(0, 1)$$

    Assumes: the same number of steps for every transfer set.

    Check: Agreement on 500 test digits of five students 64-32-10 with eight networks; real digits (at most 1297),
    mixtures of these, normal noise with the moments of each pixel, or with those of all pixels; 100 to `largest`
    inputs, 800 steps. White noise has the moments of all pixels.
    """
    images, _, held, _ = data.digits_split()
    rng = data.generator(key)
    teacher = digit_teacher(key)
    pools = jnp.asarray(np.stack([drawn(images, largest, rng) for drawn in SOURCES.values()]), jnp.float32)
    logits = jnp.stack([batch_scores(teacher, pool) for pool in pools])
    sizes = [100, 300, 1000, *(n for n in (3000, 10000, 100000) if n <= largest)]
    runs = [(source, n) for source in range(len(SOURCES)) for n in sizes if source or n <= len(images)]
    held = jnp.asarray(held, jnp.float32)
    answers = np.asarray(batch_scores(teacher, held)).argmax(axis=-1)
    keys = jax.random.split(key, SEEDS)
    said = _students(keys, jnp.array(runs), pools, logits, held, jnp.asarray(temperature, jnp.float32))
    share = (np.asarray(said) == answers).mean(axis=-1)  # (seeds, runs)
    names = list(SOURCES)
    found = {name: {n: share[:, i] for i, (s, n) in enumerate(runs) if names[s] == name} for name in names}
    for name, by_size in found.items():
        few, many = by_size[100], by_size[max(by_size)]
        yield paired_excess(many, few, f"{name}: agreement with {max(by_size)} inputs less that with 100")
    for name in ("real digits", "mixtures"):
        for noise in ("noise with each pixel's moments", "white noise"):
            what = f"100 inputs: agreement with {name} less that with {noise}"
            yield paired_excess(found[name][100], found[noise][100], what)
    points = {
        name: (list(by_size), *([f(v) for v in by_size.values()] for f in (np.mean, np.min, np.max)))
        for name, by_size in found.items()
    }
    few = {name: by_size[100].mean() for name, by_size in found.items()}
    pixels = few["noise with each pixel's moments"]
    title = (
        f"Agreement from 100 real digits {few['real digits']:.3f}, from noise with each pixel's moments {pixels:.3f}, "
        f"white noise {few['white noise']:.3f}; from {largest} mixtures {found['mixtures'][largest].mean():.3f}"
    )
    yield figure.curves(title, "inputs that the teacher labelled", "agreement on test digits", log="x", points=points)


def _real(images, count, rng):
    """The digits themselves, in rows of a pool that is zero after them."""
    pool = np.zeros((count, images.shape[1]))
    pool[: len(images)] = images[:count]
    return pool


def _mixed(images, count, rng):
    first, second = images[rng.integers(len(images), size=(2, count))]
    share = rng.random((count, 1))
    return share * first + (1 - share) * second


def _pixel_noise(images, count, rng):
    return images.mean(axis=0) + images.std(axis=0) * rng.normal(size=(count, images.shape[1]))


def _white_noise(images, count, rng):
    return images.mean() + images.std() * rng.normal(size=(count, images.shape[1]))


SOURCES = {
    "real digits": _real,
    "mixtures": _mixed,
    "noise with each pixel's moments": _pixel_noise,
    "white noise": _white_noise,
}


@eqx.filter_jit
def _students(keys, runs, pools, logits, held, temperature):
    """The classes that students of each (source, size) say on held-out images."""

    def one(key, run):
        def objective(net, chosen, key, state):
            rows = {"inputs": pools[run[0], chosen], "teacher": logits[run[0], chosen]}
            return regularisation.Distilled(temperature)(net, rows, key, state)

        net = networks.MLP((64, HIDDEN, 10), dtype=jnp.float32, key=key)
        stream = jax.random.randint(key, (STEPS, 50), 0, run[1])
        trained = training.scan_steps(objective, net, optax.adam(5e-3), stream).model
        return jnp.argmax(jax.vmap(trained)(held), axis=-1)

    return jax.vmap(lambda key: jax.vmap(lambda run: one(key, run))(runs))(keys)
