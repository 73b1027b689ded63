"""Robustness: how small a change of the input changes the decision, between certificates and attacks."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.evidence import Comparison, Figure, Inapplicable, at_most, frequency
from leadline.presentation import figure

from ..instrument_contract import Instrument, Meaning, NotApplicable
from ..subject import Subject

ROWS, FEWER = 200, 100  # rows for the accuracies, and for the radii in the 2-norm
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)  # radii as shares of the range of the inputs
SHOWN = 6  # images of the gallery
FLOPS = 1e11  # most work of the attacks, about
GRADIENTS = 500  # of a row in all attacks together, about
SMALL = 0.05  # of the range of the inputs: a change that is hard to see
LEAST = 24  # rows attacked however little time there is


class Measured(NamedTuple):
    """How small a change of the input changes the decision.

    On `rows` rows that are classified rightly (of the rows called `where`), inputs kept in `input_range`: shares
    that stay right when every input may change by `eps`, under random signs (`noise`), one gradient step (`fgsm`),
    many (`pgd`), any of these attacks (`attacked`: an upper bound of the truth), and by interval bounds
    (`certified`: a lower bound). `half_radius` is the eps at which half are fooled, `certified_half` the one up to
    which half are certified, `attack_radii` and `interval_radii` the same for each row. `only_one_step` rows are
    fooled by the single step alone and `only_many_steps` by PGD alone, over all eps; `only_noise` and `only_pgd`
    likewise; `lost` and `gained` count rows fooled at one eps and not at the next, and the reverse.
    In the 2-norm, for the first of these rows: smallest changes by DeepFool and by bisection over PGD, and the
    radius that the Lipschitz bound certifies. `gallery` holds images, changes and changed images with the decisions
    before and after in `gallery_classes`.
    """

    rows: int
    where: str
    input_range: tuple[float, float]
    eps: Float[np.ndarray, " m"]
    noise: Float[np.ndarray, " m"]
    fgsm: Float[np.ndarray, " m"]
    pgd: Float[np.ndarray, " m"]
    attacked: Float[np.ndarray, " m"]
    certified: Float[np.ndarray, " m"] | None
    half_radius: float | None
    certified_half: float | None
    attack_radii: Float[np.ndarray, " n"]
    interval_radii: Float[np.ndarray, " n"] | None
    only_one_step: int
    only_many_steps: int
    only_noise: int
    only_pgd: int
    lost: int
    gained: int
    deepfool_radii: Float[np.ndarray, " k"]
    pgd_radii: Float[np.ndarray, " k"]
    lipschitz_radii: Float[np.ndarray, " k"] | None
    gallery: Float[np.ndarray, "3 shown h w"] | None
    gallery_classes: list[tuple[int, int]]
    parts: tuple[NotApplicable, ...]


def refuses(subject: Subject) -> str:
    if subject.integer_inputs:
        return "the inputs are integers, such as words, which cannot change by a little"
    if not subject.classifies or subject.train.targets.ndim != 1:
        return "the targets are not class labels"
    if subject.outputs < 2:
        return "there is one output, and no scores of classes to compare"
    low, high = subject.input_range
    return "" if high > low else "all inputs are equal"


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Attacks and certificates in the ∞-norm, then in the 2-norm."""
    from leadline import robustness
    from leadline.robustness import accuracy_brackets

    x, y, where = _right_rows(subject)
    low, high = subject.input_range
    box, parts = robustness.Box(low, high), []
    eps = (high - low) * np.array(SHARES)
    bracket = robustness.accuracy_bracket(subject.apply, subject.params, x, y, eps, key=key, box=box)
    if bracket.certified is None:
        parts.append(
            NotApplicable("certified accuracy", f"interval bounds know every step of the network ({bracket.why})")
        )
    signs = np.where(jax.random.bernoulli(key, shape=x.shape), 1, -1).astype(x.dtype)
    moved = [np.clip(x + np.asarray(size, x.dtype) * signs, low, high) for size in eps]
    noise = np.stack([subject.scores(m).argmax(axis=1) == y for m in moved])

    few = slice(0, FEWER)
    quick = robustness.deepfool_radii(subject.apply, subject.params, x[few], y[few], box=box)
    reach = np.isfinite(quick.radii) & (quick.radii > 0)
    first = np.where(reach, quick.radii, (high - low) * math.sqrt(x[0].size) / 10)
    slow = robustness.pgd_radii(
        subject.apply, subject.params, x[few], y[few], first=first, halvings=4, doublings=2, num_steps=15, box=box
    )
    bound = subject.shared.lipschitz
    lipschitz = None
    if bound.upper is None:
        parts.append(
            NotApplicable("certified radius in the 2-norm", f"the network is a chain of known maps ({bound.why})")
        )
    else:
        lipschitz = robustness.lipschitz_radii(subject.scores(x[few]), bound.upper, y[few], bound.pairs)
    gallery, classes = _gallery(subject, x, y, bracket)
    return Measured(
        len(y),
        where,
        (low, high),
        eps,
        noise.mean(axis=1),
        bracket.fgsm.mean(axis=1),
        bracket.pgd.mean(axis=1),
        bracket.above,
        bracket.below,
        accuracy_brackets.half_radius(eps, bracket.above),
        None if bracket.certified is None else float(np.median(bracket.certified)),
        bracket.radii,
        bracket.certified,
        int((~bracket.fgsm & bracket.pgd).sum()),
        int((bracket.fgsm & ~bracket.pgd).sum()),
        int((~noise & bracket.pgd).sum()),
        int((noise & ~bracket.pgd).sum()),
        int((~bracket.pgd[:-1] & bracket.pgd[1:]).sum()),
        int((bracket.pgd[:-1] & ~bracket.pgd[1:]).sum()),
        quick.radii,
        slow.radii,
        lipschitz,
        gallery,
        classes,
        tuple(parts),
    )


