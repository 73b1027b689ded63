"""The hunter: what it must refute, and what it must not."""

from functools import partial

import jax
import numpy as np

from leadline import kernels
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("penn", "cam"))
def kernel_validity_hunter(
    key, trials: Int(300, 10_000, log=True) = 1000, spread: Real(1.0, 3.0) = 1.5, size: Int(6, 10) = 8
):
    r"""Searching for counterexamples to kernel validity.

    Given a similarity of any objects and a sampler, it searches for points on which the Gram matrix has a negative
    eigenvalue, and shrinks them to a minimal certificate. Its verdict is “refuted”, with points and coefficients, or
    “not refuted” in so many trials, but never “proved”.

    $$\text{refuted by } (x_i), c: \quad \sum_{i,j} c_i c_j\, k(x_i, x_j) < 0$$

    Check: Seven similarities that are not kernels and six that are get searched, on vectors, numbers and binary
    strings.
    """
    vector, number = lambda rng: spread * rng.standard_normal(2), lambda rng: float(spread * rng.standard_normal())
    wrong = {
        "tanh(x·y − 1)": (lambda x, y: float(np.tanh(x @ y - 1)), vector, {}),
        "tanh(x·y + 1)": (lambda x, y: float(np.tanh(x @ y + 1)), vector, {}),
        "‖x − y‖²": (lambda x, y: float(((x - y) ** 2).sum()), vector, {}),
        "1{|x − y| < 1}": (lambda x, y: float(abs(x - y) < 1), number, {}),
        "(xy − 1)²": (lambda x, y: (x * y - 1) ** 2, number, {}),
        "exp(−edit/10)": (partial(kernels.edit_similarity, gamma=0.1), _word, {"of_lists": True}),
        "1 − edit/maxlen": (kernels.relative_edit_similarity, _word, {"of_lists": True}),
    }
    right = {
        "Gaussian": (kernels.Gaussian(1.0), vector),
        "Laplace": (kernels.Laplace(1.0), vector),
        "steps": (kernels.ArcCosine(0), vector),
        "ReLU": (kernels.ArcCosine(1), vector),
        "minimum": (kernels.Minimum(), number),
        "subsequences": (kernels.Subsequence(2, 0.5), _word),
    }
    keys = dict(zip([*wrong, *right], jax.random.split(key, len(wrong) + len(right)), strict=True))
    found = {
        name: kernels.hunt(k, draw, key=keys[name], size=size, seconds=60, **how)
        for name, (k, draw, how) in wrong.items()
    }
    yield exactly(sum(not f.refuted for f in found.values()), 0, "not refuted of " + ", ".join(wrong))
    values, refound = [], []
    for name, (k, _, how) in wrong.items():
        points, c = list(found[name].points), found[name].coefficients
        gram = np.asarray(k(points, points) if how else [[k(a, b) for b in points] for a in points], float)
        values.append(found[name].value)
        refound.append(c @ gram @ c)
    yield close(refound, values, "c·Gc computed anew from points and coefficients", rtol=1e-9)
    yield at_most(values, 0.0, "c·Gc of the certificates", strict=True)
    sizes = [len(f.points) for f in found.values()]
    yield at_most(sizes, [1, 2, 2, 3, 2, 8, 8], "points in a certificate")

    exact = {
        "tanh(x·y − 1)": ([np.zeros(2)], np.tanh(-1.0)),
        "‖x − y‖²": ([np.zeros(1), np.ones(1)], -1.0),
        "(xy − 1)²": ([0.0, 1.0], (1 - 5**0.5) / 2),
        "1{|x − y| < 1}": ([0.0, 0.75, 1.5], 1 - 2**0.5),
    }
    for name, (points, value) in exact.items():
        least = kernels.hunt(wrong[name][0], pool=points, key=key).value
        at = ", ".join(f"{np.ravel(p)[0]:g}" for p in points)
        yield close(least, value, f"c·Gc of {name} at {at}", atol=1e-12)
    passed = {
        name: kernels.hunt(k, draw, key=keys[name], trials=trials, size=size, seconds=600)
        for name, (k, draw) in right.items()
    }
    yield exactly(sum(f.refuted for f in passed.values()), 0, "refuted of " + ", ".join(right))
    yield at_least([f.trials for f in passed.values()], trials, "trials of kernels before giving up")
    swapped = kernels.hunt(lambda x, y: float(x[0] * y[1]), vector, key=key)
    yield exactly(swapped.reason, "asymmetric", "reason for refuting x₁y₂")

    certificate = found["exp(−edit/10)"]
    drawn = {name: found[name] for name in ("exp(−edit/10)", "1 − edit/maxlen", "1{|x − y| < 1}")}
    drawn |= {name: passed[name] for name in ("Gaussian", "subsequences")}
    steps = {name: _course(hunt, trials) for name, hunt in drawn.items()}
    title = f"exp(−edit/10) refuted by c with c·Gc = {certificate.value:.4f}"
    values = {repr(p)[1:-1]: c for p, c in zip(certificate.points, certificate.coefficients, strict=True)}
    yield figure.beside(
        f"Seven similarities refuted by {min(sizes)} to {max(sizes)} points; six kernels pass {trials} trials",
        figure.curves("Least eigenvalue found so far", "trials", "eigenvalue", steps=steps, log="x"),
        figure.bars(title, "string", "coefficient c", values={"c": values}),
    )


def _course(hunt, trials: int) -> tuple[list[float], list[float]]:
    at, least = zip(*hunt.history, strict=True)
    return [*at, max(trials, hunt.trials)], [*least, least[-1]]


def _word(rng):
    return "".join(rng.choice(["a", "b"], rng.integers(1, 6)))
