"""Trials of `leadline landscape` at one network: spectrum, gradients, sharpness, slice."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from leadline.evidence import Comparison, Figure, at_least, at_most, close
from leadline.presentation import figure

from .network_at_point import NetworkAtPoint
from .spectrum_survey import spectrum_comparisons, spectrum_figure, survey_spectrum

CONFIDENT = 3.29  # standard errors that a normal error exceeds once in 1000 times
DRAWN = 1000  # rows that the slice and the searches of the worst case look at


def spectrum(key: PRNGKeyArray, here: NetworkAtPoint) -> Iterator[Comparison | Figure]:
    """Outermost eigenvalues, density, Gauss-Newton part, blocks."""
    from leadline import curvature

    data = here.inputs, here.labels
    h = curvature.hessian(here.losses, here.network, *data, batch=here.batch)
    g = curvature.gauss_newton(here.outputs, here.criterion, here.network, *data, batch=here.batch)
    classes = int(np.max(here.labels)) + 1
    largest = h.top(min(2 * classes, h.size), max_steps=400, tolerance=1e-4)
    found = survey_spectrum(h, g, largest, key)
    yield from spectrum_comparisons(found)
    if here.rate is not None:
        yield at_most(float(found.largest[0]), 2 / here.rate, "largest eigenvalue, 2/step: above it descent diverges")
    yield spectrum_figure(found, classes)
    whole, blocks = float(found.largest[0]), h.blocks()
    tops = {name: max(float(block.top(1, tolerance=1e-2).values[0]), 0.0) for name, block in blocks.items()}
    short = {name.replace("layers", "").translate({91: None, 93: None}): value for name, value in tops.items()}
    yield at_most(
        max(tops.values()), whole + float(found.residuals[0]), "largest eigenvalue of a diagonal block", rtol=1e-2
    )
    yield figure.bars(
        "Largest eigenvalue of each array's own block: no block exceeds the whole",
        "array",
        "largest eigenvalue",
        values={"block": short},
        rules={"whole Hessian": ("y", whole)},
    )


def gradients(key: PRNGKeyArray, here: NetworkAtPoint) -> Iterator[Comparison | Figure]:
    """Per-example gradient norms, without the gradients, against traces from products."""
    import jax

    from leadline import curvature

    data = here.inputs, here.labels
    norms = np.asarray(curvature.example_gradient_norms(here.losses, here.network, *data), float)
    keys = jax.random.split(key, 2)
    raw = curvature.empirical_fisher(here.losses, here.network, *data, batch=here.batch).trace(key=keys[0], probes=90)
    centred = curvature.gradient_covariance(here.losses, here.network, *data, batch=here.batch)
    spread = centred.trace(key=keys[1], probes=90)
    mean = float(np.linalg.norm(np.concatenate([np.ravel(leaf) for leaf in _leaves(centred.centre)])))
    yield close(
        float(np.mean(norms**2)),
        float(raw.value),
        "mean squared gradient norm, trace of the empirical Fisher",
        atol=CONFIDENT * float(raw.standard_error),
        rtol=1e-4,
    )
    yield close(
        float(np.mean(norms**2)) - mean**2,
        float(spread.value),
        "less that of their mean, trace of the covariance",
        atol=CONFIDENT * float(spread.standard_error),
        rtol=1e-4,
    )
    yield figure.histogram(
        f"Gradient norms of {len(norms)} examples: median {np.median(norms):.2g}, largest {norms.max():.2g}, "
        f"of the mean {mean:.2g}",
        "log10 of the norm",
        samples={"examples": np.log10(np.maximum(norms, 1e-12))},
        rules={"norm of the mean gradient": ("x", float(np.log10(max(mean, 1e-12))))},
    )


def sharpness(key: PRNGKeyArray, here: NetworkAtPoint) -> Iterator[Comparison | Figure]:
    """Five measures, and what a rescaling of the layers that changes no output does to them."""
    import jax
    import jax.numpy as jnp

    from leadline import curvature, networks

    data = here.inputs[:DRAWN], here.labels[:DRAWN]
    keys = jax.random.split(key, 3)

    def measured(network: PyTree) -> dict[str, float]:
        return {
            "λ_max": curvature.top_sharpness(here.losses, network, *data, tolerance=1e-3),
            "trace": float(curvature.trace_sharpness(here.losses, network, *data, key=keys[0]).value),
            "filters": float(curvature.filter_normalised_sharpness(here.losses, network, *data, key=keys[1]).value),
        }

    plain = measured(here.network)
    ball = curvature.ball_sharpness(here.losses, here.network, *data, radius=0.1, key=keys[2])
    adaptive = curvature.adaptive_sharpness(here.losses, here.network, *data, radius=0.1, key=keys[2])
    near = curvature.ball_sharpness(here.losses, here.network, *data, radius=0.01, key=keys[2])
    yield at_most(near.rise, near.second_order, "worst rise within 0.01, of the quadratic model", rtol=0.1)
    yield at_least(near.rise, near.first_order, "worst rise within 0.01, of the linear model", rtol=0.1)
    scales = (
        isinstance(here.network, networks.MLP) and here.network.activation == "relu" and len(here.network.layers) > 1
    )
    everything = {**plain, "ball": float(ball.rise), "10%": float(adaptive.rise)}
    shown = {"as trained": everything}
    if scales:
        hidden = here.network.widths[1:-1]
        factors = [jnp.full(width, 2.0 if layer == 0 else 1.0) for layer, width in enumerate(hidden)]
        again = measured(networks.rescale_units(here.network, factors))
        yield close(
            again["filters"], plain["filters"], "sharpness by filters, first layer doubled, second halved", rtol=0.05
        )
        shown["layers rescaled, same outputs"] = again
    yield figure.bars(
        "Largest eigenvalue, trace, trace by filters; worst rise in a ball of 0.1 and within 10% of each weight",
        "measure",
        "value",
        values=shown,
        log=True,
    )


def surface(key: PRNGKeyArray, here: NetworkAtPoint) -> Iterator[Comparison | Figure]:
    """A filter-normalised slice beside the extremes of the Hessian."""
    from leadline import curvature
    from leadline.landscape import loss_surface, random_directions, slice_curvatures

    data = here.inputs[:DRAWN], here.labels[:DRAWN]
    first, second = random_directions(here.network, 2, key=key)

    def mean_loss(network: PyTree, x: Array, y: Array) -> Array:
        return here.losses(network, x, y).mean()

    found = loss_surface(mean_loss, here.network, first, second, *data, points=21)
    seen = np.linalg.eigvalsh(slice_curvatures(mean_loss, here.network, [first, second], *data))
    h = curvature.hessian(here.losses, here.network, *data, batch=here.batch)
    ends = h.top(1, which="both", max_steps=300, tolerance=1e-3)
    slack = float(ends.residuals.max())
    yield at_most(float(seen[-1]), float(ends.values[-1]) + slack, "largest curvature that the slice sees")
    yield at_least(float(seen[0]), float(ends.values[0]) - slack, "least curvature that the slice sees")
    yield close(found.centre, float(found.values[10, 10]), "loss at the centre of the slice", rtol=1e-5)
    places = [f"{v:.1f}" for v in found.a]
    yield figure.heatmap(
        f"log10 of the loss; the slice bends from {seen[0]:.2g} to {seen[-1]:.2g}, "
        f"the Hessian from {float(ends.values[0]):.2g} to {float(ends.values[-1]):.2g}",
        "along the first direction",
        "along the second",
        xs=places,
        ys=places[::-1],
        values=np.log10(np.maximum(found.values[::-1], 1e-12)),
        colour="log10 loss",
    )


def _leaves(tree: PyTree) -> list[np.ndarray]:
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
