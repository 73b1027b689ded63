"""Tangent: the kernel of parameter gradients, what it predicts of training, and whether training stayed near it."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, frequency
from leadline.presentation import figure
from leadline.tangent.dynamics.descent_curves import DescentCurves

from ..instrument_contract import Instrument, Meaning, NotApplicable, plainly
from ..measurements.tangent_trials import (
    descent_trial,
    is_linear,
    kernel_targets,
    label_alignments,
    training_drift,
    trial_regime,
)
from ..measurements.wide_twin import TESTED, WideTwin, wide_twin
from ..subject import Subject
from ..subject_making import TwoScores

SAME_SHAPE = 0.95  # cosine of centred kernels from which a change is told as growth


class Curves(NamedTuple):
    """The squared loss per row over time: predicted by the kernel, of the linearised network, of the network."""

    times: Float[np.ndarray, " t"]
    predicted: Float[np.ndarray, " t"]
    linearised: Float[np.ndarray, " t"]
    network: Float[np.ndarray, " t"]


class Measured(NamedTuple):
    """What the tangent kernel is and predicts.

    `eigenvalues` (descending) of the kernel K̄ averaged over outputs on `rows` rows, before training too; `rank` counts
    those above rounding and `condition` is the ratio of the extreme ones among these. `alignment` is the centred
    alignment of K̄ with the labels, now and before training; `alignment_chance` the largest of 999 shuffles of the
    labels; `alignment_gain` an interval for the difference.
    Trial: gradient descent on the squared loss from the start (`from_start`) or from the present parameters on
    `trial_rows` rows with step 1/λ_max; losses at `times` predicted by the kernel's eigenvalues, of the linearised
    network (the same but for rounding), of the network itself; `trial_distance` is how far the network's outputs leave
    the linearised ones, relative to their way, with its interval over rows.
    Training as it was: ‖w − w₀‖/‖w₀‖, ‖K − K₀‖/‖K₀‖ and cos(K, K₀) of the kernel (also centred: what
    remains without the mean row), ‖f − f_lin‖/‖f_lin − f₀‖ of the outputs.
    `regime` with the share of resampled rows that agree (`sure`), judged from `basis`. `twin`: see `WideTwin`.
    """

    rows: int
    eigenvalues: Float[np.ndarray, " n"]
    eigenvalues_start: Float[np.ndarray, " n"] | None
    rank: int
    condition: float
    alignment: float | None
    alignment_chance: float | None
    alignment_start: float | None
    alignment_gain: tuple[float, float] | None
    linear: bool
    from_start: bool
    trial_rows: int | None
    step: float | None
    times: Float[np.ndarray, " t"] | None
    loss_predicted: Float[np.ndarray, " t"] | None
    loss_linearised: Float[np.ndarray, " t"] | None
    loss_network: Float[np.ndarray, " t"] | None
    trial_distance: float | None
    trial_interval: tuple[float, float] | None
    weight_move: float | None
    kernel_drift: float | None
    kernel_drift_interval: tuple[float, float] | None
    kernel_cosine: float | None
    kernel_cosine_centred: float | None
    linearisation_error: float | None
    linearisation_interval: tuple[float, float] | None
    regime: str | None
    sure: float | None
    basis: str
    twin: WideTwin | None
    parts: tuple[NotApplicable, ...]

    @property
    def curves(self) -> Curves | None:
        """The curves of the trial; None where there was none."""
        if self.times is None or self.loss_predicted is None:
            return None
        if self.loss_linearised is None or self.loss_network is None:
            return None
        return Curves(self.times, self.loss_predicted, self.loss_linearised, self.loss_network)


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Kernel, alignment, trial runs, drift, infinitely wide twin."""
    from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

    kernels, parts = subject.shared.tangent_kernel, []
    apply = subject.apply.apply if isinstance(subject.apply, TwoScores) else subject.apply
    f = CanonicalConvolutions(apply)
    targets = kernel_targets(subject)
    rows, keys = kernels.rows, jax.random.split(key, 5)
    values = np.linalg.eigvalsh(kernels.here)[::-1]
    floor = rows * float(np.finfo(subject.dtype).eps) * max(values[0], 0.0)
    rank = int(np.sum(values > floor))
    aligned = label_alignments(kernels, targets[:rows], keys[0])
    if aligned.now is None:
        parts.append(NotApplicable("alignment with the labels", "labels and kernel vary among the rows"))
    start, moved = subject.past.start, None
    if start is not None:
        pairs = zip(jax.tree.leaves(start), jax.tree.leaves(subject.params), strict=True)
        squares = [(np.sum((np.asarray(b) - a) ** 2), np.sum(np.asarray(a) ** 2)) for a, b in pairs]
        moved = float(np.sqrt(sum(s for s, _ in squares) / max(sum(s for _, s in squares), np.finfo(float).tiny)))
    trial = descent_trial(subject, f, targets, parts)
    apart = trial_regime(trial, keys[1])
    drift = training_drift(subject, f, kernels, moved, apart, keys[2], parts)
    twin = wide_twin(subject, apply, kernels.start, targets, keys[3])
    if isinstance(twin, NotApplicable):
        parts.append(twin)
        twin = None
    curves = None if trial is None else _curves(trial, targets)
    return Measured(
        rows=rows,
        eigenvalues=values,
        eigenvalues_start=None if kernels.start is None else np.linalg.eigvalsh(kernels.start)[::-1],
        rank=rank,
        condition=float(values[0] / values[rank - 1]) if rank else float("inf"),
        alignment=aligned.now,
        alignment_chance=aligned.chance,
        alignment_start=aligned.before,
        alignment_gain=aligned.gain,
        linear=is_linear(subject, drift, apart),
        from_start=start is not None,
        trial_rows=None if trial is None else trial.predicted.shape[1],
        step=None if trial is None else trial.step,
        times=None if curves is None else curves.times,
        loss_predicted=None if curves is None else curves.predicted,
        loss_linearised=None if curves is None else curves.linearised,
        loss_network=None if curves is None else curves.network,
        trial_distance=None if apart is None else apart.error,
        trial_interval=None if apart is None else apart.error_interval,
        weight_move=moved,
        kernel_drift=drift.kernel_drift,
        kernel_drift_interval=drift.kernel_drift_interval,
        kernel_cosine=drift.kernel_cosine,
        kernel_cosine_centred=drift.kernel_cosine_centred,
        linearisation_error=drift.linearisation_error,
        linearisation_interval=drift.linearisation_interval,
        regime=drift.regime,
        sure=drift.sure,
        basis=drift.basis,
        twin=twin,
        parts=tuple(parts),
    )


