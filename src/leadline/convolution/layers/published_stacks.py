"""Stacks that have a name: the pyramid, the network without pooling, the inception block and the U-Net, as layers."""

from collections.abc import Sequence
from typing import Literal

from .block_kinds import DropoutLayer, GlobalPool, Layer, Parallel, UpLayer
from .layer_kinds import ConvLayer, DenseLayer, PoolLayer


def pyramid(
    channels: Sequence[int],
    classes: int,
    *,
    kernel: int = 3,
    wrap: bool = False,
    head: Literal["dense", "max", "mean"] = "dense",
) -> list[Layer]:
    """Convolutions to ever more channels, each with pooling by 2, and a dense layer of all, or of the maxima or means.

    With global pooling (`head` "max" or "mean") there is none between the convolutions, so that with `wrap` the
    scores do not change under circular shifts.

    >>> from leadline.convolution import stack_costs
    >>> [row.shape for row in stack_costs(pyramid((8, 16), 10), (1, 28, 28)).rows]
    [(8, 28, 28), (8, 14, 14), (16, 14, 14), (16, 7, 7), (10,)]
    >>> stack_costs(pyramid((16, 32, 32), 10, wrap=True, head="max"), (1, 12, 12)).parameters
    14378
    """
    if not channels:
        raise ValueError("pyramid got no channels; give the number of each convolution.")
    layers: list[Layer] = []
    for width in channels:
        layers.append(ConvLayer(width, kernel, padding="same", wrap=wrap))
        if head == "dense":
            layers.append(PoolLayer(2))
    if head != "dense":
        layers.append(GlobalPool(head))
    return [*layers, DenseLayer(classes)]


def all_convolutional(classes: int = 10, channels: tuple[int, int] = (96, 192), *, dropout: float = 0.0) -> list[Layer]:
    """Nine convolutions with strides in place of poolings and a mean over positions for scores.

    Springenberg et al. 2014 in the course's form, with 3 x 3 taps in the last layer but one: 1,663,392 weights.

    >>> from leadline.convolution import stack_costs
    >>> sum(row.weights for row in stack_costs(all_convolutional(), (3, 32, 32)).rows)
    1663392
    """
    first, second = channels

    def stage(width: int) -> list[Layer]:
        same = ConvLayer(width, 3, padding="same")
        return [
            same,
            same,
            ConvLayer(width, 3, stride=2, padding="same"),
            *([DropoutLayer(dropout)] if dropout else []),
        ]

    last = [ConvLayer(second, 3, padding="same")] * 2
    return [*stage(first), *stage(second), *last, ConvLayer(classes, 1), GlobalPool("mean")]


def inception(one: int, three: tuple[int, int], five: tuple[int, int], pool: int) -> Parallel:
    """Fields of 1, 3 and 5 taps and a 3 x 3 maximum beside one another (Szegedy et al. 2014).

    `three` and `five` are (r, channels): 1 x 1 convolutions to r channels stand before the wide ones, which makes
    k² C O multiplications a pixel into C r + k² r O.

    >>> inception(64, (96, 128), (16, 32), 32).output((192, 28, 28))  # the block 3a of GoogLeNet
    (256, 28, 28)
    """
    return Parallel(
        [
            [ConvLayer(one, 1)],
            [ConvLayer(three[0], 1), ConvLayer(three[1], 3, padding="same")],
            [ConvLayer(five[0], 1), ConvLayer(five[1], 5, padding="same")],
            [PoolLayer(3, stride=1, padding="same"), ConvLayer(pool, 1)],
        ]
    )


def unet(classes: int, channels: Sequence[int] = (16, 32, 64), *, kernel: int = 3, skips: bool = True) -> list[Layer]:
    """A U-Net (Ronneberger et al. 2015): scores of `classes` for every position of an image, a signal or a volume.

    At each of the `channels` but the last: two convolutions, whose output goes on twice, once as it is and once
    through pooling, the deeper levels and upsampling; both together go through two more convolutions. With L levels
    the sides must be multiples of 2^(L-1). Without `skips` only the deeper levels go on: an encoder and a decoder.

    >>> from leadline.convolution import stack_costs
    >>> stack_costs(unet(3, (4, 8)), (1, 16, 16)).rows[-1].shape
    (3, 16, 16)
    """
    if not channels:
        raise ValueError("unet got no channels; give the number at each level, the finest first.")
    return [*_level(tuple(channels), kernel, skips), ConvLayer(classes, 1)]


def _level(channels: tuple[int, ...], kernel: int, skips: bool) -> list[Layer]:
    pair: list[Layer] = [ConvLayer(channels[0], kernel, padding="same")] * 2
    if len(channels) == 1:
        return pair
    below: list[Layer] = [PoolLayer(2), *_level(channels[1:], kernel, skips), UpLayer(channels[0])]
    return [*pair, Parallel([(), below]), *pair] if skips else [*pair, *below, *pair]
