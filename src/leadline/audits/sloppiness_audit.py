"""The sloppiness audit: which directions of a digits network the data determine, and how far these alone carry it."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, close, exactly
from leadline.landscape.sloppiness.fisher_spectra import FisherSpectrum
from leadline.networks import MLP
from leadline.presentation import figure

RATE = 1e-2


class Trained(NamedTuple):
    """A network from the same start, trained on digits or on white noise with the digits' labels, and its spectrum."""

    inputs: np.ndarray
    network: MLP
    eigenvalues: np.ndarray


class Bench(NamedTuple):
    """The start, both trained networks, and the Fisher spectrum of the digits network with its directions."""

    start: MLP
    labels: np.ndarray
    digits: Trained
    noise: Trained
    spectrum: FisherSpectrum


def _apply(network: MLP, rows: Array) -> Array:
    import jax

    return jax.vmap(network)(rows)


def _loss(network: MLP, rows: Array, labels: Array) -> Array:
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(_apply(network, rows), labels).mean()


def set_up(key: PRNGKeyArray, images: int, hidden: int, num_steps: int) -> Bench:
    """An MLP 64-`hidden`-10 of tanh units on the first `images` training digits, `num_steps` steps of Adam."""
    import jax
    import optax

    from leadline import data, networks, training
    from leadline.landscape import sloppiness

    split = data.digits_split()
    x, labels = split.train_images[:images], split.train_labels[:images]
    noise = data.generator(key).normal(size=x.shape) * np.sqrt(np.mean(x**2))
    start = networks.MLP((64, hidden, 10), "tanh", init="glorot", key=jax.random.fold_in(key, 1))
    rule, roots, ends = optax.adam(RATE), [], []
    for inputs in (x, noise):
        ends.append(training.minimise(_loss, start, rule, num_steps, inputs, labels)[0])
        roots.append(sloppiness.softmax_root_jacobian(_apply, ends[-1], inputs))
    spectrum = sloppiness.fisher_spectrum(roots[0], sloppiness.entry_names(start, entries=False))
    flat = sloppiness.fisher_eigenvalues(roots[1])
    return Bench(start, labels, Trained(x, ends[0], spectrum.eigenvalues), Trained(noise, ends[1], flat), spectrum)


def spectra(bench: Bench) -> Iterator[Comparison | Figure]:
    """Sloppy on digits and not on white noise: at least a decade between them; Lanczos against the decomposition."""
    from leadline import curvature, data
    from leadline.landscape import sloppiness
    from leadline.landscape.sloppiness.fisher_spectra import spectrum_decades
    from leadline.landscape.sloppiness.parameter_directions import name_shares

    images = len(bench.labels)
    k = 3 * images // 2
    decades = {
        name: spectrum_decades(trained.eigenvalues, k)
        for name, trained in (("digits", bench.digits), ("white noise", bench.noise))
    }
    yield at_least(decades["digits"] - decades["white noise"], 1.0, f"decades from λ1 to λ{k}: digits less white noise")
    pairs = curvature.fisher(_apply, bench.digits.network, bench.digits.inputs).top(5)
    found = bench.spectrum.eigenvalues[:5]
    yield close(pairs.values, found, "five stiffest eigenvalues, Lanczos without the matrix", rtol=1e-6)
    aligned = np.abs(np.sum(pairs.vectors * bench.spectrum.vectors[:5], axis=1))
    yield close(aligned, 1.0, "their directions: |cosine| between Lanczos and decomposition", atol=1e-4)
    pixels = data.digits().images
    inherited = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(pixels - pixels.mean(axis=0)))
    at = 1 + np.arange(k)
    yield figure.curves(
        f"{decades['digits']:.2f} decades in {k} directions on digits, {decades['white noise']:.2f} on white noise; "
        f"{spectrum_decades(inherited, 50):.2f} in 50 of the pixels",
        "direction k",
        "λₖ/λ₁",
        log="y",
        lines={"pixel covariance": (at[:61], (inherited / inherited[0])[: min(61, k)])},
        points={
            "digits": (at, bench.digits.eigenvalues[:k] / bench.digits.eigenvalues[0]),
            "white noise": (at, bench.noise.eigenvalues[:k] / bench.noise.eigenvalues[0]),
        },
    )
    names = dict.fromkeys(bench.spectrum.names)
    some = [i for i in (0, 1, 4, 19, k - 1) if i < k]
    shares = {i: name_shares(bench.spectrum.vectors[i], bench.spectrum.names) for i in some}
    yield figure.bars(
        "Which parameters carry a direction: " + sloppiness.describe_directions(bench.spectrum, 1, parts=2)[0],
        "direction",
        "share of the squared vector",
        values={name: {str(i + 1): shares[i][name] for i in some} for name in names},
    )


