import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from quadratic_operators import with_spectrum

from leadline import curvature

EIGENVALUES = np.concatenate([np.geomspace(10, 0.01, 50), -np.geomspace(3, 0.01, 20), np.zeros(10)])
METHODS = ("hutchinson", "hutch++", "xtrace")


@pytest.fixture(scope="module")
def spread():
    return with_spectrum(EIGENVALUES)


def keys(count):
    return jax.random.split(jax.random.key(3), count)


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_is_unbiased_and_its_standard_error_is_of_the_right_size(spread, method):
    operator, _ = spread
    found = [operator.trace(key=key, probes=30, method=method) for key in keys(60)]
    values, errors = (np.array([float(part) for part in column]) for column in list(zip(*found, strict=True))[:2])
    assert abs(values.mean() - EIGENVALUES.sum()) < 4 * values.std() / np.sqrt(60)
    assert 0.6 < np.sqrt(np.mean(errors**2)) / values.std() < 1.6
    assert found[0].probes == 30


def test_hutchinsons_variance_is_twice_the_sum_of_squares_off_the_diagonal(spread):
    operator, matrix = spread
    errors = [float(operator.trace(key=key, probes=30, method="hutchinson").standard_error) for key in keys(60)]
    off = np.sum(matrix**2) - np.sum(np.diag(matrix) ** 2)
    assert np.mean(np.square(errors)) == pytest.approx(2 * off / 30, rel=0.15)


@pytest.mark.parametrize("method", ["hutch++", "xtrace"])
def test_a_low_rank_operator_has_an_exact_trace(method):
    for scale in (1.0, 1e-18):  # matfree's own threshold for the rank is absolute
        operator, _ = with_spectrum(scale * np.concatenate([[5.0, 3.0, -1.0], np.zeros(77)]))
        found = operator.trace(key=jax.random.key(0), probes=30, method=method)
        assert float(found.value) == pytest.approx(7 * scale, rel=1e-9)
        assert float(found.standard_error) < 1e-9 * scale


def test_a_small_but_full_operator_is_not_called_exact(spread):
    small = with_spectrum(1e-18 * EIGENVALUES)[0].trace(key=jax.random.key(1), probes=30, method="xtrace")
    large = spread[0].trace(key=jax.random.key(1), probes=30, method="xtrace")
    assert float(small.standard_error) > 0
    assert float(small.value) == pytest.approx(1e-18 * float(large.value), rel=1e-6)


def test_the_zero_operator_has_trace_zero():
    operator, _ = with_spectrum(np.zeros(80))
    for method in METHODS:
        assert operator.trace(key=jax.random.key(0), probes=30, method=method)[:2] == (0.0, 0.0)


@pytest.mark.parametrize("method", ["bekas", "xdiag"])
def test_the_diagonal_lies_within_its_errors(spread, method):
    operator, matrix = spread
    found = operator.diagonal(key=jax.random.key(2), probes=40, method=method)
    assert np.sqrt(np.mean((found.value - np.diag(matrix)) ** 2 / found.standard_error**2)) < 1.5
    assert np.max(np.abs(found.value - np.diag(matrix))) < 6 * np.max(found.standard_error)


def test_bekas_errors_are_the_row_norms_off_the_diagonal(spread):
    operator, matrix = spread
    found = operator.diagonal(key=jax.random.key(2), probes=40)
    off = np.sum(matrix**2, axis=1) - np.diag(matrix) ** 2
    assert np.mean(np.asarray(found.standard_error) ** 2) == pytest.approx(np.mean(off) / 40, rel=0.2)


def test_as_many_probes_as_parameters_make_it_exact(spread):
    operator, matrix = spread
    diagonal = operator.diagonal(key=jax.random.key(0), probes=80)
    np.testing.assert_allclose(diagonal.value, np.diag(matrix), atol=1e-12)
    trace = operator.trace(key=jax.random.key(0), probes=100)
    assert float(trace.value) == pytest.approx(np.trace(matrix))
    assert trace.standard_error == 0
    assert diagonal.probes == trace.probes == 80
    assert not np.any(diagonal.standard_error)


def test_an_operator_of_a_users_own_will_do():
    class Twice(eqx.Module):
        size = 70
        dtype = jnp.dtype("float32")

        def __call__(self, v):
            return 2 * v

    found = curvature.trace(Twice(), key=jax.random.key(0), method="hutchinson")
    assert found.value.dtype == jnp.float32
    assert float(found.value) == pytest.approx(140, rel=1e-5)


def test_bad_input_is_refused(spread):
    operator, _ = spread
    with pytest.raises(ValueError, match="hutch"):
        operator.trace(key=jax.random.key(0), method="hutch")
    with pytest.raises(ValueError, match="at least 6"):
        operator.trace(key=jax.random.key(0), probes=5)
    with pytest.raises(ValueError, match="bekas"):
        operator.diagonal(key=jax.random.key(0), method="exact")
    with pytest.raises(ValueError, match="at least 2"):
        operator.diagonal(key=jax.random.key(0), probes=1)