def _curves(trial: DescentCurves, targets: np.ndarray) -> Curves:
    y = targets[: trial.predicted.shape[1]]
    losses = (np.mean(np.sum((c - y) ** 2, axis=2), axis=1) for c in (trial.predicted, trial.linearised, trial.network))
    return Curves(trial.times, *losses)


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    if found.alignment is not None and found.alignment_chance is not None:
        what = "alignment with the labels, largest of 999 shuffles"
        yield at_least(found.alignment, found.alignment_chance, what).as_empirical()
    from leadline.tangent.dynamics.regimes import LAZY

    lazy = found.regime == "lazy"
    if found.trial_interval is not None and found.basis == "its training":
        yield at_most(
            found.trial_interval[0], LAZY, "network's outputs off the linearised ones on the squared loss"
        ).given(lazy, "training was lazy")
    if found.alignment_gain is not None and found.kernel_drift is not None:
        yield (
            at_least(found.alignment_gain[1], 0.0, "gain of alignment with the labels")
            .given(found.regime == "feature learning", "training learned features")
            .as_empirical()
        )
    twin = found.twin
    if twin is not None:
        yield at_most(
            twin.distance,
            twin.limit,
            "distance of the first kernel from infinite width, of other draws",
            atol=1e3 * float(np.finfo(subject.dtype).eps),
        )
        fair = lazy and twin.rows == subject.train.count
        alone = None if twin.only_twin is None or twin.only_network is None else twin.only_twin + twin.only_network
        if twin.only_twin is not None and alone:
            yield frequency(
                twin.only_twin,
                alone,
                0.5,
                "share of the infinitely wide network among test rows that one of both gets right",
            ).given(fair, "training was lazy and both saw the same rows")
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    curves = found.curves
    if curves is not None:
        ran = np.isfinite(curves.network) & (curves.network < 1e3 * curves.predicted[0])
        place = "its start" if found.from_start else "where it is"
        yield figure.curves(
            _curve_title(found, curves),
            f"steps of gradient descent from {place}",
            "squared loss per row",
            log="y",
            lines={"predicted by the kernel": (curves.times, curves.predicted)},
            points={
                "linearised network": (curves.times, curves.linearised),
                "network": (curves.times[ran], curves.network[ran]),
            },
        )
    shown = np.unique(np.geomspace(1, found.rows, 40).astype(int)) - 1
    points = {"now": (shown + 1, found.eigenvalues[shown])}
    if found.eigenvalues_start is not None and found.kernel_drift is not None:
        points["before training"] = (shown + 1, found.eigenvalues_start[shown])
    lines = {}
    if found.twin is not None:
        near = shown[shown < len(found.twin.eigenvalues)]
        lines["infinitely wide"] = (near + 1, found.twin.eigenvalues[near])
    rounding = found.rows * float(np.finfo(subject.dtype).eps)
    points = {name: (xs[ys > rounding * ys[0]], ys[ys > rounding * ys[0]]) for name, (xs, ys) in points.items()}
    drift = "" if found.kernel_drift is None else f"; it moved by {found.kernel_drift:.2g} of its size in training"
    yield figure.curves(
        f"Tangent kernel of {found.rows} rows: rank {found.rank}, condition {found.condition:.2g}{drift}",
        "mode",
        "eigenvalue",
        log="xy",
        lines=lines,
        points=points,
    )


def _curve_title(found: Measured, curves: Curves) -> str:
    if found.trial_distance is None or not np.isfinite(found.trial_distance):
        return "The linearised network trains as predicted; the network itself diverges at the same step"
    steps = int(curves.times[-1])
    return f"The network leaves its linearisation by {found.trial_distance:.2g} of the way in {steps} steps"


