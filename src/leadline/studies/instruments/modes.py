"""Modes: which layers change between training and use, and whether the network in use is the one that was trained."""

from collections.abc import Iterator

from leadline.evidence import Comparison, Figure, at_most, mean
from leadline.presentation import figure
from leadline.regularisation.modes.layer_findings import SHARE
from leadline.regularisation.modes.modal_networks import BATCH_NORM

from ..instrument_contract import Instrument, Meaning, NotApplicable, plainly
from ..measurements.mode_measures import Measured, measure_modes
from ..subject import Subject

SHOWN = 12  # layers in a figure
ADVICE = {
    "dropout left on": "Pass the mode on to every dropout layer: its rate must be 0 in use.",
    "batch statistics left on": "Let every batch normalisation use its running statistics outside of training.",
    "mode forgotten in one branch": "Pass the mode on to the layers that are named.",
    "wrong axis": "Normalise over the batch, and keep one statistic for each feature.",
    "frozen buffers": "Let training update the running statistics (momentum below 1, no fixed mode in the code).",
    "stale statistics": "Keep the state that training returns; after few steps lower the momentum, or estimate the "
    "statistics anew on training rows.",
    "tiny batch": "Train with more examples to a batch, or use layer or group normalisation.",
    "domain shift": "Estimate the statistics anew on inputs like those in use, or bring these to the same scale.",
}


def refuses(subject: Subject) -> str:
    return subject.shared.modes.why


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    # networks that are random in use, or whose rows depend on their batch, are refused before: nothing to compare here
    if found.off:
        yield at_most(max(found.off.values()), SHARE, "features whose running statistics are off the training rows'")
    elif BATCH_NORM in found.layers.values():
        yield NotApplicable("running statistics, those of training rows", "training updates them").comparison()
    if found.off_new:
        yield at_most(max(found.off_new.values()), SHARE, "features whose running statistics are off the test rows'")
    if found.paired is not None and found.rows > 1:
        what = "errors" if subject.classifies else "loss"
        yield mean(found.paired, 0.0, f"{what} by running statistics, less those by the batch's", side="at most")
    else:
        yield NotApplicable(
            "running statistics, the batch's", "a layer is normalised over the batch; dropout alone has none"
        ).comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    word = "accuracy" if subject.classifies else "loss"
    bars = {"in use": found.running}
    if found.batch is not None:
        bars["batch statistics"] = found.batch
    if found.training is not None:
        bars["in training"] = found.training
    said = ", ".join(f"{name} {value:.3g}" for name, value in bars.items())
    yield figure.bars(
        f"{word.capitalize()} {said}", "how the network is run", f"{word}, {found.rows} rows", values={word: bars}
    )
    if found.ratio:
        names = list(found.ratio)[:SHOWN]
        worst = max(found.off, key=lambda name: found.off[name])
        yield figure.categories(
            f"Running statistics: {found.off[worst]:.0%} of the features of {worst} are off, the most of any layer",
            "batch normalisation",
            "running, in units of the data's",
            points={
                "variance ratio": {name: found.ratio[name] for name in names},
                "shift of the mean / σ": {name: found.shift[name] for name in names},
            },
            rules={"variances equal": ("y", 1.0), "means equal": ("y", 0.0)},
        )


def interpret(found: Measured, subject: Subject) -> Meaning:
    kinds = [f"{list(found.layers.values()).count(kind)} of {kind}" for kind in dict.fromkeys(found.layers.values())]
    count = f"{len(found.layers)} layers change between training and use ({', '.join(kinds)})"
    count = count.replace("1 layers change", "1 layer changes")
    word = "accuracy" if subject.classifies else "loss"
    beside = "" if found.batch is None else f"; by the batch's own statistics {_number(subject, found.batch)}"
    seen = f"{word} in use {_number(subject, found.running)}{beside}"
    if not found.causes:
        return Meaning(f"{count}, and nothing is wrong with them: {seen}.", 0.15)
    cause, layers, evidence = found.causes[0], found.named[0], found.evidence[0]
    lost = 0.0 if found.batch is None or not subject.classifies else max(found.batch - found.running, 0.0)
    where = f" ({layers})" if layers else ""
    return Meaning(
        f"{cause.capitalize()}{where}: {evidence}; {seen}.",
        0.9 if lost > 0.01 or cause in ("dropout left on", "wrong axis") else 0.6,
        ADVICE[cause],
        change=min(lost, 1.0),
        rests_on="errors by running statistics" if lost > 0.01 else "",
    )


def _number(subject: Subject, value: float) -> str:
    return f"{value:.1%}" if subject.classifies else plainly(value)


INSTRUMENT = Instrument(
    name="modes",
    question="Is the network in use the one that was trained: which layers change, and are their statistics right?",
    formula=r"\hat x = \frac{x - \mu_B}{\sqrt{\sigma_B^2 + \varepsilon}} \text{ in training}, \quad "
    r"\hat x = \frac{x - \mu_r}{\sqrt{\sigma_r^2 + \varepsilon}} \text{ in use}",
    assumes=(
        "the network is an Equinox or Flax module, whose modes can be read",
        "the training rows are those that the running statistics are of",
    ),
    measure=measure_modes,
    compare=compare,
    draw=draw,
    interpret=interpret,
    refuses=refuses,
    sources=("penn",),
    entries=("train-eval-audit",),
)
