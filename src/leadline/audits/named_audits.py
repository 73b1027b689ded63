"""The audits: whole subjects put to the test on real data, one trial after the other."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from leadline.evidence import Finding, run_entry
from leadline.evidence.registry import Entry

from .atlas_audit import atlas_trials
from .noise_audit import image_trials, noise_trials
from .path_audit import path_trials
from .rate_audit import rate_trials
from .regularisation.double_descent import double_descent_trials
from .regularisation.regularisers import regulariser_trials
from .sequences.kalman_floor import kalman_floor_trials
from .sequences.memory_audit import memory_trials
from .sloppiness_audit import sloppiness_trials
from .symmetry.symmetry_audit import symmetry_trials
from .trial import trial

Trials = Callable[..., Iterator[tuple[str, str, Any]]]
AUDITS: dict[str, Trials] = {
    "rates": rate_trials,
    "noise": noise_trials,
    "image-noise": image_trials,
    "atlas": atlas_trials,
    "image-atlas": partial(atlas_trials, "fashion-mnist"),
    "paths": path_trials,
    "sloppiness": sloppiness_trials,
    "double-descent": double_descent_trials,
    "regularisers": regulariser_trials,
    "symmetry": symmetry_trials,
    "kalman-floor": kalman_floor_trials,
    "memory": memory_trials,
}
LONG = (
    "regularisers",
    "symmetry",
    "kalman-floor",
    "memory",
)  # audits whose trials take minutes, and say meanwhile what they do


def audit(
    name: str, *, seed: int = 0, say: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[Entry, Finding]]:
    """Run the audit of that name: for each trial what it says and what was found.

    "rates": certified constants of softmax regression on the digits predict the steps of five optimisers. "noise": the
    covariance of its gradients predicts where SGD settles; "image-noise": the same on 10 000 images of Fashion-MNIST.
    "atlas": the critical points of a linear autoencoder and descent's way past them; "image-atlas": on Fashion-MNIST.
    "paths": constructed and trained paths between networks. "sloppiness": the Fisher spectrum of a network on digits.
    "double-descent": random features of the digits through p = n, and the ridge that removes the peak. "regularisers":
    a network on digits with wrong labels, with every common regulariser. "symmetry": digits at quarter turns, with the
    symmetry built in, taught by turned copies, or left out. "kalman-floor": trained recurrent networks against the
    least error there is, that of the Kalman filter. "memory": seven kinds of recurrent cells on digits read pixel by
    pixel. Long trials tell `say` what they are at.
    """
    import jax

    with jax.enable_x64(True):
        for id, says, run in AUDITS[name](**({"say": say} if name in LONG else {})):
            entry = trial(id, says, run, chapter=f"audit-{name}", sources=("penn",))
            yield entry, replace(run_entry(entry, seed=seed), asked=f"leadline audit {name} --seed {seed}")
