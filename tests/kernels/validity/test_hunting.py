import jax
import numpy as np
import pytest

from leadline import kernels

KEY = jax.random.key(0)


def vector(rng):
    return rng.normal(size=2)


def number(rng):
    return rng.uniform(-3, 3)


def word(rng):
    return "".join(rng.choice(list("ab"), rng.integers(1, 6)))


def edit(s, t):
    return float(np.exp(-0.1 * kernels.edit_distances([s], [t])[0, 0]))


REFUTED = {
    "tanh(x·y - 1)": (lambda x, y: np.tanh(x @ y - 1), vector, 1),
    "tanh(x·y + 1)": (lambda x, y: np.tanh(x @ y + 1), vector, 2),
    "squared distance": (lambda x, y: ((x - y) ** 2).sum(), vector, 2),
    "box": (lambda x, y: float(abs(x - y) < 1), number, 3),
    "(xy - 1)²": (lambda x, y: (x * y - 1) ** 2, number, 2),
    "edit distance": (edit, word, 8),
}


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_no_kernel_is_refuted_by_a_minimal_certificate(name):
    similarity, sampler, largest = REFUTED[name]
    found = kernels.hunt(similarity, sampler, key=KEY, seconds=60)
    assert found.refuted
    assert len(found.points) <= largest
    gram = np.array([[similarity(a, b) for b in found.points] for a in found.points])
    assert found.coefficients @ gram @ found.coefficients == pytest.approx(found.value)
    assert found.value < 0
    for i in range(len(gram)):  # minimal: without any one point nothing is left of it
        rest = np.delete(np.delete(gram, i, 0), i, 1)
        assert rest.size == 0 or np.linalg.eigvalsh(rest)[0] > 0.2 * found.value
    assert str(found).startswith("refuted by")


@pytest.mark.parametrize(
    ("kernel", "sampler"),
    [
        (kernels.Gaussian(1.0), vector),
        (kernels.Laplace(1.0), vector),
        (kernels.ArcCosine(0), vector),
        (kernels.ArcCosine(1), vector),
        (kernels.Minimum(), number),
        (kernels.Subsequence(2, 0.5), word),
    ],
    ids=lambda v: type(v).__name__,
)
def test_kernels_are_not_refuted(kernel, sampler):
    found = kernels.hunt(kernel, sampler, key=KEY, trials=600, seconds=60)
    assert not found.refuted
    assert found.trials >= 600
    assert str(found).startswith("not refuted in")


def test_an_asymmetric_similarity_is_refuted_by_a_pair():
    found = kernels.hunt(lambda x, y: x[0] * y[1], vector, key=KEY)
    assert (found.refuted, found.reason, len(found.points)) == (True, "asymmetric", 2)


def test_a_pool_is_decided_as_a_whole():
    words = ["a", "ab", "ba", "bb", "aba"]
    found = kernels.hunt(edit, pool=words, key=KEY)
    assert set(found.points) == set(words)
    assert found.value == pytest.approx(-0.0257815, abs=1e-7)
    assert kernels.hunt(edit, pool=words[:4], key=KEY).trials == 1


def test_single_precision_is_allowed_its_rounding():
    def single(x, z):
        return kernels.Gaussian(1.0)(x.astype(np.float32), z.astype(np.float32))

    assert not kernels.hunt(single, vector, of_lists=True, key=KEY, trials=600, seconds=60).refuted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a sampler or a pool"),
        ({"pool": []}, "empty pool"),
        ({"pool": [1.0, 2.0], "trials": 0}, "at least 1 trial"),
    ],
)
def test_bad_input_is_said_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        kernels.hunt(lambda x, z: x * z, key=KEY, **arguments)


def test_a_similarity_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match="gave nan"):
        kernels.hunt(lambda x, z: float("nan"), number, key=KEY)


def test_the_certificate_of_a_pool_is_of_its_objects():
    points = [0.0, 1.0, 2.0]
    found = kernels.hunt(lambda x, z: (x - z) ** 2, pool=points, key=KEY)
    assert set(found.points) <= set(points)
    many = [float(x) for x in np.linspace(0, 3, 500)]
    found = kernels.hunt(lambda x, z: float(abs(x - z) < 1), pool=many, key=KEY)
    assert found.refuted
    assert set(found.points) <= set(many)
