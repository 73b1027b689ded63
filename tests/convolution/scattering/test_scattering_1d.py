import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import Scattering1D

# kymatio 0.3.0 (scipy 1.16.3), float64 input x = sin(0.02 t²) + 0.01 t, t < 80.
# Scattering1D(3, 80, Q=(3, 1))(x)[:, 4]
KYMATIO = [0.3370202, 0.0831184, 0.1652184, 0.1965691, 0.173001, 0.0672847, 0.052346, 0.0404656, 0.0086501, 0.0119365]
KYMATIO += [0.0218675, 0.0246981, 0.0196748]
# Scattering1D(4, 80, Q=2, T=11)(x)[:, 2]
KYMATIO_SHORT = [0.3275082, 0.0523213, 0.1092107, 0.148667, 0.1656471, 0.07691, 0.0771432, 0.0146628, 0.0114472]
KYMATIO_SHORT += [0.0067078, 0.0062892, 0.0098521, 0.0131881, 0.0158584, 0.0210649, 0.0211478, 0.0222894, 0.0187377]
KYMATIO_SHORT += [0.0047198, 0.004029]

T = np.arange(80)
CHIRP = np.sin(0.02 * T**2) + 0.01 * T


def by_definition(scattering, signal):
    """Every path by Fourier at full resolution; at the end, the samples that the averages keep."""
    spare = scattering.padded_length - len(signal)
    x = np.pad(signal, (spare // 2, spare - spare // 2), mode="reflect")
    coefficients = []
    for path in scattering.paths:
        u = x
        for order, n in enumerate(path):
            u = np.abs(np.fft.ifft(np.fft.fft(u) * scattering.banks[order].wavelets[n]))
        smooth = np.fft.ifft(np.fft.fft(u) * scattering.banks[0].lowpass).real
        step = 2 ** int(np.log2(scattering.averaging or 2**scattering.scales))
        at = np.arange(0, scattering.padded_length, step)
        coefficients.append(smooth[at[(at >= spare // 2) & (at < spare // 2 + len(signal))]])
    return np.array(coefficients)


@pytest.mark.parametrize(
    ("scattering", "column", "expected"),
    [(Scattering1D(80, 3, (3, 1)), 4, KYMATIO), (Scattering1D(80, 4, 2, averaging=11), 2, KYMATIO_SHORT)],
)
def test_coefficients_are_those_of_kymatio_but_for_its_gain(scattering, column, expected):
    ours = np.asarray(scattering(CHIRP)) * scattering.kymatio_gains[:, None]
    np.testing.assert_allclose(ours[:, column], expected, atol=1e-6)
    assert scattering.kymatio_gains.min() < 1  # the gain matters here


@pytest.mark.parametrize("options", [(3, (3, 1)), (4, 1), (4, 2, 11), (5, 4)])
def test_subsampling_changes_a_thousandth_at_most(options):
    """The definition knows no subsampling and no gain of kymatio's: this is why the gains are not part of ours."""
    scattering = Scattering1D(80, *options)
    slow = by_definition(scattering, CHIRP)
    np.testing.assert_allclose(scattering(CHIRP), slow, atol=1e-3 * np.abs(slow).max())


def test_a_batch_is_its_signals_one_by_one_in_their_precision():
    scattering = Scattering1D(80, 3)
    batch = np.stack([CHIRP, CHIRP[::-1]])
    np.testing.assert_allclose(scattering(batch), np.stack([scattering(x) for x in batch]), atol=1e-14)
    assert scattering(batch[None]).shape == (1, 2, len(scattering.paths), 10)
    single = scattering(jnp.asarray(batch, jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, scattering(batch), atol=1e-6)


def test_first_order_alone_is_the_beginning_of_both():
    both, first = Scattering1D(80, 3, 2), Scattering1D(80, 3, 2, max_order=1)
    np.testing.assert_allclose(first(CHIRP), both(CHIRP)[: len(first.paths)], atol=1e-14)
    assert max(map(len, first.paths)) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((10, 4), "averages over 16"), ((80, 3, 0), "per_octave = 0"), ((80, 3, 1, None, 0), "max_order = 0")],
)
def test_a_transform_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Scattering1D(*arguments)


def test_signals_of_another_length_are_refused():
    with pytest.raises(ValueError, match="of 80 samples got"):
        Scattering1D(80, 3)(np.ones(79))
