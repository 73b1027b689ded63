"""Whether anything got worse: ratios of now beside those of the committed table, never times."""

from .outcome import GrowthOutcome, Outcome

WORSE = 0.3  # the share of a ratio that may be lost


def loss(now: Outcome | GrowthOutcome, before: Outcome | GrowthOutcome | None) -> float:
    """The share of the committed ratio that is lost, at least 0; all of it where there is no ratio any more."""
    if not isinstance(before, Outcome) or not isinstance(now, Outcome) or before.ratio is None:
        return 0.0
    return 1.0 if now.ratio is None else max(0.0, 1.0 - now.ratio / before.ratio)


def sentence(now: Outcome, before: Outcome) -> str:
    """What got worse, for people."""
    if now.ratio is None:
        return f"{now.case}: no ratio any more ({'; '.join(now.refused)})"
    return f"{now.case}: {now.ratio:.2f} times {now.best_rival}, was {before.ratio:.2f} times {before.best_rival}"
