"""Shannon's chain from source to receiver, on real images."""

from collections import Counter

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, frequency, method, reference
from leadline.neurons import coding
from leadline.neurons.coding.channel import binary_entropy
from leadline.presentation import figure

CODES = {"none": coding.Repetition(1), "repetition": coding.Repetition(3), "hamming": coding.Hamming()}
NOISES = (0.003, 0.01, 0.03, 0.1)  # of the figure


SHOWS = ("huffman_code", "huffman_encode", "huffman_decode")


@method(sources=("penn",), shows=tuple(f"neurons.coding.{name}" for name in SHOWS))
def channel_coding_pipeline(
    key,
    eps: Real(0.001, 0.3, log=True) = 0.05,
    code: OneOf("hamming", "repetition", "none") = "hamming",
    step_size: Real(0.5, 20.0, log=True) = 6.0,
    images: Int(1, 300) = 100,
):
    r"""Source and channel coding pipeline.

    Compress, protect, send, repair, decompress: a Huffman code stays within one bit of the entropy, the Hamming(7,4)
    code turns a flip rate ε into about 9ε², and quantising the DCT coefficients loses information.

    $$H \le L < H + 1, \qquad P_{\mathrm{block}} = 1 - (1-\varepsilon)^7 - 7\varepsilon(1-\varepsilon)^6, \qquad
    P_{\mathrm{bit}} = 9\varepsilon^2 + O(\varepsilon^3), \qquad C = 1 - H_2(\varepsilon)$$

    Assumes: the code table and the lengths of the packets arrive intact.

    Check: Digit images of 17 grey levels; `step_size` is the rounding step of the DCT coefficients.
    """
    send_key, bits_key, noise_key, figure_key = jax.random.split(key, 4)
    pictures = data.digits().images[:images].reshape(-1, 8, 8)
    chosen = CODES[code]
    lossless = coding.transmit(pictures, chosen, 0.0, key=send_key)
    yield at_least(lossless.mean_length, lossless.entropy, "Huffman bits per pixel, against H", rtol=1e-12)
    yield at_most(lossless.mean_length, lossless.entropy + 1, "Huffman bits per pixel, against H + 1", strict=True)
    levels = Counter(np.rint(pictures * 16).astype(int).ravel().tolist())
    yield exactly(lossless.source_bits, _huffman_cost(levels), "bits of all images, against the merging cost")
    yield exactly(lossless.distortion, 0.0, "squared error of Huffman without noise")
    lossy = coding.transmit(pictures, chosen, 0.0, key=send_key, step_size=step_size)
    yield at_most(lossy.distortion, (step_size / 16) ** 2 / 4, "squared error of DCT quantisation, against step²/4")
    exact = [coding.Hamming().bit_error(e) for e in (0.01, 0.05, 0.1)]
    what = "Hamming bit error by enumeration, ε = 0.01, 0.05, 0.1"
    yield reference(exact, [8.743e-4, 0.01943, 0.06688], what, digits=4)
    yield close(coding.Hamming().bit_error(1e-5) / 1e-10, 9.0, "Hamming bit error over ε², ε = 10⁻⁵", rtol=1e-3)
    tripled = coding.Repetition(3).bit_error(eps)
    yield close(tripled, 3 * eps**2 - 2 * eps**3, "repetition bit error, against 3ε² − 2ε³", rtol=1e-12)
    confidence = 1 - 0.01 / 7  # seven families of intervals, 1% in all
    blocks = 20_000
    sent = np.asarray(jax.random.bernoulli(bits_key, 0.5, (4 * blocks,))).astype(np.uint8)
    for name, each in CODES.items():
        received, flips = coding.send(sent, each, eps, key=noise_key)
        wrong = (np.asarray(received) != sent).reshape(-1, each.message)
        total = len(wrong) * each.length
        yield frequency(flips, total, eps, f"flips on the channel, {name}", confidence=confidence)
        # The bits of a block fail together, so the places in a block are counted one by one.
        expected = each.bit_error(eps)
        yield frequency(wrong.sum(0), len(wrong), expected, f"wrong bits after decoding, {name}", confidence=confidence)
        if name == "hamming":
            predicted = 1 - (1 - eps) ** 7 - 7 * eps * (1 - eps) ** 6
            failed, what = wrong.any(1).sum(), "wrong blocks after decoding, hamming"
            yield frequency(failed, len(wrong), predicted, what, confidence=confidence)
    capacity = float(coding.channel_capacity(eps))
    yield close(capacity, _information(eps), "capacity 1 − H₂(ε), against I(X; Y) of fair bits", rtol=1e-9, atol=1e-12)
    through = [_information_through(each, eps) for each in (CODES["repetition"], CODES["hamming"])]
    yield at_most(through, capacity, "rate × (1 − H₂(bit error)) of both codes, against capacity")
    noisy = coding.transmit(pictures, chosen, eps, key=send_key)
    title = f"{eps:.2%} of the bits flipped, {noisy.bit_errors / noisy.source_bits:.2%} wrong after decoding ({code})"
    yield figure.beside(title, _error_curves(figure_key, sent), _received_images(figure_key, pictures[:1]))


def _huffman_cost(counts):
    """Bits that Huffman's code spends in all: the sum of the joined counts, whatever the codewords."""
    counts, total = sorted(counts.values()), 0
    while len(counts) > 1:
        joined = counts[0] + counts[1]
        counts, total = sorted([joined, *counts[2:]]), total + joined
    return total


def _information(eps):
    """Mutual information in bits of a fair input bit and the received one, from their joint table."""
    joint = np.array([[1 - eps, eps], [eps, 1 - eps]]) / 2
    return float((joint * np.log2(joint / 0.25)).sum())


def _information_through(code, eps):
    """R (1 − H₂(p_b)): at most the capacity for any code, by the converse of the coding theorem."""
    return code.message / code.length * (1 - float(binary_entropy(code.bit_error(eps))))


def _error_curves(key, sent):
    grid, lines, points = np.geomspace(0.001, 0.3, 40), {}, {}
    for name, code in CODES.items():
        lines[name] = (grid, [code.bit_error(e) for e in grid])
        rates = [float((coding.send(sent, code, e, key=key)[0] != sent).mean()) for e in NOISES]
        points[name] = (NOISES, rates)
    title = "bit error after decoding"
    return figure.curves(title, "flip probability ε", "bit error", lines=lines, points=points, log="xy")


def _received_images(key, picture):
    grid = []
    for name, code in CODES.items():
        arrived = [coding.transmit(picture, code, e, key=key).images[0] for e in NOISES]
        grid.append(("sent", picture[0]))
        grid += [(f"{name}, ε = {e:g}", image) for e, image in zip(NOISES, arrived, strict=True)]
    return figure.images("one digit, Huffman-coded, as it arrives", images=grid, columns=1 + len(NOISES))
