"""Trials of the tangent kernel: alignment with the labels, training curves that it predicts, drift, the regime."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.tangent.averaged_kernels import AveragedKernels
from leadline.tangent.dynamics.descent_curves import DescentCurves
from leadline.tangent.dynamics.regimes import Regime

from ..instrument_contract import NotApplicable
from ..subject import Subject
from ..subject_making import TwoScores

KERNEL = 800  # rows of the full kernel, examples times outputs
FLOPS = 4e10  # work of the trial runs, forward passes counted six times a step
SHUFFLES = 999  # of the labels: the largest of them is exceeded by chance once in 1000


def kernel_targets(subject: Subject) -> Float[np.ndarray, "n k"]:
    """One-hot labels, ±1 for a classifier with a single output, real targets as they are."""
    y = subject.sample.targets
    if not (subject.classifies and y.ndim == 1):
        return np.asarray(y, float).reshape(len(y), -1)
    if isinstance(subject.apply, TwoScores):
        return 2.0 * y[:, None] - 1.0
    if subject.outputs == 1 or y.max() >= subject.outputs:
        return np.asarray(y, float)[:, None]
    return np.eye(subject.outputs)[y]


class Alignments(NamedTuple):
    """Of the kernel `now`, the largest of shuffled labels (`chance`), `before` training, and the interval of the
    `gain` over rows; None where labels or kernel do not vary, or the start is not known."""

    now: float | None = None
    chance: float | None = None
    before: float | None = None
    gain: tuple[float, float] | None = None


class TrainingDrift(NamedTuple):
    """Kernel and function after training against the start, and the regime; see `instruments.tangent.Measured`."""

    basis: str
    regime: str | None
    sure: float | None
    kernel_drift: float | None = None
    kernel_drift_interval: tuple[float, float] | None = None
    kernel_cosine: float | None = None
    kernel_cosine_centred: float | None = None
    linearisation_error: float | None = None
    linearisation_interval: tuple[float, float] | None = None


def label_alignments(kernels: AveragedKernels, y: np.ndarray, key: PRNGKeyArray) -> Alignments:
    """The alignments with the labels."""
    from leadline.kernels.features import alignment

    try:
        now = alignment(kernels.here, y, centred=True)
        before = None if kernels.start is None else alignment(kernels.start, y, centred=True)
    except ValueError:
        return Alignments()
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    n = len(y)
    centred = y - y.mean(axis=0)
    labels, K = centred @ centred.T, _centred(kernels.here)
    size = float(np.linalg.norm(labels) * np.linalg.norm(K))
    orders = (rng.permutation(n) for _ in range(SHUFFLES))
    chance = max(float(np.sum(K * labels[np.ix_(o, o)])) for o in orders) / size
    if kernels.start is None or before is None:
        return Alignments(now, chance)
    gains = []
    for _ in range(60):
        some = rng.integers(n, size=n)
        try:
            both = (kernels.here, kernels.start)
            pair = [alignment(each[np.ix_(some, some)], y[some], centred=True) for each in both]
        except ValueError:
            continue
        gains.append(pair[0] - pair[1])
    spread = 3.29 * float(np.std(gains)) if gains else np.inf
    return Alignments(now, chance, before, (now - before - spread, now - before + spread))


def descent_trial(subject: Subject, f: Any, targets: np.ndarray, parts: list[NotApplicable]) -> DescentCurves | None:
    """The three curves from the start, or from here; None where they would be too large, which `parts` tells."""
    from leadline import tangent

    outputs, x = targets.shape[1], subject.sample.inputs
    rows = min(len(x), max(KERNEL // outputs, 20), 200)
    seconds = outputs * subject.budget.costs.gradient
    rows = subject.budget.rows("tangent", seconds, rows, part=0.3, least=20, what="training curves' rows")
    if rows * outputs > 2 * KERNEL:
        parts.append(
            NotApplicable("training curve of the linearised network", f"outputs are at most {2 * KERNEL // 20}")
        )
        return None
    if outputs != _width(subject):
        parts.append(NotApplicable("training curve of the linearised network", "there is a target for every output"))
        return None
    params = subject.params if subject.past.start is None else subject.past.start
    params = jax.tree.map(jax.numpy.asarray, params)
    K = tangent.empirical_ntk(f.function, params, x[:rows], budget=subject.budget.kernel_room)
    work = rows * max(float(subject.shared.dissection.flops), 2.0 * subject.size)
    steps = 20 * int(np.clip(FLOPS / (6 * work) / 20, 1, 10))
    return tangent.descent_three_ways(f, params, x[:rows], targets[:rows], K, num_steps=steps)


def _width(subject: Subject) -> int:
    return 1 if isinstance(subject.apply, TwoScores) else subject.outputs


def trial_regime(trial: DescentCurves | None, key: PRNGKeyArray) -> Regime | None:
    """How far the network leaves its linearisation in a trial; None where there is none, or it does not move."""
    from leadline import tangent

    if trial is None:
        return None
    here, way = trial.distances()
    return tangent.judge_regime(here, way, key=key) if way.sum() > 0 else None


def training_drift(
    subject: Subject,
    f: Any,
    kernels: AveragedKernels,
    moved: float | None,
    apart: Regime | None,
    key: PRNGKeyArray,
    parts: list[NotApplicable],
) -> TrainingDrift:
    """Kernel and function after training against the start; the regime, from that or from the trial."""
    from leadline import tangent
    from leadline.tangent.dynamics.regimes import linear_move

    if not moved or kernels.start is None:
        why = "the parameters before training are known" if moved is None else "training moved the parameters"
        parts.append(NotApplicable("drift of the tangent kernel", why))
        if apart is None:
            return TrainingDrift("nothing", None, None)
        return TrainingDrift("a trial run from the present parameters", apart.verdict, apart.share)
    here, way = linear_move(f, subject.past.start, subject.params, subject.sample.inputs[: kernels.rows])
    judged = tangent.judge_regime(here, way, (kernels.start, kernels.here), key=key)
    return TrainingDrift(
        "its training",
        judged.verdict,
        judged.share,
        judged.drift,
        judged.drift_interval,
        _cosine(kernels.here, kernels.start),
        _cosine(_centred(kernels.here), _centred(kernels.start)),
        judged.error,
        judged.error_interval,
    )


def _centred(K: np.ndarray) -> np.ndarray:
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def _cosine(a: np.ndarray, b: np.ndarray) -> float | None:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.sum(a * b)) / size if size > 0 else None


def is_linear(subject: Subject, drift: TrainingDrift, apart: Regime | None) -> bool:
    """Whether the outputs are linear in the parameters, up to rounding."""
    rounding = 1e3 * float(np.finfo(subject.dtype).eps)
    gaps = [drift.kernel_drift, drift.linearisation_error, None if apart is None else apart.error]
    known = [gap for gap in gaps if gap is not None]
    return bool(known) and max(known) <= rounding
