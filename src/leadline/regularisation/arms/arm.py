"""An arm of a comparison: a network that is trained as all others are, but for one regulariser."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

NONE = "none"  # the arm that all others are compared with
BAG = 8  # networks of the standard bag


@dataclass(frozen=True)
class Arm:
    """What is changed against plain training; an arm with nothing set is plain training itself.

    `decay` is the strength μ of the penalty (μ/2)‖W‖² on weight matrices, added to the mean loss (so that Adam sees its
    gradient, unlike AdamW's). `noise` is the standard deviation of Gaussian noise on the inputs, in units of theirs.
    `stop` ends training after so many steps at the latest and takes the weights that were best on the validation rows.
    `bag` networks see bootstrap resamples of the training rows and their probabilities are averaged. `teacher` is the
    name of an earlier arm, whose probabilities on the training rows become the targets: distillation.

    >>> Arm("decay 0.01", decay=0.01).changes()
    {'decay': 0.01}
    """

    name: str
    decay: float = 0.0
    dropout: float = 0.0
    noise: float = 0.0
    smoothing: float = 0.0
    normalisation: Literal["batch", "layer", "rms", "group"] | None = None
    stop: int | None = None
    bag: int = 1
    teacher: str | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("An arm has no name; give it one that says what is changed.")
        if min(self.decay, self.noise) < 0 or not 0 <= self.dropout < 1 or not 0 <= self.smoothing < 1:
            raise ValueError(
                f"The arm {self.name} has decay {self.decay:g}, noise {self.noise:g}, dropout {self.dropout:g} and "
                f"smoothing {self.smoothing:g}; give 0 or more, and rates below 1."
            )
        if self.bag < 1 or (self.stop is not None and self.stop < 1):
            raise ValueError(f"The arm {self.name} has bag {self.bag} and stop {self.stop}; give 1 or more.")

    def changes(self) -> dict[str, Any]:
        """What differs from plain training."""
        plain = asdict(Arm(self.name))
        return {field: value for field, value in asdict(self).items() if value != plain[field]}


def standard_arms(num_steps: int = 1500, decays: Sequence[float] = (0.003, 0.01, 0.03)) -> tuple[Arm, ...]:
    """None, and one arm or more of every common regulariser; early stopping within 4/15 of the steps.

    >>> [arm.name for arm in standard_arms()][:5]
    ['none', 'decay 0.003', 'decay 0.01', 'decay 0.03', 'dropout 0.5']
    """
    return (
        Arm(NONE),
        *(Arm(f"decay {decay:g}", decay=decay) for decay in decays),
        Arm("dropout 0.5", dropout=0.5),
        Arm("dropout 0.7", dropout=0.7),
        Arm("input noise 0.5", noise=0.5),
        Arm("label smoothing 0.2", smoothing=0.2),
        Arm("early stopping", stop=max(1, round(num_steps * 4 / 15))),
        Arm("batch norm", normalisation="batch"),
        Arm("layer norm", normalisation="layer"),
        Arm(f"bag of {BAG}", bag=BAG),
        Arm("distilled bag", teacher=f"bag of {BAG}"),
    )


def unfit(arm: Arm, arms: Sequence[Arm], *, batch: int, layered: bool, held: int) -> str:
    """Why an arm cannot apply here, or nothing: to batches of so many rows, to networks without such layers.

    >>> unfit(Arm("batch norm", normalisation="batch"), (), batch=1, layered=True, held=20)
    'batch normalisation needs batches of two rows or more'
    """
    names = [other.name for other in arms]
    if arm.teacher is not None and arm.teacher not in names[: names.index(arm.name) if arm.name in names else None]:
        return f"its teacher, {arm.teacher}, is not among the arms before it"
    if (arm.dropout or arm.normalisation) and not layered:
        return "the network is built without dropout and normalisation"
    if arm.normalisation == "batch" and batch < 2:
        return "batch normalisation needs batches of two rows or more"
    if arm.stop is not None and not held:
        return "early stopping needs validation rows"
    return ""
