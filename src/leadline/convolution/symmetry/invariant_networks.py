"""A network that is exactly invariant to circular shifts: circular convolutions, ReLU, the mean over positions."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class ShiftInvariantNetwork(eqx.Module):
    """Scores of `classes` from one image (height, width): circular convolutions with ReLU, global mean, linear layer.

    Every hidden layer is equivariant to circular shifts and the scores are invariant, whatever the weights.
    `turning` symmetrises the kernels over quarter turns, which makes the scores invariant to these as well.

    >>> net = ShiftInvariantNetwork((4, 8), 3, key=jax.random.key(0))
    >>> image = jax.random.normal(jax.random.key(1), (6, 6))
    >>> bool(jnp.allclose(net(image), net(jnp.roll(image, (1, 2), (0, 1))), atol=1e-5))
    True
    """

    kernels: list[Array]
    biases: list[Array]
    head: eqx.nn.Linear
    turning: bool = eqx.field(static=True)

    def __init__(
        self,
        channels: Sequence[int],
        classes: int,
        *,
        kernel: int = 3,
        turning: bool = False,
        dtype=jnp.float32,
        key: PRNGKeyArray,
    ):
        if kernel % 2 == 0:
            raise ValueError(f"The kernel has {kernel} taps; give an odd number, so that it has a centre.")
        *keys, last = jax.random.split(key, len(channels) + 1)
        before = (1, *channels[:-1])
        self.kernels = [
            jax.random.normal(k, (c, b, kernel, kernel), dtype) * (2 / (b * kernel**2)) ** 0.5
            for k, c, b in zip(keys, channels, before, strict=True)
        ]
        self.biases = [jnp.zeros(c, dtype) for c in channels]
        self.head = eqx.nn.Linear(channels[-1], classes, dtype=dtype, key=last)
        self.turning = turning

    def stages(self, image: Float[Array, "height width"]) -> list[Float[Array, "..."]]:
        """The feature maps (height, width, channels) of every convolution, and the scores."""
        planes, found = jnp.asarray(image, self.kernels[0].dtype)[None], []
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            planes = jax.nn.relu(circular_layer(planes, self._used(kernel)) + bias[:, None, None])
            found.append(jnp.moveaxis(planes, 0, -1))
        return [*found, self.head(planes.mean((1, 2)))]

    def __call__(self, image: Float[Array, "height width"]) -> Float[Array, " classes"]:
        return self.stages(image)[-1]

    def _used(self, kernel: Array) -> Array:
        if not self.turning:
            return kernel
        return jnp.asarray(sum(jnp.rot90(kernel, k, axes=(2, 3)) for k in range(4))) / 4


def circular_layer(
    planes: Float[Array, "channels height width"], kernel: Float[Array, "out channels k k"]
) -> Float[Array, "out height width"]:
    """y[c, i, j] = Σ w[c, r, k, l] x[r, i+k, j+l] with indices modulo the sides, k and l from the kernel's centre."""
    reach = kernel.shape[2] // 2
    wrapped = jnp.pad(planes, ((0, 0), (reach, reach), (reach, reach)), mode="wrap")
    return jax.lax.conv_general_dilated(wrapped[None], kernel, (1, 1), "VALID")[0]
