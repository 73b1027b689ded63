"""The path audit: two ReLU networks on the digits joined by a construction, by a line and by a trained curve."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, close
from leadline.presentation import figure

WIDTHS = (32, 64, 128, 256, 512)
DIMS = (2, 4, 8)
STEPS = 600  # of Adam, for each network and each curve
PAIRS = 2


class Joined(NamedTuple):
    """What was found between pairs of networks of one width on one number of components; one value a pair."""

    constructed: np.ndarray  #: barriers of the seven segments
    line: np.ndarray
    curve: np.ndarray
    radius: np.ndarray  #: the larger covering radius of the two
    excess: np.ndarray  #: on the two outer segments (pairs, 2)
    bound: np.ndarray  #: of each
    constancy: np.ndarray  #: largest change of the loss where the function does not change
    convexity: np.ndarray  #: least second difference on the middle segment
    losses: np.ndarray  #: along the seven segments, of the first pair (7, points)


def join_pairs(
    dim: int, width: int, loss: str, rng: np.random.Generator, *, pairs: int = PAIRS, num_steps: int = STEPS
) -> Joined:
    """Train `pairs` pairs on `dim` principal components of the 1797 digits and join each in three ways."""
    import jax

    from leadline import landscape
    from leadline.claims.scenarios.landscape.digit_components import digit_components, linear_barrier, trained_pair
    from leadline.landscape.two_layer_fits import RISKS, falling_adam, softmax_loss, squared_loss

    x, labels = digit_components(dim)
    targets = np.eye(10)[labels]

    def criterion(f):
        return squared_loss(f, targets) if loss == "squared" else softmax_loss(f, labels)

    rows, outer, bounds, profiles = [], [], [], []
    for _ in range(pairs):
        a, b = trained_pair(rng, dim, width, loss=loss, num_steps=num_steps)
        path = landscape.almost_convex_path(a, b)
        losses = path.losses(criterion, x, points=7)
        ends = losses[0, 0], losses[-1, -1]
        profiles.append(losses)
        options = {"draws": 1, "batch": 64, "optimiser": falling_adam(0.01, num_steps), "num_steps": num_steps}
        key = jax.random.key(int(rng.integers(2**31)))
        curve = landscape.train_curve(RISKS[loss], a, b, x, labels, key=key, **options).curve
        outer.append((losses[0].max() - ends[0], losses[-1].max() - ends[1]))
        bounds.append(
            [
                landscape.squared_outer_bound(end, delta) - end
                if loss == "squared"
                else landscape.lipschitz_outer_bound(2**0.5, delta)
                for end, delta in zip(ends, path.output_bounds(x), strict=True)
            ]
        )
        rows.append(
            (
                losses.max() - max(ends),
                linear_barrier(loss, a, b, dim),
                landscape.path_profile(RISKS[loss], curve, x, labels, points=11).barrier,
                max(path.covering_a.radius, path.covering_b.radius),
                max(np.ptp(losses[1:3]), np.ptp(losses[4:6])),
                float(np.diff(losses[3], 2).min()),
            )
        )
    constructed, line, curve, radius, constancy, convexity = np.array(rows).T
    return Joined(
        constructed, line, curve, radius, np.array(outer), np.array(bounds), constancy, convexity, profiles[0]
    )


def components(
    dim: int,
    key: PRNGKeyArray,
    *,
    loss: str = "squared",
    widths: tuple[int, ...] = WIDTHS,
    pairs: int = PAIRS,
    num_steps: int = STEPS,
) -> Iterator[Comparison | Figure]:
    """All widths on one number of components: theorems at every width, findings at the largest."""
    from leadline import data

    rng = data.generator(key)
    found = {n: join_pairs(dim, n, loss, rng, pairs=pairs, num_steps=num_steps) for n in widths}
    for n, joined in found.items():
        yield at_most(joined.excess, joined.bound, f"n = {n}: excess on an outer segment, bound")
        yield close(joined.constancy, 0.0, f"n = {n}: change of the loss on segments 2, 3, 5, 6", atol=1e-9)
        yield at_least(joined.convexity, 0.0, f"n = {n}: second differences on segment 4", atol=1e-12)
    last = found[widths[-1]]
    constructed, line, curve, radius = (float(v.mean()) for v in (last.constructed, last.line, last.curve, last.radius))
    yield from _verdict(dim, loss, widths[-1], last)
    means = {
        name: [float(getattr(j, name).mean()) for j in found.values()]
        for name in ("constructed", "line", "curve", "bound")
    }
    places = (np.arange(7)[:, None] + np.linspace(0, 1, last.losses.shape[1])).ravel()
    yield figure.beside(
        f"d = {dim}, n = {widths[-1]}: barrier {constructed:.2g} constructed, {line:.2g} on the line, "
        f"{curve:.2g} on the Bézier curve; ε = {radius:.2g}",
        figure.curves(
            f"Barriers of the {_NAMES[loss]} between {pairs} pairs, means",
            "width n",
            "barrier, bound",
            log="xy",
            lines={"bound of the excess": (widths, means["bound"])},
            points={
                name: (widths, np.maximum(means[which], 1e-5))
                for name, which in (("constructed", "constructed"), ("line", "line"), ("Bézier curve", "curve"))
            },
        ),
        figure.curves(
            f"The seven segments at n = {widths[0]} and n = {widths[-1]}",
            "segment",
            _NAMES[loss],
            points={f"n = {n}": (places, found[n].losses.ravel()) for n in (widths[0], widths[-1])},
        ),
    )


_NAMES = {"squared": "squared loss", "softmax": "cross-entropy"}


def _verdict(dim: int, loss: str, n: int, last: Joined) -> Iterator[Comparison | Figure]:
    ratio = float(last.constructed.mean() / last.line.mean())
    yield at_most(
        last.curve.mean(), 0.5 * last.line.mean(), f"n = {n}: mean barrier on the Bézier curve, half of the line's"
    )
    if loss == "softmax":
        yield at_most(ratio, 0.5, f"n = {n}: constructed over linear barrier: with this loss it still helps")
    elif dim == 2:
        yield at_most(last.constructed, 0.01, f"n = {n}: constructed barrier, each pair", strict=True)
        yield at_least(last.line, 0.2, f"n = {n}: barrier on the line, each pair", strict=True)
    elif dim == 8:
        yield at_least(ratio, 0.5, f"n = {n}: constructed over linear barrier: it does not help")
        yield at_least(last.constructed, 0.2, f"n = {n}: constructed barrier, each pair")
    else:
        yield at_most(ratio, 0.6, f"n = {n}: constructed over linear barrier: it helps, but is not flat")
        yield at_least(last.constructed, 0.01, f"n = {n}: constructed barrier, each pair")


def path_trials(
    widths: tuple[int, ...] = WIDTHS, *, pairs: int = PAIRS, num_steps: int = STEPS
) -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    sayings = {
        2: "Through 2 components the constructed path is flat at width 512, where the line has a high barrier.",
        4: "Through 4 components the constructed path helps, but its barrier is still seen at width 512.",
        8: "Through 8 components the constructed path does not help: random rows cover the sphere too slowly.",
    }
    for dim in DIMS:
        yield (
            f"components-{dim}",
            sayings[dim],
            lambda key, d=dim: components(d, key, widths=widths, pairs=pairs, num_steps=num_steps),
        )
    yield (
        "cross-entropy",
        "With the cross-entropy in place of the squared loss the same construction helps through 8 components too.",
        lambda key: components(8, key, loss="softmax", widths=widths, pairs=pairs, num_steps=num_steps),
    )
