"""The loss surface around a trained network: curvature, slices, sharpness, and ways to a second network."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from jaxtyping import PyTree

from leadline.evidence import Finding, run_entry
from leadline.evidence.registry import Entry

from .connection_trial import connection
from .curvature_trials import gradients, sharpness, spectrum, surface
from .network_at_point import NetworkAtPoint
from .trial import trial


def landscape_report(
    here: NetworkAtPoint, other: PyTree | None = None, *, seed: int = 0, command: str = ""
) -> Iterator[tuple[Entry, Finding]]:
    """What the loss surface looks like around a network, and, with a second one, what lies between them.

    Every trial yields what theory says of the numbers beside the numbers: bounds between the Hessian and its
    Gauss-Newton part, identities between traces and gradient norms, what a slice can and cannot show.
    """
    trials: list[tuple[str, str, Callable]] = [
        (
            "spectrum",
            "The Hessian of the loss: its outermost eigenvalues, its density, its part without the "
            "curvature of the network (Gauss-Newton), layer by layer.",
            spectrum,
        ),
        (
            "gradients",
            "Gradients of single examples: their norms, their covariance, and the trace that both must have.",
            gradients,
        ),
        (
            "sharpness",
            "How sharp the minimum is by five measures, of which three depend on the scale of the layers.",
            sharpness,
        ),
        (
            "surface",
            "A slice through the loss along two random directions with normalised filters; its curvature lies "
            "between the extremes of the whole Hessian.",
            surface,
        ),
    ]
    if other is not None:
        trials.append(
            (
                "connection",
                "The loss on the way to the other network: straight, after its units are matched, along a "
                "trained curve.",
                lambda key, here: connection(key, here, other),
            )
        )
    for name, statement, run in trials:
        entry = trial(name, statement, partial(run, here=here), chapter="landscape", empirical=True)
        yield entry, replace(run_entry(entry, seed=seed), asked=command)