def _right_rows(subject: Subject) -> tuple[np.ndarray, np.ndarray, str]:
    """The first rows that are classified rightly, of the test rows where there are enough."""
    for where, rows in (("test", subject.test), ("training", subject.train)):
        if rows is None:
            continue
        rows = subject.scored(rows)
        scores = subject.test_scores if where == "test" else subject.train_scores
        right = np.flatnonzero(scores.argmax(axis=1) == rows.targets)
        right = right[: _affordable(subject, len(right))]
        if len(right) >= 10 or (len(right) and where == "training"):
            return rows.inputs[right], rows.targets[right], where
    raise Inapplicable("no row is classified rightly")


def _affordable(subject: Subject, right: int) -> int:
    """Rows for which about 20 steps from two starts at every radius, three passes each, stay within FLOPS and time."""
    one = max(float(subject.shared.dissection.flops or 0), 2.0 * subject.size)
    most = min(int(np.clip(FLOPS / (3 * 40 * len(SHARES) * one), 40, ROWS)), right)
    seconds = GRADIENTS * subject.budget.costs.gradient
    return subject.budget.rows("robustness", seconds, most, least=LEAST, what="rows attacked")


def _gallery(subject: Subject, x: np.ndarray, y: np.ndarray, bracket: Any) -> tuple[np.ndarray | None, list]:
    layout = subject.image_layout
    if layout is None or max(layout.height, layout.width) > 64:
        return None, []
    hit = np.flatnonzero(np.isfinite(bracket.radii))[:SHOWN]
    if not len(hit):
        return None, []
    triple = np.stack([x[hit], bracket.inputs[hit] - x[hit], bracket.inputs[hit]])
    became = subject.scores(bracket.inputs[hit]).argmax(axis=1)
    classes = list(zip(y[hit].tolist(), became.tolist(), strict=True))
    return np.stack([layout.to_images(part).mean(axis=3) for part in triple]), classes


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    rounding = 50 * float(np.finfo(subject.dtype).eps)
    if found.interval_radii is not None:
        c = at_most(
            found.interval_radii,
            found.attack_radii,
            "certified radius, smallest attack, every row (∞-norm)",
            atol=rounding * (found.input_range[1] - found.input_range[0]),
        )
        yield replace(c, says_nothing=not (found.interval_radii >= found.eps[0]).any())  # none at the least size
    attack = np.minimum(found.deepfool_radii, found.pgd_radii)
    if found.lipschitz_radii is not None:
        c = at_most(
            found.lipschitz_radii,
            attack,
            "Lipschitz radius, smallest attack, every row (2-norm)",
            rtol=rounding,
            atol=rounding * float(np.median(np.where(np.isfinite(attack), attack, 1.0))),
        )
        yield replace(c, says_nothing=not (found.lipschitz_radii >= found.eps[0]).any())  # not even of one input
    for what, weak, strong in (
        (
            "rows that one step fools and PGD does not, of those that only one of them fools",
            found.only_one_step,
            found.only_many_steps,
        ),
        (
            "rows that noise fools and PGD does not, of those that only one of them fools",
            found.only_noise,
            found.only_pgd,
        ),
        ("rows fooled at one radius and not at the next, of those that change", found.lost, found.gained),
    ):
        if weak + strong:
            yield frequency(weak, weak + strong, 0.5, what, side="at most")
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    xs = np.concatenate([[0.0], found.eps])

    def from_one(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return xs, np.concatenate([[1.0], values])

    half = "more than the largest radius tried" if found.half_radius is None else f"{found.half_radius:.3g}"
    sure = "" if found.certified_half is None else f"; half are certified up to {found.certified_half:.2g}"
    lines = {}
    if found.interval_radii is not None:
        grid = np.unique(np.concatenate([np.linspace(0, found.eps[-1], 60), np.sort(found.interval_radii)[::5]]))
        lines["certified (at least)"] = (grid, (found.interval_radii[None] >= grid[:, None]).mean(axis=1))
    yield figure.curves(
        f"Half of the rows are fooled at {half}{sure}",
        "largest change of each input, ε",
        "share that stays right",
        lines=lines,
        points={
            "PGD (at most)": from_one(found.pgd),
            "FGSM": from_one(found.fgsm),
            "random signs": from_one(found.noise),
        },
    )
    attack = np.minimum(found.deepfool_radii, found.pgd_radii)
    some = np.isfinite(attack) & (attack > 0)
    if found.lipschitz_radii is not None and some.any():
        a, c = attack[some], found.lipschitz_radii[some]
        ends = np.array([a.min(), a.max()])
        ratio = np.median(c / a)
        yield figure.curves(
            f"2-norm: attacks at {np.median(a):.3g}, certified {np.median(c):.3g} (medians), {ratio:.1%} of the way",
            "smallest change found, 2-norm",
            "certified by the Lipschitz bound",
            lines={"certificate = attack": (ends, ends)},
            points={"rows": (a, c)},
            log="xy" if (c > 0).all() else "x",
        )
    elif some.any():
        yield figure.histogram(
            f"2-norm: the smallest change found is {np.median(attack[some]):.3g} in the median",
            "smallest change found, 2-norm",
            samples={"rows": attack[some]},
            bins=25,
        )
    if found.gallery is not None:
        before, change, after = found.gallery
        low, high = found.input_range
        scale = (high - low) / 2 / max(float(np.abs(change).max()), 1e-30)
        shown = []
        for i, (was, became) in enumerate(found.gallery_classes):
            shown += [
                (str(was), before[i]),
                (f"η × {scale:.2g}", (low + high) / 2 + scale * change[i]),
                (str(became), after[i]),
            ]
        yield figure.images(
            f"Smallest changes found: at most {np.abs(change).max():.2g} in each pixel, and another class",
            images=shown,
            columns=3 * min(len(found.gallery_classes), 3 if before.shape[1] < 20 else 2),
        )


def interpret(found: Measured, subject: Subject) -> Meaning:
    span = found.input_range[1] - found.input_range[0]
    each, rows = ("pixel", "images") if subject.image_shape else ("input", "rows")
    attack = np.minimum(found.deepfool_radii, found.pgd_radii)
    broken = (found.interval_radii is not None and (found.interval_radii > found.attack_radii + 1e-4 * span).any()) or (
        found.lipschitz_radii is not None and (found.lipschitz_radii > 1.001 * attack + 1e-6 * span).any()
    )
    if broken:
        return Meaning(
            "An attack succeeds where a certificate excludes it: one of them is wrong, and neither should be trusted.",
            0.95,
            "Check that the network computes the same for the same input, alone and in a batch.",
            change=1.0,
        )
    weak, strong = found.only_one_step, found.only_many_steps
    masked = weak > 5 and weak > 2 * strong
    sure = ""
    if found.certified_half is not None and found.interval_radii is not None:
        most = float(found.interval_radii.max()) / span
        if found.certified_half <= 0.1 * (found.half_radius or found.eps[-1]):
            sure = f"; nothing is certified beyond {most:.2g}"
        else:
            sure = f"; half of them are certified up to {found.certified_half / span:.2g}"
    if found.half_radius is None:
        kept, largest = found.attacked[-1], found.eps[-1] / span
        sentence = (
            f"A change of {largest:.2g} of the range in every {each} leaves {kept:.0%} of the rightly classified "
            f"{rows} right{sure}."
        )
        if masked:
            sentence += " But one step fools more than many do: the gradients hide something, and attacks may miss it."
            advice = "Attack with examples made for another network before you rely on it."
            return Meaning(sentence, 0.6, advice, rests_on="rows that one step fools")
        return Meaning(sentence, 0.25)
    half = found.half_radius / span
    noisy = float(np.interp(found.half_radius, found.eps, found.noise))
    sentence = (
        f"A change of {half:.2g} of the range in every {each} fools half of the rightly classified {rows} "
        f"(noise of that size {1 - noisy:.0%}){sure}."
    )
    advice = "Train against attacks (robustness.adversarial_training) or for certificates (interval_training) if inputs"
    advice += " may be tampered with."
    fooled = float(1 - np.interp(SMALL * span, found.eps, found.attacked))
    if masked:
        sentence += " One step fools more than many do, a sign of hidden gradients: the truth may be worse."
        return Meaning(sentence, 0.7, advice, change=fooled, rests_on="rows that one step fools")
    if half <= 0.12:
        return Meaning(sentence, 0.75 if half <= 0.02 else 0.5, advice, change=fooled)
    return Meaning(sentence, 0.25)


INSTRUMENT = Instrument(
    name="robustness",
    question="How small a change of an input changes the decision, and what change is excluded?",
    formula=r"r_{certified}(x) \le \min \{ \lVert \eta \rVert : f(x + \eta) \ne f(x) \} \le r_{attack}(x)",
    assumes=(
        "Attacks bound robust accuracy from above only: a better attack may find more.",
        "Radii are measured in the inputs' own units, the same for every input, within the range of the training data.",
        "Rows that are classified wrongly are left out.",
    ),
    measure=measure,
    compare=compare,
    draw=draw,
    interpret=interpret,
    refuses=refuses,
    sources=("eth", "sheet"),
    entries=(
        "fgsm",
        "pgd",
        "deepfool",
        "adversarial-radius",
        "linear-minimal-perturbation",
        "single-step-gap",
        "interval-bounds",
        "lipschitz-certificate",
        "attack-certificate-sandwich",
    ),
)
