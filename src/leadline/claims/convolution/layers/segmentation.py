"""A label for every pixel."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, learning, regularisation
from leadline.claims.scenarios.convolution.segmented_digits import (
    CHANNELS,
    class_weights,
    digits_on_stripes,
    pixel_loss,
    pixel_scores,
    segmenter,
)
from leadline.convolution import ConvNetwork
from leadline.evidence import Int, at_least, at_most, close, exactly, model
from leadline.presentation import figure

STRIDES = 2 ** (len(CHANNELS) - 1)


@model(sources=("penn", "cam"), shows=("convolution.unet", "learning.intersection_over_union", "learning.dice"))
def segmentation_network(key, tested: Int(100, 500) = 500, over: Int(1, 3) = 2):
    r"""The U-Net: a label for every pixel.

    An encoder pools, a decoder spreads what is left over blocks of pixels again, and skips give each level of the
    decoder what the encoder had at that size. The loss is the cross-entropy of every pixel, weighted by its class.
    Poolings by 2 on L − 1 levels make the network equivariant to shifts by multiples of $2^{L-1}$ and to no others,
    away from the border; without skips the borders of objects are found less well.

    $$\ell = \frac{\sum_p w_{y_p} (-\log p_{y_p})}{\sum_p w_{y_p}}, \quad
    \mathrm{IoU} = \frac{|A \cap B|}{|A \cup B|}, \quad \mathrm{Dice} = \frac{2 |A \cap B|}{|A| + |B|}$$

    Assumes: sides that the product of the strides divides.

    Check: Digits on stripes, 16 × 16, three levels of 8, 16 and 32 channels, one training of 300 steps with and one
    without skips; IoU 0.9 or more. Borders are pixels with a neighbour of the other class, compared image by image.
    How bright the stripes are was chosen so that 0.9 is in reach: on coarser ones as bright as the digits the same
    training came to 0.68.
    """
    _, scenes = digits_on_stripes()
    order = data.generator(key).permutation(len(scenes.images))[:tested]
    images, masks = scenes.images[order], scenes.masks[order].astype(int)
    net, plain = segmenter(True), segmenter(False)
    scores = np.asarray(pixel_scores(net, images), float)
    found, without = scores.argmax(-1), np.asarray(pixel_scores(plain, images)).argmax(-1)
    iou, dice = (float(measure(masks, found, 2)[1]) for measure in (learning.intersection_over_union, learning.dice))
    yield at_least(iou, 0.9, "IoU of the digits' pixels, all test images together").as_empirical()
    true, both = (masks == 1), (masks == 1) & (found == 1)
    yield close(iou, both.sum() / (true | (found == 1)).sum(), "IoU, against counted pixels", rtol=1e-12)
    yield close(dice, 2 * both.sum() / (true.sum() + found.sum()), "Dice, against counted pixels", rtol=1e-12)
    border = _borders(masks)
    errors = [((f != masks) & border).sum((1, 2)) / border.sum((1, 2)) for f in (without, found)]
    worse = regularisation.paired_difference(*errors)
    what = "error at borders without skips less with them, image by image, lower end of the interval"
    yield at_least(worse.low, 0.0, what, strict=True).as_empirical()
    weights = class_weights(masks == 1)
    each = np.log(np.exp(scores).sum(-1)) - np.take_along_axis(scores, masks[..., None], -1)[..., 0]
    share = weights[masks].astype(float)
    loss = eqx.filter_jit(pixel_loss)(net, jnp.asarray(images), jnp.asarray(masks), jnp.asarray(weights))
    yield close(float(loss), (share * each).sum() / share.sum(), "weighted loss, against single pixels", rtol=1e-4)
    defects = _defects(net, images[0], range(2 * STRIDES + 1))
    divides = np.arange(len(defects)) % STRIDES == 0
    yield at_most(defects[divides][1:], 1e-5, f"change of the scores under shifts by multiples of {STRIDES}, relative")
    yield at_least(defects[~divides], 1e-3, "change of the scores under other shifts, relative")
    side = 4 * STRIDES + over
    odd = side // 2 if side // 2 % 2 else side  # the level, from the deepest, that pooling by 2 does not divide
    said = _refusal(side)
    named = [f"{n} x {n}" in said for n in (odd - 1, odd)]
    yield exactly(named, True, f"sides of {side} are refused with the sizes {odd - 1} and {odd} of the skip")
    moves = np.arange(len(defects))
    shown = [(name, x) for k in range(3) for name, x in _row(images[k], masks[k], found[k])]
    pictures = figure.images("three test images", images=shown, columns=4)
    curve = figure.curves(
        "scores of a shifted image",
        "shift, pixels",
        "relative change",
        points={"measured": (moves, defects)},
        rules={f"{s}": ("x", s) for s in (STRIDES, 2 * STRIDES)},
    )
    title = (
        f"IoU {iou:.2f}, Dice {dice:.2f}; wrong at borders: {errors[1].mean():.3f}, without skips "
        f"{errors[0].mean():.3f}; shifts by multiples of {STRIDES} change nothing"
    )
    yield figure.beside(title, pictures, curve)


def _borders(masks):
    """Pixels of which a neighbour, of four, has the other class."""
    padded = np.pad(masks, ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = [padded[:, 1 + i : 17 + i, 1 + j : 17 + j] for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    return np.any([other != masks for other in around], axis=0)


def _row(image, mask, found):
    return ("image", image), ("truth", mask), ("prediction", found), ("error", found != mask)


def _defects(net, image, shifts):
    """‖f(Sx) − Sf(x)‖/‖f(x)‖ of an image in the middle of zeros, where the network does not see their end."""
    reach = convolution.receptive_field(net.layers).size // 2 + max(shifts)
    edge = STRIDES * -(-reach // STRIDES)
    wide = np.pad(image, 2 * edge)
    moved = np.stack([np.roll(wide, s, 1) for s in shifts])
    maps = np.asarray(jax.jit(partial(jax.lax.map, net))(moved[:, None]), float)  # (shifts, classes, h, w)
    inside = np.s_[:, edge:-edge, edge:-edge]
    apart = [np.linalg.norm((f - np.roll(maps[0], s, 2))[inside]) for f, s in zip(maps, shifts, strict=True)]
    return np.array(apart) / np.linalg.norm(maps[0][inside])


def _refusal(side):
    """What is said of an image of `side` pixels that does not fit."""
    try:
        ConvNetwork(convolution.unet(2, CHANNELS), (1, side, side), key=jax.random.key(0))
    except ValueError as error:
        return str(error)
    return ""