def dimensions(bench: Bench) -> Iterator[Comparison | Figure]:
    """How many directions count, against the threshold; the bound of the rank."""
    from leadline.landscape import sloppiness

    images, size = len(bench.labels), bench.spectrum.size
    yield at_most(bench.spectrum.rank(), min(size, 9 * images), "rank of g, min(p, n(C − 1))")
    counts = [int(sloppiness.stiff_count(t.eigenvalues, 1e-3 * t.eigenvalues[0])) for t in (bench.digits, bench.noise)]
    yield at_most(counts[0], counts[1], "directions above 10⁻³ λ1: digits, white noise", strict=True)
    scale = sloppiness.prior_scale(images, 1.0)
    found = float(sloppiness.effective_dimension(bench.digits.eigenvalues, scale))
    yield at_most(found, size / 10, "effective dimension on digits, prior of deviation 1: a tenth of the parameters")
    grid = np.geomspace(1e-6, 1.0, 60)
    curves = {
        name: (grid, sloppiness.effective_dimension(trained.eigenvalues / trained.eigenvalues[0], grid))
        for name, trained in (("digits", bench.digits), ("white noise", bench.noise))
    }
    yield figure.curves(
        f"{found:.0f} effective of {size} parameters (prior of deviation 1); above 10⁻³ λ₁: {counts[0]} on digits, "
        f"{counts[1]} on white noise",
        "threshold a/λ₁",
        "effective dimension Σ λ/(λ + a)",
        log="xy",
        lines=curves,
        rules={f"{size} parameters": ("y", size)},
    )


def subspaces(
    bench: Bench, key: PRNGKeyArray, directions: tuple[int, ...], num_steps: int
) -> Iterator[Comparison | Figure]:
    """Training in the stiffest directions of the START, chosen before training, against random ones of that number."""
    import jax
    import jax.numpy as jnp
    import optax

    from leadline import data, networks
    from leadline.landscape import sloppiness

    split = data.digits_split()
    test = jnp.asarray(split.test_images), jnp.asarray(split.test_labels)
    half = bench.digits.inputs[: max(len(bench.labels) // 2, directions[-1] // 9 + 1)]
    stiff = sloppiness.fisher_spectrum(sloppiness.softmax_root_jacobian(_apply, bench.start, half)).vectors
    size, most = stiff.shape[1], directions[-1]
    yield exactly(min(len(stiff), size) >= most, True, "the images show as many directions as are trained")
    bases = np.zeros((2 * len(directions), most, size))
    for i, k in enumerate(directions):
        bases[2 * i, :k] = stiff[:k]
        bases[2 * i + 1, :k] = sloppiness.random_subspace(k, size, key=jax.random.fold_in(key, i))

    def end(basis: Array, x: Array, labels: Array) -> Array:
        rule = optax.adam(2 * RATE)
        return networks.accuracy(
            sloppiness.train_in_subspace(_loss, bench.start, basis, rule, num_steps, x, labels)[0], *test
        )

    found = jax.jit(jax.vmap(end, (0, None, None)))(bases, bench.digits.inputs, jnp.asarray(bench.labels))
    accuracy = np.asarray(found).reshape(-1, 2).T
    full = float(networks.accuracy(bench.digits.network, *test))
    yield at_least(accuracy[0, -1] / full, 0.8, f"test accuracy, {most} stiffest of {size} directions, over all")
    yield at_least(accuracy[1, -1] / full, 0.8, f"test accuracy, {most} RANDOM directions, over all: the control")
    yield figure.curves(
        f"Trained in {most} stiff directions of {size}: test accuracy {accuracy[0, -1]:.3f}, in random ones "
        f"{accuracy[1, -1]:.3f}, in all {full:.3f}",
        "directions k",
        "test accuracy",
        log="x",
        points={"stiffest at the start": (directions, accuracy[0]), "random": (directions, accuracy[1])},
        rules={"all directions": ("y", full)},
    )


def sloppiness_trials(
    images: int = 200, hidden: int = 32, num_steps: int = 300, directions: tuple[int, ...] = (10, 30, 100, 300)
) -> Iterator[tuple[str, str, Callable[[PRNGKeyArray], Iterator[Comparison | Figure]]]]:
    """The trials of the audit, in order: id, what it says, its generator; the networks are trained once."""

    @cache
    def bench(seed: tuple[int, ...]) -> Bench:
        import jax
        import jax.numpy as jnp

        return set_up(jax.random.wrap_key_data(jnp.asarray(seed, jnp.uint32)), images, hidden, num_steps)

    def ready(key: PRNGKeyArray) -> Bench:
        import jax

        return bench(tuple(int(word) for word in jax.random.key_data(key)))

    weights = hidden * 65 + 10 * (hidden + 1)
    yield (
        "spectra",
        f"The Fisher spectrum of a digits network of {weights} weights falls a decade further than on white noise.",
        lambda key: spectra(ready(key)),
    )
    yield "dimensions", "Few directions count, far fewer than parameters.", lambda key: dimensions(ready(key))
    yield (
        "subspaces",
        f"Training in {directions[-1]} stiff directions of the start keeps most of the accuracy; so do random ones.",
        lambda key: subspaces(ready(key), key, directions, num_steps),
    )
