"""The memory audit: digits as 64 pixels, seven kinds of cells; how far back each sees, and what it is worth."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most
from leadline.presentation import figure

EPOCHS = 60
ROWS = 48  # test digits whose gradients are followed
FOLLOWED = 6  # of them, whose products of Jacobians are formed
Say = Callable[[str], None]
KINDS = ("logistic", "tanh", "ReLU", "GRU", "LSTM", "minGRU", "LRU")


def _networks(say: Say, epochs: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    from leadline.claims.scenarios.sequences.pixel_digits import trained

    found = {}
    for kind in kinds:
        say(f"{kind} network, {epochs} epochs")
        found[kind] = trained(kind, epochs)
    return found


def accuracies(key: PRNGKeyArray, say: Say, epochs: int, kinds: tuple[str, ...]) -> Iterator[Comparison | Figure]:
    """How often each network is right on the digits that it did not see."""
    import equinox as eqx
    import jax

    from leadline.claims.scenarios.sequences.pixel_digits import pixel_digits

    *_, test, labels = pixel_digits()
    scored = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    nets = _networks(say, epochs, kinds)
    share = {k: float(np.mean(np.asarray(scored(net, test)).argmax(1) == labels)) for k, net in nets.items()}
    for kind, bound in {"LRU": 0.96, "ReLU": 0.93}.items():
        if kind in share:
            yield at_least(share[kind], bound, f"{kind}: accuracy on 64 pixels").as_empirical()
    if "logistic" in share:
        yield at_most(share["logistic"], 0.7, "logistic units: accuracy on 64 pixels").as_empirical()
    gated = [share[kind] for kind in ("GRU", "LSTM") if kind in share]
    if gated and "logistic" in share:
        what = "GRU and LSTM: the lower accuracy, against that of logistic units"
        yield at_least(min(gated), share["logistic"], what).as_empirical()
    yield figure.categories(
        "Accuracy on digits read pixel by pixel: " + ", ".join(f"{k} {v:.3f}" for k, v in share.items()),
        "cell",
        "test accuracy",
        points={"accuracy": share},
    )


def horizons(key: PRNGKeyArray, say: Say, epochs: int, kinds: tuple[str, ...]) -> Iterator[Comparison | Figure]:
    """Gradient and influence against the lag in pixels, and the norm of the Jacobian from pixel 14 to pixel 64."""
    import jax.numpy as jnp

    from leadline import learning, sequences
    from leadline.claims.scenarios.sequences.pixel_digits import pixel_digits

    *_, test, labels = pixel_digits()
    rows, lag = jnp.asarray(test[:ROWS, :, None]), 50
    nets = _networks(lambda text: None, epochs, kinds)
    curves, seen, norms, told = {}, {}, {}, {}
    for kind, net in nets.items():
        say(f"{kind}: gradients and influence against the lag")
        moved = sequences.gradient_transport(net, rows, labels[:ROWS], learning.cross_entropy)
        curves[kind] = np.median(moved - moved[:, :1], axis=0)
        with np.errstate(divide="ignore"):
            influence = np.log(sequences.influence(_applied, net, rows))
        seen[kind] = np.median(influence, axis=0) - np.median(influence, axis=0)[1]
        products = [sequences.jacobian_product_norms(net.update, net.init(), x, (lag,))[0] for x in rows[:FOLLOWED]]
        norms[kind] = float(np.median(products))
        told[kind] = sequences.horizon(np.exp(curves[kind] - curves[kind][1]))
    if {"logistic", "ReLU"} <= set(norms):
        ratio = norms["logistic"] - norms["ReLU"]
        what = "log norm of the Jacobian over 50 pixels: logistic less ReLU, against log 1/100"
        yield at_most(ratio, -np.log(100.0), what).as_empirical()
    lags = np.arange(65)
    yield figure.beside(
        "Steps back at half of the gradient: " + ", ".join(f"{k} {v}" for k, v in told.items()),
        figure.curves(
            "gradient of the loss",
            "pixels back",
            "log, relative to the last state",
            points={k: (lags, v) for k, v in curves.items()},
        ),
        figure.curves(
            "influence on the scores",
            "pixels back",
            "log, relative to lag 1",
            points={k: (lags[:64], v) for k, v in seen.items()},
        ),
    )
    names = {k: float(np.exp(v)) for k, v in norms.items()}
    title = "Norm of the Jacobian from pixel 14 to pixel 64: " + ", ".join(f"{k} {v:.2g}" for k, v in names.items())
    yield figure.categories(title, "cell", f"median norm over {FOLLOWED} digits", points={"norm": names}, log=True)


def gates(key: PRNGKeyArray, say: Say, epochs: int, kinds: tuple[str, ...]) -> Iterator[Comparison | Figure]:
    """What the gates of trained networks do over the 64 pixels, and how much of a digit is needed."""
    import jax.numpy as jnp

    from leadline import sequences
    from leadline.claims.scenarios.sequences.pixel_digits import pixel_digits

    *_, test, labels = pixel_digits()
    rows = jnp.asarray(test[:ROWS, :, None])
    lengths = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)
    shares, context = {}, {}
    for kind, net in _networks(lambda text: None, epochs, kinds).items():
        say(f"{kind}: gates, and the last k pixels alone")
        for unit in sequences.unit_values(net.update, net.init(), rows):
            shares[f"{kind}, {unit.name}"] = sequences.saturation(unit.values, unit.kind).share
        context[kind] = sequences.context_accuracy(_applied, net, test[:, :, None], labels, lengths, key=key)
    for kind, found in context.items():
        what = f"{kind}: accuracy with the last 8 pixels alone, less that with all"
        yield at_most(found[3] - found[-1], 0.0, what).as_empirical()
    yield figure.curves(
        "How many pixels at the end of a digit each network needs",
        "own pixels at the end",
        "accuracy",
        points={kind: (lengths, found) for kind, found in context.items()},
        rules={"chance": ("y", 0.1)},
    )
    if shares:
        worst = max(shares, key=lambda name: float(shares[name].mean()))
        yield figure.curves(
            f"Saturated most: {worst}, {shares[worst].mean():.0%} of its values",
            "pixel",
            "share of saturated units",
            points={name: (np.arange(1, 65), share) for name, share in shares.items()},
        )


def one_recurrence_two_ways(
    key: PRNGKeyArray, say: Say, epochs: int, kinds: tuple[str, ...]
) -> Iterator[Comparison | Figure]:
    """A trained LRU by a parallel scan and step by step: the same scores in single precision."""
    import jax

    from leadline import sequences
    from leadline.claims.scenarios.sequences.pixel_digits import pixel_digits

    *_, test, _ = pixel_digits()
    net = _networks(say, epochs, ("LRU",))["LRU"]
    rows = test[:ROWS, :, None]

    def by_steps(x: Any) -> Any:
        state, _ = jax.lax.scan(lambda z, x: (net.update(z, x), None), net.init(), x)
        return net.predict(state)

    scan = np.asarray(jax.vmap(sequences.computed_by(net, "scan"))(rows), np.float64)
    loop = np.asarray(jax.vmap(by_steps)(rows), np.float64)
    gap = np.abs(scan - loop)
    yield at_most(gap / np.abs(loop).max(), 1e-4, "trained LRU: scores by scan and by steps, relative difference")
    yield figure.histogram(
        f"Scores by scan and by steps differ by {gap.max():.1e} at most",
        "log10 of the difference of two scores",
        samples={"differences": np.log10(np.maximum(gap.ravel(), 1e-12))},
    )


def _applied(net: Any, x: Any) -> Any:
    import jax

    return jax.vmap(net)(x)


def memory_trials(
    *, say: Say = lambda text: None, epochs: int = EPOCHS, kinds: tuple[str, ...] = KINDS
) -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    yield (
        "pixel-digits",
        "Read pixel by pixel, digits are learned by linear recurrent, gated and ReLU cells; logistic ones fail.",
        lambda key: accuracies(key, say, epochs, kinds),
    )
    yield (
        "horizons",
        "What a network does not learn, its gradients did not carry: they vanish soonest through logistic units.",
        lambda key: horizons(key, say, epochs, kinds),
    )
    yield (
        "gates-and-context",
        "Gates say what is kept; accuracy with the last pixels alone says what is used.",
        lambda key: gates(key, say, epochs, kinds),
    )
    yield (
        "two-ways",
        "A trained linear recurrence gives the same scores by a parallel scan and step by step.",
        lambda key: one_recurrence_two_ways(key, say, epochs, kinds),
    )