def interpret(found: Measured, subject: Subject) -> Meaning:
    aligned = ""
    if found.alignment is not None and found.alignment_chance is not None:
        known = found.alignment > found.alignment_chance
        labels = "labels" if subject.classifies else "targets"
        aligned = f" The kernel's alignment with the {labels} is {found.alignment:.2f}"
        if found.alignment_start is not None and found.kernel_drift:
            aligned += f" ({found.alignment_start:.2f} before training)"
        aligned += (
            f", with shuffled ones at most {found.alignment_chance:.2f}."
            if known
            else ", no more than with shuffled ones: it favours nothing that the task asks for."
        )
    sure = "" if found.sure is None else f" ({found.sure:.0%} of resampled rows agree)"
    twin = ""
    if found.twin is not None and found.twin.score is not None and subject.test is not None:
        tested = f"{min(TESTED, subject.test.count)} test rows"
        does = ("classifies", "") if subject.classifies else ("explains", "the variance of ")
        twin = f" Its infinitely wide twin {does[0]} {found.twin.score:.1%} of {does[1]}{tested} "
        twin += f"{'correctly ' if subject.classifies else ''}after {found.twin.rows} rows, the network "
        twin += f"{found.twin.network_score:.1%}."
    if found.linear:
        return Meaning(
            "The model is linear in its parameters: its tangent kernel cannot change, and the kernel predicts training "
            "on the squared loss exactly." + aligned,
            0.2,
        )
    if found.regime is None:
        return Meaning(f"The tangent kernel has rank {found.rank} on {found.rows} rows.{aligned}", 0.2)
    if found.basis != "its training":
        gap, untrained = found.trial_distance or 0.0, found.weight_move == 0
        how = "diverges" if not np.isfinite(gap) else f"leaves its linearisation by {gap:.2g} of the way"
        regime = "between lazy and feature learning" if found.regime == "between" else found.regime
        return Meaning(
            f"In a trial, by gradient descent on the squared loss from the present weights, the network {how}: "
            f"{regime}{sure}; "
            + (
                "it has not been trained yet."
                if untrained
                else "what its own training did cannot be said without the weights before it."
            )
            + aligned
            + twin,
            0.25,
            ""
            if untrained
            else "Give the network before training too (start= of leadline.study or as_subject), to learn whether its "
            "training was lazy.",
        )
    moved = (
        f"weights moved by {found.weight_move:.2g} of their norm, the tangent kernel by "
        f"{plainly(found.kernel_drift or 0.0)} of its size "
    )
    if found.kernel_cosine is not None:
        moved += f"(its cosine with the first one is {found.kernel_cosine:.3f})"
    if found.regime == "lazy":
        gain = _gain_of_twin(found.twin)
        worth = gain is not None and gain >= 0
        return Meaning(
            f"Training was lazy{sure}: {moved}; the network behaves like the linear model around its start and learned "
            f"no features.{aligned}{twin}",
            0.6,
            "Use kernel regression, which does as well here, or learn features with a narrower network or a smaller "
            "output scale."
            if worth
            else "To learn features, take a narrower network, a larger step or a smaller output scale.",
            change=gain if gain is not None and worth else 0.0,
            rests_on="network's outputs off the linearised ones",
        )
    if found.regime == "feature learning":
        shape = (
            ""
            if found.kernel_cosine_centred is None or found.kernel_cosine_centred < SAME_SHAPE
            else (f" Much of that is growth: centred, the kernels have cosine {found.kernel_cosine_centred:.3f}.")
        )
        return Meaning(
            f"Training learned features{sure}: {moved}, so kernel theory around the start does not describe it."
            f"{shape}{aligned}{twin}",
            0.35,
        )
    return Meaning(f"Training was between lazy and feature learning{sure}: {moved}.{aligned}{twin}", 0.25)


def _gain_of_twin(twin: WideTwin | None) -> float | None:
    """How much better the infinitely wide network is on the test rows."""
    if twin is None or twin.score is None or twin.network_score is None:
        return None
    return twin.score - twin.network_score


INSTRUMENT = Instrument(
    name="tangent",
    question="Does the network learn features, or does it train like the linear model around its start?",
    formula=r"K = J J^{\top}, \quad f_t = y + (I - \eta K)^t (f_0 - y), \quad "
    r"\frac{\lVert K - K_0 \rVert}{\lVert K_0 \rVert} \sim \frac{1}{\sqrt{m}} \text{ if lazy}",
    assumes=(
        "The prediction of the training curve is for gradient descent on the squared loss.",
        "The regime is judged on sampled rows; resampling them says nothing about other first weights.",
        "The infinitely wide limit is that of the initialisation the network was drawn by.",
    ),
    measure=measure,
    compare=compare,
    draw=draw,
    interpret=interpret,
    sources=("eth", "cam", "sheet"),
    entries=(
        "empirical-ntk",
        "linearised-network",
        "eigenmode-decay",
        "ntk-drift",
        "lazy-training",
        "ntk-constancy",
        "infinite-ntk",
        "ntk-predictor",
    ),
)
