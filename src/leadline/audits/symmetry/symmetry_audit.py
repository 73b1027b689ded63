"""The symmetry audit: digits at quarter turns, with the symmetry built in, taught by copies, or left out."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, exactly
from leadline.presentation import figure

STEPS = 800  # of Adam, for each network
SIZES = (100, 300, 1297)  # images of the learning curves
ROUTES = ("dense", "plain", "augmented", "p4")
Say = Callable[[str], None]


def quarter_turns(
    key: PRNGKeyArray, say: Say, num_steps: int, routes: tuple[str, ...] = ROUTES
) -> Iterator[Comparison | Figure]:
    """Four networks of about 14 100 weights at 0, 90, 180 and 270 degrees."""
    from leadline.claims.scenarios.convolution.framed_digits import framed_digits
    from leadline.claims.scenarios.convolution.turned_digits import right_at_turns, trained

    *_, test, labels = framed_digits()
    found = {}
    for route in routes:
        say(f"{route} network, {num_steps} steps")
        found[route] = right_at_turns(trained(route, num_steps), test, labels)
    share = {route: counts / len(labels) for route, counts in found.items()}
    yield exactly(found["p4"], found["p4"][0], "p4: right decisions at 0°, 90°, 180°, 270°")
    yield at_least(share["p4"], 0.94, "p4: accuracy at every turn").as_empirical()
    yield at_most(share["plain"][1], 0.25, "plain network: accuracy at 90°").as_empirical()
    mean, other = share["p4"].mean(), share["augmented"].mean()
    yield at_least(mean, other - 0.01, "mean over turns: p4, augmented less a point").as_empirical()
    for route, accuracies in share.items():
        if route != "p4":
            what = f"{route}: spread of accuracy over turns"
            yield at_least(np.ptp(accuracies), 0.0, what, strict=True).as_empirical()
    yield figure.curves(
        f"p4 {share['p4'][0]:.3f} at every turn; plain {share['plain'][1]:.2f} at 90°; augmented {other:.3f}",
        "turn (degrees)",
        "accuracy on 500 test digits",
        points={route: ([0, 90, 180, 270], s) for route, s in share.items()},
    )


def layer_by_layer(key: PRNGKeyArray, say: Say, num_steps: int) -> Iterator[Comparison | Figure]:
    """Where the plain network loses the symmetry and the p4 network keeps it, in single precision."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from leadline import convolution
    from leadline.claims.scenarios.convolution.framed_digits import framed_digits
    from leadline.claims.scenarios.convolution.turned_digits import trained

    say("defects of every layer")
    _, _, test, _ = framed_digits()
    names = ("convolution 1", "convolution 2", "convolution 3", "scores")
    turns = convolution.quarter_turns()[1:]
    measured = {}
    for route, group in (("p4", "p4"), ("plain", "p1")):
        net = trained(route, num_steps)
        stages: Any = eqx.filter_jit(lambda x, net=net: dict(zip(names, jax.vmap(net.stages)(x), strict=True)))

        def turned(maps: Any, k: int, group: Any = group) -> Any:
            one = convolution.turn_maps if group == "p4" else lambda _, m, k: convolution.turn_planes(m, k)
            return jax.vmap(lambda m: one(group, m, k))(jnp.asarray(maps))

        actions = [lambda maps, k=k, turned=turned: turned(maps, k) for k in (1, 2, 3)]
        found = convolution.layer_defects(stages, test[:100], turns, actions, tolerance=1e-4)
        measured[route] = dict(zip(names, [*found.equivariance[:3].max(1), found.invariance[3].max()], strict=True))
    eps = float(np.finfo(np.float32).eps)
    room = 3 * 24 * eps  # three sums of up to 576 terms, whose rounding grows as the root of their number
    yield at_most(list(measured["p4"].values()), room, "p4, trained: largest relative defect of a layer, in float32")
    plain = list(measured["plain"].values())
    yield at_least(plain, 0.1, "plain, trained: least relative defect of a layer").as_empirical()
    yield figure.categories(
        "The plain network loses quarter turns in its first layer; the p4 network in none",
        "layer",
        "relative defect under quarter turns",
        lines={"rounding of float32": dict.fromkeys(names, eps)},
        points=measured,
        log=True,
    )


def few_images(key: PRNGKeyArray, say: Say, num_steps: int, sizes: tuple[int, ...]) -> Iterator[Comparison | Figure]:
    """Accuracy over the four turns against the number of training images."""
    from leadline.claims.scenarios.convolution.framed_digits import framed_digits
    from leadline.claims.scenarios.convolution.turned_digits import right_at_turns, trained

    *_, test, labels = framed_digits()
    curves: dict[str, list[float]] = {"plain": [], "augmented": [], "p4": []}
    for n in sizes:
        for route, means in curves.items():
            say(f"{route} network on {n} images")
            steps = num_steps if n == max(sizes) else num_steps // 2
            counts = right_at_turns(trained(route, steps, images=n), test, labels)
            means.append(float(counts.mean() / len(labels)))
    yield at_least(curves["p4"], curves["plain"], "mean accuracy over turns at each size: p4, plain").as_empirical()
    name = f"mean accuracy over turns with {sizes[0]} images: p4, augmented less 3 points"
    yield at_least(curves["p4"][0], curves["augmented"][0] - 0.03, name).as_empirical()
    yield figure.curves(
        "Built in, the symmetry is there from the first image",
        "training images",
        "mean accuracy over four turns",
        points={route: (sizes, means) for route, means in curves.items()},
        log="x",
    )


def any_angle(key: PRNGKeyArray, say: Say, num_steps: int) -> Iterator[Comparison | Figure]:
    """Digits rotated by any angle, to learn and to test: what the quarter turns alone are worth."""
    from leadline.claims.scenarios.convolution.rotated_digits import rotated_digits, trained_on_rotations
    from leadline.claims.scenarios.convolution.turned_digits import scores

    *_, test, labels = rotated_digits()
    errors = {}
    for route in ("plain", "p4"):
        say(f"{route} network on digits at all angles, {num_steps} steps")
        decided = np.asarray(scores(trained_on_rotations(route, num_steps), test)).argmax(1)
        errors[route] = float(np.mean(decided != labels))
    ratio = errors["p4"] / errors["plain"]
    yield at_most(ratio, 0.65, "digits at any angle: error of the p4 network over the plain network's").as_empirical()
    title = f"At any angle p4 errs {ratio:.2f} times as often as a plain network of its size"
    yield figure.bars(title, "network", "error on 500 rotated digits", values={"error": errors})


def symmetry_trials(
    *, say: Say = lambda text: None, num_steps: int = STEPS, sizes: tuple[int, ...] = SIZES
) -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    yield (
        "quarter-turns",
        "Trained on upright digits, a p4 network has one accuracy at all quarter turns; a plain one falls to chance.",
        lambda key: quarter_turns(key, say, num_steps),
    )
    yield (
        "layer-by-layer",
        "The p4 network commutes with quarter turns at every layer up to rounding, after training as before.",
        lambda key: layer_by_layer(key, say, num_steps),
    )
    yield (
        "few-images",
        "With the symmetry built in, few images teach all turns.",
        lambda key: few_images(key, say, num_steps, sizes),
    )
    yield (
        "any-angle",
        "On digits at all angles, seen in training too, the p4 network errs less than a plain one of its size.",
        lambda key: any_angle(key, say, num_steps),
    )
