"""How much training error says of new rows: exact intervals, and every bound beside the measured test error."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline import generalisation
from leadline.evidence import Comparison, Figure, at_most
from leadline.generalisation.bounds import Bound
from leadline.generalisation.dense_chain_bounds import ChainBounds
from leadline.generalisation.held_out_bounds import ExactInterval
from leadline.generalisation.network_certificates import ROWS_A_DRAW, NetworkCertificate
from leadline.generalisation.network_norms import LayerNorms
from leadline.presentation import figure

from ..instrument_contract import Instrument, Meaning, NotApplicable
from ..subject import Rows, Subject

CONFIDENCE = 0.95  # of every bound and interval
SURE = 0.999  # of the test error's lower end in comparisons
PAC_BAYES = "PAC-Bayes"
HELD_OUT = ("test rows, exact", "test rows, Hoeffding")
DRAWN = 2000  # margins kept for the figure
NUM_STEPS, RATE = 600, 2e-2  # of the posterior's fit; fewer steps are longer, up to
FASTER = 5.0  # times
POSTERIOR_BATCH = 128  # rows of each
WEIGHT_SECONDS = 4e-8  # a normal number for one weight, its exponential, and a step of Adam, on one core
ONE_PASS = "the work of one pass over the data"
FEWEST = 64  # steps of the posterior, and networks drawn from it


class Measured(NamedTuple):
    """What was measured; errors are shares of misclassified rows, intervals exact (Clopper and Pearson) at 95%.

    `training` is as if its rows were fresh, which they are not: the gap shows how wrong that would be. `gap` is test
    minus training error with the interval of the former. `bounds` are upper bounds on the true error by name, at
    95% each; those of HELD_OUT from the test rows, all others from the training rows and the weights alone. `chance`
    is the error of always guessing the most frequent class: a bound that is not below it is vacuous. `best` names the
    least bound from the training rows that says something, or is empty. `certificate` is the PAC-Bayes certificate, of
    a network drawn around the trained one. `norms`, `path`, `complexity` are those of the layers (`chain_bounds`);
    `margins` are of a sample of training rows, divided by `margin_scale` where that is known.
    """

    training: ExactInterval
    test: ExactInterval | None
    gap: float | None
    gap_interval: tuple[float, float] | None
    test_floor: float | None
    chance: float
    classes: int
    bounds: dict[str, Bound]
    best: str
    certificate: NetworkCertificate | None
    norms: LayerNorms | None
    path: float | None
    complexity: float | None
    margin_scale: float | None
    margins: Float[np.ndarray, " kept"]
    test_margins: Float[np.ndarray, " kept"] | None
    parts: tuple[NotApplicable, ...]


def refuses(subject: Subject) -> str:
    if not subject.classifies or subject.train.targets.ndim != 1 or subject.train.targets.dtype.kind not in "iu":
        return "the targets are not class labels, and losses without a largest value have no such bounds"
    if subject.outputs < 2 or subject.train.targets.max() >= subject.outputs or subject.train.targets.min() < 0:
        return "the outputs are not one score for each class"
    return ""


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    seen = subject.scored(subject.train)
    wrong, margins = _errors(subject.train_scores, seen)
    n = seen.count
    subject.budget.note("training rows", n, subject.train.count, ONE_PASS)
    chance = 1 - np.bincount(seen.targets).max() / n
    training = generalisation.exact_interval(wrong, n, confidence=CONFIDENCE)
    common: dict[str, Any] = {"confidence": CONFIDENCE, "trivial": float(chance)}
    parts, bounds = [], {}
    test = gap = gap_interval = floor = test_margins = None
    if subject.test is None:
        parts.append(NotApplicable("test error", "there are test rows"))
    else:
        unseen = subject.scored(subject.test)
        errors, test_margins = _errors(subject.test_scores, unseen)
        m = unseen.count
        subject.budget.note("test rows", m, subject.test.count, ONE_PASS)
        test = generalisation.exact_interval(errors, m, confidence=CONFIDENCE)
        gap = test.share - training.share
        gap_interval = (test.low - training.share, test.high - training.share)
        floor = generalisation.exact_interval(errors, m, confidence=SURE, side="lower").low
        bounds[HELD_OUT[0]] = generalisation.exact_test_bound(errors, m, **common)
        bounds[HELD_OUT[1]] = generalisation.hoeffding_test_bound(errors, m, **common)
    bits = 8 * subject.dtype.itemsize
    bounds["stored bits"] = generalisation.bits_bound(training.share, subject.size, n, bits=bits, **common)
    layers, part = _of_layers(subject, margins, training.share, common)
    if layers is not None:
        bounds |= layers.bounds
    parts += part
    certificate, part = _certificate(subject, key)
    parts += part
    if certificate is not None:
        bounds[PAC_BAYES] = Bound(certificate.value, "true error of a network drawn around this one", **_kept(common))
    parts += [NotApplicable(f"{name} bound", bound.why) for name, bound in bounds.items() if not bound.valid]
    bounds = {name: bound for name, bound in bounds.items() if bound.valid}
    useful = {name: b.value for name, b in bounds.items() if b.informative and name not in HELD_OUT}
    scale = None if layers is None else layers.scale
    return Measured(
        training,
        test,
        gap,
        gap_interval,
        floor,
        float(chance),
        subject.outputs,
        bounds,
        min(useful, key=lambda name: useful[name]) if useful else "",
        certificate,
        None if layers is None else layers.norms,
        None if layers is None else layers.path,
        None if layers is None else layers.complexity,
        scale,
        margins[:DRAWN] / (scale or 1.0),
        None if test_margins is None else test_margins[:DRAWN] / (scale or 1.0),
        tuple(parts),
    )


def _kept(common: dict[str, Any]) -> dict[str, Any]:
    return {"trivial": common["trivial"], "ingredients": {"confidence": common["confidence"]}}


def _errors(scores: np.ndarray, rows: Rows) -> tuple[int, np.ndarray]:
    """The number of rows classified wrongly, and all margins; ties count as errors."""
    margins = generalisation.class_margins(scores, rows.targets)
    return int((margins <= 0).sum()), margins


def _of_layers(
    subject: Subject, margins: np.ndarray, error: float, common: dict
) -> tuple[ChainBounds | None, list[NotApplicable]]:
    what = "norm, margin and VC bounds"
    found = subject.shared.dissection
    if found.chain is None:
        return None, [NotApplicable(what, f"the network is a chain of dense layers ({found.why_no_chain})")]
    start = None
    if subject.past.start is not None:
        from leadline.networks.dissection import dissect

        start = dissect(subject.apply, subject.past.start, subject.sample.inputs).chain
    try:
        return generalisation.chain_bounds(
            found.chain, margins, subject.train.inputs[: len(margins)], error, start=start, **common
        ), []
    except ValueError:
        return None, [NotApplicable(what, "every layer of the network is dense")]


def _certificate(subject: Subject, key: PRNGKeyArray) -> tuple[NetworkCertificate | None, list[NotApplicable]]:
    test = None if subject.test is None else (subject.test.inputs, subject.test.targets)
    num_steps, draws = _affordable(subject)
    if not num_steps:
        return None, [NotApplicable("PAC-Bayes certificate", "the budget of the study allows to fit a posterior")]
    try:
        return generalisation.network_certificate(
            subject.apply,
            subject.params,
            subject.train.inputs,
            subject.train.targets,
            prior=subject.past.start,
            confidence=CONFIDENCE,
            test=test,
            num_steps=num_steps,
            rate=RATE * min(NUM_STEPS / num_steps, FASTER),
            draws=draws,
            key=key,
        ), []
    except ValueError as reason:
        return None, [NotApplicable("PAC-Bayes certificate", f"a posterior can be fitted, and: {reason}")]


def _affordable(subject: Subject) -> tuple[int, int]:
    """Steps in which a posterior is fitted, and networks drawn from it: 600 and 500 to 8000, or what the budget has.

    Both are 0 where not even the fewest of them fit into twice the time of this instrument.
    """
    budget, costs = subject.budget, subject.budget.costs
    step = POSTERIOR_BATCH * costs.gradient + WEIGHT_SECONDS * subject.size
    draw = ROWS_A_DRAW * costs.forward + WEIGHT_SECONDS / 4 * subject.size
    if not budget.fits("generalisation", "the PAC-Bayes certificate", seconds=FEWEST * (step + 2 * draw), part=2.0):
        return 0, 0
    num_steps = budget.count(
        "generalisation", "steps of the posterior", NUM_STEPS, seconds=step, part=0.6, least=FEWEST
    )
    most = int(np.clip(4e8 // subject.size, 500, 8000))
    draws = budget.count("generalisation", "networks drawn", most, seconds=2 * draw, part=0.3, least=FEWEST)
    return num_steps, draws


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    for part in found.parts:
        yield part.comparison()
    for name, bound in found.bounds.items():
        if name in HELD_OUT or found.test is None:
            continue
        measured, drawn = found.test_floor, _drawn_error(found)
        if name == PAC_BAYES and drawn is not None and subject.test is not None:
            count = subject.test.count
            measured = generalisation.exact_interval(round(drawn * count), count, confidence=SURE, side="lower").low
        what = f"lower end of the test error, {name} bound"
        yield replace(at_most(measured, bound.value, what, trivial=bound.trivial), chance=1 - CONFIDENCE)


def _drawn_error(found: Measured) -> float | None:
    """The test error of networks drawn around this one, where there are some and test rows."""
    return None if found.certificate is None else found.certificate.test_error


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    valid = {name: b.value for name, b in found.bounds.items()}
    best = (
        f"{found.best} bound {found.bounds[found.best].value:.2f} says something"
        if found.best
        else "no bound says a thing"
    )
    names = sorted(valid, key=lambda name: valid[name])
    measured = {}
    if found.test is not None:
        t, drawn = found.test, _drawn_error(found)
        measured = {name: drawn if name == PAC_BAYES and drawn else (t.share, t.low, t.high) for name in names}
    yield figure.categories(
        f"From the training rows, {best}" + ("" if found.test is None else f"; test error {found.test.share:.3f}"),
        "",
        "error",
        lines={"upper bound": {name: valid[name] for name in names}},
        points={"test error": measured} if measured else {},
        rules={f"chance {found.chance:.2f}": ("y", found.chance)},
        log=True,
    )
    samples = {"training rows": found.margins}
    if found.test_margins is not None:
        samples["test rows"] = found.test_margins
    normalised = found.margin_scale is not None
    yield figure.histogram(
        f"Margins: {np.mean(found.margins > 0):.1%} of training rows right"
        + ("" if found.test is None else f", {1 - found.test.share:.1%} of test rows"),
        "margin / spectral complexity" if normalised else "margin (score of the class − best other score)",
        samples=samples,
        rules={"wrong left of 0": ("x", 0.0)},
    )


def interpret(found: Measured, subject: Subject) -> Meaning:
    tried = [name for name in found.bounds if name not in HELD_OUT]
    if found.best:
        value = found.bounds[found.best].value
        whose = " of networks drawn around this one" if found.best == PAC_BAYES else ""
        says = f"The {found.best} bound certifies an error{whose} of at most {value:.2f} from the training rows alone"
    else:
        says = f"None of the {len(tried)} bounds from the training rows says anything (a guess errs {found.chance:.2f})"
    if found.test is None:
        sentence = f"{says}; without test rows the error on new rows is not known."
        return Meaning(sentence, 0.6, "Hold back some rows as a test set: it is the cheapest certificate there is.")
    t = found.test
    told = f"{t.share:.3f} (95% interval {t.low:.3f} to {t.high:.3f})"
    error = f"the test rows say {told}"
    if t.high >= found.chance and found.training.share < 0.5 * found.chance:
        sentence = (
            f"Training error is {found.training.share:.3f} but {error}, no better than guessing: the network has "
            f"memorised its rows. {says}."
        )
        advice = "Look for wrong labels or a mismatch of training and test rows before using it."
        return Meaning(sentence, 0.95, advice, change=t.share - found.training.share)
    if t.high >= found.chance:
        sentence = (
            f"Training error is {found.training.share:.3f} and {error}, which does not exclude guessing: as far as the "
            f"test rows can tell it has not learned. {says}."
        )
        return Meaning(sentence, 0.8, "Train it first, or give more test rows.", change=t.share)
    gap, (low, high) = found.gap or 0.0, found.gap_interval or (0.0, 0.0)
    if low > max(0.05, t.share / 2):
        sentence = f"The gap between test and training error is {gap:.3f} ({low:.3f} to {high:.3f}): {error}. {says}."
        advice = "More data, augmentation or regularisation should narrow the gap."
        return Meaning(sentence, 0.7, advice, change=gap)
    weight = 0.35 if found.best else 0.25
    rest = "the test rows certify more" if found.best else "the test rows do"
    return Meaning(f"{says}; {rest}: an error of {told}.", weight)


INSTRUMENT = Instrument(
    "generalisation",
    "How large is the error on new rows, and what could have been certified without them?",
    r"R \le \hat R_\gamma + 2\, Rad_S(\ell_\gamma \circ F) + 3\sqrt{\frac{\ln(2/\delta)}{2n}}, \quad "
    r"kl(E_Q \hat R \,\|\, E_Q R) \le \frac{KL(Q \| P) + \ln(2\sqrt n/\delta)}{n}",
    ("rows are independent draws from one law", "nothing was chosen on the test rows"),
    measure,
    compare,
    draw,
    interpret,
    refuses,
    ("penn", "eth", "sheet"),
    (
        "hoeffding-and-test-set-size",
        "finite-class-uniform-convergence",
        "vc-finite-class",
        "vc-inequality",
        "rademacher-complexity",
        "capacity-bounds-are-vacuous",
        "pac-bayes-bound",
        "pac-bayes-certificate",
    ),
)
