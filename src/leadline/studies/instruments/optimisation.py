"""Optimisation: the constants of the loss where training ended, and whether step and batch suit them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline import data, stochastic
from leadline.evidence import Comparison, Figure, at_least, at_most, mean
from leadline.presentation import figure
from leadline.stochastic.moments.quadratic_floors import FloorCheck
from leadline.stochastic.runs.short_continuations import Continuation, LossAround, SegmentDrop, tree_dot

from ..instrument_contract import EVERY_KIND, Instrument, Meaning, NotApplicable, plainly
from ..measurements.noisy_steps import RUNS, affordable, equilibrium_floor, noisy_steps
from ..subject import Subject
from .curvature import why_not_plain

NEARLY_ALL = 0.99  # of the training rows right: a loss that still falls is no sign of unfinished training
BUDGET = 1.5e11  # floating-point operations for the repeated steps
STEP_UNKNOWN = "the step size is known (give --step)"


class Measured(NamedTuple):
    """Constants at the end of training, on `rows` training rows; steps and batches of plain SGD.

    loss, gradient_square ‖g‖²; smoothness L (largest Hessian eigenvalue) and gradient_curvature gᵀHg/‖g‖²; pl_constant
    ‖g‖²/2·loss (a lower bound of the PL ratio, the least loss being 0 or more); noise_trace tr C of single gradients.
    critical_batch tr C/‖g‖² with its 95% interval (infinite where the gradient cannot be told from 0). step and batch
    used here, `step_known` and `batch_known` whether they are those of training. segment: the drop of one whole step
    and its bounds. batch_squares ‖ĝ‖² of drawn batches; changes, second: the change of the loss by one noisy step and
    its noise term η²ĉᵀHĉ/2 for independent batches. run: losses of a continuation by SGD on these rows; progress: the
    same with batches from all training rows; run_bound what PL predicts
    at its end; steps_tried, drops: drops of one whole step for several step sizes; floor: `stochastic.FloorCheck`.
    """

    rows: int
    loss: float
    gradient_square: float
    smoothness: float
    gradient_curvature: float
    pl_constant: float
    noise_trace: float
    critical_batch: float
    critical_low: float
    critical_high: float
    step: float
    batch: int
    step_known: bool
    batch_known: bool
    parts: tuple[NotApplicable, ...]
    segment: SegmentDrop | None = None
    batch_squares: np.ndarray | None = None
    changes: np.ndarray | None = None
    second: np.ndarray | None = None
    run: Continuation | None = None
    progress: Continuation | None = None
    run_pl: float = 0.0
    run_bound: float = 0.0
    run_rate: float = 0.0
    run_floor: float = 0.0
    steps_tried: np.ndarray = np.zeros(0)
    drops: np.ndarray = np.zeros(0)
    floor: FloorCheck | None = None

    @property
    def onwards(self) -> "Onwards | None":
        """The steps from here; None where there is nowhere to go."""
        if self.segment is None or self.run is None or self.progress is None:
            return None
        if self.changes is None or self.second is None:
            return None
        return Onwards(self.segment, self.changes, self.second, self.run, self.progress)


class Onwards(NamedTuple):
    """Whole and noisy steps from here, and continuations; see `Measured`."""

    segment: SegmentDrop
    changes: np.ndarray
    second: np.ndarray
    run: Continuation
    progress: Continuation


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    rng, past, parts = data.generator(key), subject.past, []
    noise = subject.shared.noise
    hessian, smoothness = subject.shared.hessian, float(subject.shared.hessian_top.values[0])
    g = noise.gradient
    square, trace = noise.seen_square.value, noise.seen_trace.value
    sample = subject.shared.curved_rows
    here = LossAround(subject.row_losses, subject.params, tuple(map(jnp.asarray, sample)))
    loss = float(here.row_losses(subject.params).mean())
    step_known = past.plain
    if past.step is None:
        parts.append(NotApplicable("step size against 2/L", STEP_UNKNOWN))
    elif not step_known:
        parts.append(NotApplicable("step size against 2/L", why_not_plain(past)))
    rows = sample.count
    step = past.step if step_known and past.step is not None else (1 / smoothness if smoothness > 0 else 0.1)
    batch, critical = min(past.batch or 64, rows), noise.noise_scale
    here_alone = Measured(
        rows=rows,
        loss=loss,
        gradient_square=square,
        smoothness=smoothness,
        gradient_curvature=0.0,
        pl_constant=0.0,
        noise_trace=trace,
        critical_batch=critical.value,
        critical_low=critical.low,
        critical_high=critical.high,
        step=float(step),
        batch=batch,
        step_known=step_known,
        batch_known=past.batch is not None,
        parts=tuple(parts),
    )
    if not (square > 1e-20 * max(loss, 1e-20) and smoothness > 0):
        nowhere = NotApplicable("steps from here", "the gradient is not 0, and the loss curves upwards somewhere")
        return here_alone._replace(parts=(*parts, nowhere))
    along = tree_dot(g, hessian(g)) / square
    work = subject.operations * subject.sample.count
    draws, num_steps, looks = affordable(
        subject,
        batch,
        rows,
        draws=int(np.clip(BUDGET / (8 * work), 8, 64)),
        num_steps=int(np.clip(BUDGET / (12 * RUNS * work * batch / rows), 40, 200)),
    )
    segment = here.segment(g, step)
    squares, changes, second = noisy_steps(here, hessian, g, step, batch, draws, rng)
    run = stochastic.continue_sgd(here, step, batch, num_steps=num_steps, looks=looks, runs=RUNS, rng=rng)
    progress = run
    if rows < subject.train.count:  # SGD on a sample learns the sample by heart: what training would do needs all rows
        row_bytes = 2.0 * subject.train.inputs.nbytes / subject.train.count
        kept = subject.budget.rows(
            "optimisation", 0.0, subject.train.count, bytes_per_row=row_bytes, part=0.5, what="training rows"
        )
        everything = tuple(map(jnp.asarray, subject.train.first(kept)))
        progress = stochastic.continue_sgd(
            here, step, batch, num_steps=num_steps, looks=1, runs=RUNS, rng=rng, rows=everything
        )
    finite = np.isfinite(run.losses) & np.isfinite(run.squares)
    pl = float(np.min(run.squares[finite] / np.maximum(2 * run.losses[finite], 1e-30)))
    rate = 1 - 2 * step * pl * (1 - step * smoothness / 2)
    floor = step**2 * smoothness * trace / (2 * batch) / (1 - rate) if rate < 1 else np.inf
    bound = rate ** run.steps[-1] * (loss - floor) + floor if np.isfinite(floor) else np.inf
    tried = np.geomspace(0.1, 4.0, 9) / smoothness
    before = here.row_losses(subject.params)
    drops = np.array([(before - here.row_losses(here.moved(g, float(eta)))).mean() for eta in tried])
    settled = equilibrium_floor(subject, here, g, step, batch, key, parts)
    return here_alone._replace(
        gradient_curvature=along,
        pl_constant=square / (2 * loss) if loss > 0 else np.inf,
        segment=segment,
        batch_squares=squares,
        changes=changes,
        second=second,
        run=run,
        progress=progress,
        run_pl=pl,
        run_bound=float(bound),
        run_rate=float(rate),
        run_floor=float(floor),
        steps_tried=tried,
        drops=drops,
        floor=settled,
        parts=tuple(parts),
    )


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    if found.step_known:
        yield at_most(found.step, 2 / found.smoothness, "step size, 2/L").given(found.smoothness > 0, "L is above 0")
    onwards = found.onwards
    if onwards is not None:
        s, eta = onwards.segment, found.step
        least = eta * found.gradient_square * (1 - eta * found.smoothness / 2)
        # L is the curvature here; the lemma asks for one that holds on the whole step, on which the loss may bend more
        what = "drop of one whole step, η‖g‖²(1 − ηL/2) with L from here"
        yield at_least(s.drop, least, what, atol=s.rounding, trivial=0.0).as_empirical()
        predicted = -eta * found.gradient_square * (1 - eta * found.gradient_curvature / 2)
        # a quadratic model: the loss has higher derivatives, which long steps feel
        yield mean(
            onwards.changes - onwards.second, predicted, "mean change by one noisy step less noise, −η‖g‖² + η²gᵀHg/2"
        ).as_empirical()
        ends = onwards.run.losses[:, -1]
        bounded = np.isfinite(found.run_bound) and found.run_bound < found.loss
        said = mean(
            ends,
            min(found.run_bound, 1e300),
            f"loss after {onwards.run.steps[-1]:.0f} steps, PL rate and noise",
            side="at most",
        )
        yield replace(said, says_nothing=not bounded)
    if found.floor is not None:
        yield mean(found.floor.measured, found.floor.predicted, "gap of SGD in equilibrium, (η/4b) Σ C/(1 − ηλ/2)")
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    onwards = found.onwards
    if onwards is None:
        return
    t, losses = onwards.run.steps, onwards.run.losses
    points: dict[str, tuple[np.ndarray, ...]] = {
        "continued, mean of 4 runs": (t, losses.mean(0), losses.min(0), losses.max(0))
    }
    past = subject.past
    if past.losses is not None and len(past.losses) and past.batch:
        epoch = max(1, subject.train.count // past.batch)
        kept = np.unique(np.linspace(0, len(past.losses) - 1, 40).astype(int))
        points["training, after each epoch"] = ((kept + 1 - len(past.losses)) * epoch, np.asarray(past.losses)[kept])
    lines, fine = {}, np.linspace(0, t[-1], 60)
    if np.isfinite(found.run_floor):
        lines["PL bound"] = (fine, found.run_rate**fine * (found.loss - found.run_floor) + found.run_floor)
    drop = found.step * found.gradient_square * (1 - found.step * found.gradient_curvature / 2)
    if onwards.second.mean() < drop / 2:  # else a single step says little of the next ones
        slope = drop - float(onwards.second.mean())
        kept = fine * slope < 0.3 * found.loss
        lines["slope predicted now"] = (fine[kept], found.loss - slope * fine[kept])
    seen = np.concatenate([np.ravel(v) for _, *values in (*lines.values(), *points.values()) for v in values])
    change = onwards.run.losses[:, -1].mean() / found.loss - 1
    yield figure.curves(
        f"{t[-1]:.0f} more steps of {found.step:.3g} with batches of {found.batch} from {found.rows} rows change their "
        f"loss by {change:+.1%}",
        "steps from now",
        "training loss",
        lines=lines,
        points=points,
        log="y" if seen.min() > 0 and seen.max() > 4 * seen.min() else "",
    )
    etas = np.geomspace(found.steps_tried[0], found.steps_tried[-1], 80)
    model = etas * found.gradient_square * (1 - etas * found.gradient_curvature / 2)
    lemma = etas * found.gradient_square * (1 - etas * found.smoothness / 2)
    rules = {"2/L": ("x", 2 / found.smoothness)}
    if found.step_known and etas[0] < found.step < etas[-1]:
        rules["step"] = ("x", found.step)
    kept = lemma > -np.abs(model).max()
    floor = -2 * np.abs(model).max()
    yield figure.curves(
        f"One whole step: 2/L = {2 / found.smoothness:.3g}, step {found.step:.3g} "
        f"({found.step * found.smoothness / 2:.0%} of it)",
        "step size",
        "drop of the loss",
        log="x",
        lines={"η‖g‖² − η²gᵀHg/2": (etas, model), "descent lemma, with L": (etas[kept], lemma[kept])},
        points={"measured": (found.steps_tried[found.drops > floor], found.drops[found.drops > floor])},
        rules=rules,
    )


def interpret(found: Measured, subject: Subject) -> Meaning:
    onwards = found.onwards
    if onwards is None:
        return Meaning(
            f"The gradient is 0 at these parameters (loss {found.loss:.3g}); there is nothing to optimise.", 0.4
        )
    limit = 2 / found.smoothness
    constants = (
        f"The loss has curvature up to L = {found.smoothness:.3g} here, so steps of plain gradient descent must stay "
        f"below 2/L = {limit:.3g}"
    )
    critical = (
        f"critical batch {plainly(found.critical_batch)}"
        if np.isfinite(found.critical_batch)
        else "no finite critical batch"
    )
    if found.step_known and found.step > limit:
        words = f"{constants}; the step {found.step:.3g} is above it: whole-gradient descent is unstable here."
        advice = f"Lower the step to about {limit / 2:.2g}, half of 2/L on {found.rows} rows, or let it decay."
        return Meaning(words, 0.75, advice, change=1 - limit / found.step, rests_on="step size, 2/L")
    ends = onwards.progress.losses[:, -1]
    change = float(ends.mean() / found.loss - 1)
    finite = bool(np.isfinite(ends).all())
    spread = float(ends.std(ddof=1) / np.sqrt(RUNS) / found.loss) if finite else 0.0
    raised = f"by {change:.0%}" if finite else "without end"
    if found.step_known and found.step < limit / 50 and onwards.segment.drop > 0:
        words = f"{constants}; the step {found.step:.3g} uses {found.step / limit:.1%} of that, so training is slow."
        advice = (
            f"Try steps up to {limit / 8:.2g}, an eighth of 2/L = {limit:.2g} on {found.rows} rows; the "
            "noise of small batches may allow less."
        )
        return Meaning(words, 0.6, advice, change=1 - 8 * found.step / limit, rests_on="step size, 2/L")
    if change < -0.1 - 3 * spread:
        falls = (
            f"{onwards.progress.steps[-1]:.0f} more steps of plain SGD (step {found.step:.3g}, batches of "
            f"{found.batch}) lower the training loss by {-change:.0%} ({critical})."
        )
        right = _share_right(subject)
        if right >= NEARLY_ALL:
            return Meaning(f"{right:.1%} of the training rows are right already, and {falls}", 0.25)
        words = f"Training is not finished: {falls}"
        advice = f"Train on while the test error falls, too: in {RUNS} trial runs of SGD the training loss still fell."
        return Meaning(words, 0.6, advice, change=min(-change, 1.0))
    if change > 0.1 + 3 * spread and not found.step_known:
        words = (
            f"{constants}; plain SGD with step 1/L = {found.step:.3g} and batches of {found.batch} would not "
            f"stay here: its noise raises the loss {raised}."
        )
        return Meaning(words, 0.25)
    if change > 0.1 + 3 * spread:
        words = (
            f"At step {found.step:.3g} and batch {found.batch} noise drives the loss up, {raised} in "
            f"{onwards.progress.steps[-1]:.0f} steps: it is above what this point can hold."
        )
        advice = f"Lower the step or raise the batch to stay this low ({critical})."
        return Meaning(words, 0.6, advice, change=min(change, 1.0))
    if found.batch_known and found.critical_low > 0 and found.batch > found.critical_high:
        words = (
            f"{constants}; batches of {found.batch} exceed the {critical}: they average noise that no longer matters."
        )
        if subject.past.optimiser not in (None, "sgd"):
            return Meaning(f"{words} That holds for plain SGD, and it was trained by {subject.past.optimiser}.", 0.25)
        advice = f"Use batches of about {max(1, round(found.critical_batch))} for the same progress per step."
        return Meaning(words, 0.5, advice, change=1 - found.critical_batch / found.batch)
    words = (
        f"{constants}; {onwards.progress.steps[-1]:.0f} more steps of {found.step:.3g} by plain SGD change the loss by "
        f"{change:+.0%} (±{3 * spread:.0%}, {RUNS} runs). "
    )
    if not np.isfinite(found.critical_batch):
        words += "The gradient cannot be told from its noise: only larger batches or smaller steps get lower."
    else:
        words += (
            f"The {critical} stands against batches of {found.batch}: below it, progress is in proportion to the batch."
        )
    return Meaning(words, 0.25)


def _share_right(subject: Subject) -> float:
    """The share of training labels that have the largest score; 0 where there are no labels."""
    if not subject.classifies:
        return 0.0
    scores, labels = subject.counted(subject.train_scores, subject.scored(subject.train))
    return float(np.mean(scores.argmax(axis=1) == labels))


INSTRUMENT = Instrument(
    name="optimisation",
    question="Do step size and batch suit this loss, and is there anything left to gain?",
    formula=r"l(w - \eta g) \le l(w) - \eta \|g\|^2 (1 - \eta L / 2), \quad b_{crit} = tr\, C / \|g\|^2",
    assumes=(
        "L and the noise are those at the present parameters",
        "batches are drawn with replacement from the rows that are looked at",
        "the least loss is 0 or more, for the PL constant",
    ),
    measure=measure,
    compare=compare,
    draw=draw,
    interpret=interpret,
    sources=("penn", "eth"),
    entries=("sgd-noise-floor", "gradient-noise-spectrum"),
    kinds=EVERY_KIND,
)
