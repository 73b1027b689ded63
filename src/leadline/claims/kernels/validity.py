"""The hunter: what it must refute, and what it must not."""

from functools import partial
from typing import Annotated

import jax
import numpy as np

from leadline import kernels
from leadline.evidence import Range, at_least, at_most, close, exactly, figure, instrument


@instrument(
    "kernel-validity-hunter",
    says=(
        "Given a similarity of any objects and a sampler, it searches for points on which the Gram matrix has a "
        "negative eigenvalue, and shrinks them to a minimal certificate. Its verdict is refuted, with points and "
        "coefficients, or not refuted in so many trials; never proved."
    ),
    formula=r"\text{refuted by } (x_i), c: \quad \sum_{i,j} c_i c_j\, k(x_i, x_j) < 0",
    sources=("penn", "cam"),
    shows=("kernels.hunt", "kernels.Hunt"),
)
def kernel_validity_hunter(
    key,
    trials: Annotated[int, Range(300, 10_000, log=True)] = 1000,
    spread: Annotated[float, Range(1.0, 3.0)] = 1.5,
    size: Annotated[int, Range(6, 10)] = 8,
):
    """Seven similarities that are no kernels, six that are, on vectors, numbers and binary strings."""
    wrong = {
        "tanh(x·y − 1)": (_tanh_minus, _vector(spread), {}),
        "tanh(x·y + 1)": (_tanh_plus, _vector(spread), {}),
        "‖x − y‖²": (_squared_distance, _vector(spread), {}),
        "1{|x − y| < 1}": (_box, _number(spread), {}),
        "(xy − 1)²": (_shifted_square, _number(spread), {}),
        "exp(−edit/10)": (partial(kernels.edit_similarity, gamma=0.1), _word, {"of_lists": True}),
        "1 − edit/maxlen": (kernels.relative_edit_similarity, _word, {"of_lists": True}),
    }
    right = {
        "Gaussian": (kernels.Gaussian(1.0), _vector(spread)),
        "Laplace": (kernels.Laplace(1.0), _vector(spread)),
        "steps": (kernels.ArcCosine(0), _vector(spread)),
        "ReLU": (kernels.ArcCosine(1), _vector(spread)),
        "minimum": (kernels.Minimum(), _number(spread)),
        "subsequences": (kernels.Subsequence(2, 0.5), _word),
    }
    keys = dict(zip([*wrong, *right], jax.random.split(key, len(wrong) + len(right)), strict=True))
    found = {
        name: kernels.hunt(k, draw, key=keys[name], size=size, seconds=60, **how)
        for name, (k, draw, how) in wrong.items()
    }
    yield exactly([f.refuted for f in found.values()], True, "refuted: " + ", ".join(wrong))
    values, refound = [], []
    for name, (k, _, how) in wrong.items():
        points = list(found[name].points)
        whole = how.get("of_lists", False)
        gram = np.asarray(k(points, points) if whole else [[k(a, b) for b in points] for a in points], float)
        values.append(found[name].value)
        refound.append(found[name].coefficients @ gram @ found[name].coefficients)
    yield close(refound, values, "c·Gc computed anew from points and coefficients", rtol=1e-9)
    yield at_most(values, 0.0, "c·Gc of the certificates", strict=True)
    sizes = [len(f.points) for f in found.values()]
    yield at_most(sizes, [1, 2, 2, 3, 2, 8, 8], "points in a certificate")

    exact = {
        "tanh(x·y − 1) at 0": (_tanh_minus, [np.zeros(2)], np.tanh(-1.0)),
        "‖x − y‖² at 0, 1": (_squared_distance, [np.zeros(1), np.ones(1)], -1.0),
        "(xy − 1)² at 0, 1": (_shifted_square, [0.0, 1.0], (1 - 5**0.5) / 2),
        "box at 0, 0.75, 1.5": (_box, [0.0, 0.75, 1.5], 1 - 2**0.5),
    }
    yield close(
        [kernels.hunt(k, pool=points, key=key).value for k, points, _ in exact.values()],
        [value for _, _, value in exact.values()],
        "c·Gc on given points: " + ", ".join(exact),
        atol=1e-12,
    )
    passed = {
        name: kernels.hunt(k, draw, key=keys[name], trials=trials, size=size, seconds=600)
        for name, (k, draw) in right.items()
    }
    yield exactly([f.refuted for f in passed.values()], False, "refuted: " + ", ".join(right))
    yield at_least([f.trials for f in passed.values()], trials, "trials before giving up")
    swapped = kernels.hunt(lambda x, y: float(x[0] * y[1]), _vector(spread), key=key)
    yield exactly(swapped.reason, "asymmetric", "reason for refuting x₁y₂")

    certificate = found["exp(−edit/10)"]
    yield figure.beside(
        f"Seven similarities refuted by {min(sizes)} to {max(sizes)} points; six kernels pass {trials} trials",
        figure.curves(
            "Least eigenvalue found so far",
            x="trials",
            y="eigenvalue",
            steps={
                name: _course(found[name], trials) for name in ("exp(−edit/10)", "1 − edit/maxlen", "1{|x − y| < 1}")
            }
            | {name: _course(passed[name], trials) for name in ("Gaussian", "subsequences")},
            log="x",
        ),
        figure.bars(
            f"exp(−edit/10) refuted by c with c·Gc = {certificate.value:.4f}",
            x="string",
            y="coefficient c",
            values={"c": {repr(p)[1:-1]: c for p, c in zip(certificate.points, certificate.coefficients, strict=True)}},
        ),
    )


def _course(hunt, trials: int) -> tuple[list[float], list[float]]:
    at, least = zip(*hunt.history, strict=True)
    return [*at, max(trials, hunt.trials)], [*least, least[-1]]


def _vector(spread):
    return lambda rng: spread * rng.standard_normal(2)


def _number(spread):
    return lambda rng: float(spread * rng.standard_normal())


def _word(rng):
    return "".join(rng.choice(["a", "b"], rng.integers(1, 6)))


def _tanh_minus(x, y):
    return float(np.tanh(x @ y - 1))


def _tanh_plus(x, y):
    return float(np.tanh(x @ y + 1))


def _squared_distance(x, y):
    return float(((x - y) ** 2).sum())


def _box(x, y):
    return float(abs(x - y) < 1)


def _shifted_square(x, y):
    return (x * y - 1) ** 2
