"""The infinitely wide twin of a subject: its kernel beside that of the network at the start, its test score."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..instrument_contract import NotApplicable
from ..subject import Subject

TESTED = 500  # test rows on which twin and network are compared
ENTRIES = 5e7  # numbers of a convolutional kernel that are made
FEWEST = 40  # rows below which a twin is not worth training


class WideTwin(NamedTuple):
    """What the infinitely wide network of the same architecture has and does.

    `distance`, `copies` and `limit` are those of `tangent.WideDistance` at the start, `width` the narrowest hidden
    layer; `eigenvalues` of its kernel on the first rows. Kernel regression on `rows` rows gives `score` on test rows;
    `only_twin` and `only_network` count test rows that just one of both gets right. None where that does not apply.
    """

    distance: float
    copies: Float[np.ndarray, " c"]
    limit: float
    width: int | None
    eigenvalues: Float[np.ndarray, " n"]
    rows: int
    score: float | None
    network_score: float | None
    only_twin: int | None
    only_network: int | None


def wide_twin(
    subject: Subject, f: Any, kernel: np.ndarray | None, targets: np.ndarray, key: PRNGKeyArray
) -> WideTwin | NotApplicable:
    """The twin of a subject, or the part of the report that does not apply and why.

    `kernel` is the averaged kernel at the start on the first rows, `f` the function whose kernel it is, and `targets`
    are those of all sampled rows, (n, k).
    """
    what = "kernel of the infinitely wide network"
    if kernel is None:
        return NotApplicable(what, "the parameters before training are known")
    if subject.module is None or not isinstance(subject.module, eqx.Module):
        return NotApplicable(what, "the network is an Equinox module, whose layers can be read")
    from leadline import infinite_width, networks, tangent

    own = isinstance(subject.module, networks.MLP | networks.ResidualNetwork)
    drawn = getattr(subject.module, "parametrisation", "standard") == "ntk"
    if own and not drawn and subject.past.init is None:
        return NotApplicable(what, "the rule that drew the first weights is known")
    try:
        wide = infinite_width.wide_kernel(subject.module, init=subject.past.init or "he")
        rows, tests = _affordable(subject, wide)
        if rows < FEWEST:
            return NotApplicable(what, f"its kernel on {FEWEST} images fits into memory")
        seen = subject.sample.inputs[:rows]
        unseen = seen[:0] if subject.test is None else subject.test.inputs[:tests]
        theta = np.asarray(wide.kernel_fn(np.concatenate([seen, unseen])), np.float64)
    except (ValueError, NotImplementedError, TypeError) as error:
        return NotApplicable(what, "a limit is known: " + _clause(error))
    first = min(len(kernel), rows)
    found = tangent.distance_to_wide(
        f, subject.past.start, seen[:first], theta[:first, :first], key=key, kernel=kernel[:first, :first]
    )
    spectrum = np.linalg.eigvalsh(theta[:first, :first])[::-1]
    width, scores = _width(subject), (None, None, None, None)
    if subject.test is not None:
        outputs = regression(theta[:rows, :rows], targets[:rows], theta[rows:, :rows])
        scores = _scores(subject, outputs, tests)
    return WideTwin(found.distance, found.copies, found.limit, width, spectrum, rows, *scores)


def regression(kernel: np.ndarray, targets: np.ndarray, cross: np.ndarray) -> Float[np.ndarray, "m k"]:
    """Θ(x, X) (Θ + ε tr Θ)⁻¹ y, ε the rounding of single precision: training to the end from outputs 0."""
    ridge = float(np.finfo(np.float32).eps) * float(np.trace(kernel))
    return cross @ np.linalg.solve((kernel + kernel.T) / 2 + ridge * np.eye(len(kernel)), targets)


def _affordable(subject: Subject, wide: Any) -> tuple[int, int]:
    rows, tests = subject.sample.count, 0 if subject.test is None else subject.scored(subject.test).first(TESTED).count
    if not wide.channels_first:
        return rows, tests
    places = int(np.prod(subject.input_shape[1:]))
    most = int(ENTRIES**0.5 / places)
    return min(rows, most // 2), min(tests, most // 2)


def _scores(subject: Subject, outputs: np.ndarray, tests: int) -> tuple:
    assert subject.test is not None  # else no test row was asked for
    targets, scores = subject.test.targets[:tests], subject.test_scores[:tests]
    if not subject.classifies:
        y = targets.reshape(tests, -1)
        spread = max(float(np.mean((y - y.mean(axis=0)) ** 2)), np.finfo(float).tiny)
        return *(1 - float(np.mean((f - y) ** 2)) / spread for f in (outputs, scores)), None, None
    guess = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
    twin, network = guess == targets, scores.argmax(axis=1) == targets
    return float(twin.mean()), float(network.mean()), int(np.sum(twin & ~network)), int(np.sum(network & ~twin))


def _width(subject: Subject) -> int | None:
    shapes = [leaf.shape for leaf in jax.tree.leaves(subject.params) if leaf.ndim >= 2]
    return min((shape[-2] if len(shape) == 3 else shape[0] for shape in shapes[:-1]), default=None)


def _clause(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
