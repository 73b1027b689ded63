"""Random warps of images: affine maps, elastic fields and perspective, by bilinear interpolation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates
from jaxtyping import Array, Float, PRNGKeyArray

from .image_moves import Image, require_image
from .pipelines import require_scale

Outside = str  #: "zeros", "edge" or "wrap"
_MODES = {"zeros": "constant", "edge": "nearest", "wrap": "wrap"}
Number = float | Float[Array, ""]


def warp(
    image: Image,
    rows: Float[Array, "new_height new_width"],
    columns: Float[Array, "new_height new_width"],
    *,
    outside: Outside = "zeros",
) -> Image:
    """out[i, j] = image at (rows[i, j], columns[i, j]), between the four nearest pixels bilinearly.

    Beyond the border there are zeros, the nearest pixel ("edge"), or the image again ("wrap"). SciPy's
    `map_coordinates` of order 1 in the modes grid-constant, nearest and grid-wrap gives the same.

    >>> warp(jnp.array([[0.0, 2.0], [4.0, 6.0]]), jnp.array([[0.5]]), jnp.array([[0.5]])).tolist()
    [[3.0]]
    """
    if outside not in _MODES:
        raise ValueError(f"warp got outside = {outside!r}; choose one of {', '.join(_MODES)}.")
    planes = image.reshape(-1, *image.shape[-2:])
    moved = jax.vmap(lambda plane: map_coordinates(plane, [rows, columns], order=1, mode=_MODES[outside]))(planes)
    return moved.reshape(*image.shape[:-2], *rows.shape)


def affine_warp(
    image: Image,
    *,
    degrees: Number = 0.0,
    zoom: Number = 1.0,
    shift: tuple[Number, Number] = (0.0, 0.0),
    shear: Number = 0.0,
    outside: Outside = "zeros",
) -> Image:
    """The image sheared, magnified by `zoom`, turned anticlockwise about its centre and then shifted (down, right).

    All of it is one interpolation at A⁻¹(p − c − s) + c, with A = R(degrees) · zoom · [[1, 0], [shear, 1]] on (row,
    column).

    >>> affine_warp(jnp.arange(4.0).reshape(2, 2), degrees=90.0).round().astype(int).tolist()
    [[1, 3], [0, 2]]
    """
    require_image("affine_warp", image)
    height, width = image.shape[-2:]
    angle = jnp.deg2rad(jnp.asarray(degrees, image.dtype))
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    row, column = _grid(height, width, image.dtype)
    row, column = row - (height - 1) / 2 - shift[0], column - (width - 1) / 2 - shift[1]
    # rows point down, so that anticlockwise is (row, column) -> (cos row - sin column, sin row + cos column)
    turned_back = (cos * row + sin * column) / zoom, (cos * column - sin * row) / zoom
    upright = turned_back[0], turned_back[1] - shear * turned_back[0]
    return warp(image, upright[0] + (height - 1) / 2, upright[1] + (width - 1) / 2, outside=outside)


class AffineWarp(eqx.Module):
    """`affine_warp` by random amounts: an angle uniform in ±degrees, and so on; one interpolation for all of them.

    `zoom` is the largest relative magnification: its logarithm is uniform in ±log(1 + zoom). `shift` is in pixels, for
    rows and columns alike.

    >>> AffineWarp(degrees=15.0, zoom=0.1, shift=1.0)(jax.random.key(0), jnp.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    degrees: Number
    zoom: Number
    shift: Number
    shear: Number
    outside: Outside

    def __init__(
        self,
        degrees: Number = 0.0,
        *,
        zoom: Number = 0.0,
        shift: Number = 0.0,
        shear: Number = 0.0,
        outside: Outside = "zeros",
    ):
        require_scale("AffineWarp", degrees=degrees, zoom=zoom, shift=shift, shear=shear)
        self.degrees, self.zoom, self.shift, self.shear, self.outside = degrees, zoom, shift, shear, outside

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("AffineWarp", image)
        drawn = jax.random.uniform(key, (5,), image.dtype, -1.0, 1.0)
        return affine_warp(
            image,
            degrees=self.degrees * drawn[0],
            zoom=jnp.exp(jnp.log1p(jnp.asarray(self.zoom, image.dtype)) * drawn[1]),
            shift=(self.shift * drawn[2], self.shift * drawn[3]),
            shear=self.shear * drawn[4],
            outside=self.outside,
        )


class ElasticWarp(eqx.Module):
    """Every pixel moved by a smooth random field: Gaussian noise under a Gaussian filter (Simard et al. 2003).

    `strength` is the standard deviation of a displacement in pixels, the same everywhere, `smoothness` that of the
    filter.

    >>> ElasticWarp(1.0)(jax.random.key(0), jnp.ones((12, 12))).shape
    (12, 12)
    """

    strength: float
    smoothness: float
    outside: Outside

    def __init__(self, strength: float, smoothness: float = 4.0, *, outside: Outside = "edge"):
        require_scale("ElasticWarp", strength=strength)
        if not smoothness > 0:
            raise ValueError(f"ElasticWarp got smoothness = {smoothness}; give a number of pixels above 0.")
        self.strength, self.smoothness, self.outside = strength, smoothness, outside

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("ElasticWarp", image)
        height, width = image.shape[-2:]
        down, right = self.strength * elastic_field(key, height, width, self.smoothness, image.dtype)
        row, column = _grid(height, width, image.dtype)
        return warp(image, row + down, column + right, outside=self.outside)


def elastic_field(
    key: PRNGKeyArray, height: int, width: int, smoothness: float, dtype=jnp.float32
) -> Float[Array, "2 {height} {width}"]:
    """Two fields of unit variance at every pixel whose correlation is that of noise under a Gaussian filter.

    >>> elastic_field(jax.random.key(0), 6, 8, 2.0).shape
    (2, 6, 8)
    """
    noise = jax.random.normal(key, (2, height, width), dtype)
    down, across = (jnp.asarray(_smoother(side, smoothness), dtype) for side in (height, width))
    return down @ noise @ across.T


class PerspectiveWarp(eqx.Module):
    """The image seen from the side: its corners move by up to `strength` of its sides, straight lines stay straight.

    >>> PerspectiveWarp(0.1)(jax.random.key(0), jnp.ones((8, 8))).shape
    (8, 8)
    """

    strength: float
    outside: Outside

    def __init__(self, strength: float, *, outside: Outside = "zeros"):
        if not 0 <= strength < 0.5:
            raise ValueError(f"PerspectiveWarp got strength = {strength}; give a share of the sides, 0 to below 0.5.")
        self.strength, self.outside = strength, outside

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("PerspectiveWarp", image)
        height, width = image.shape[-2:]
        ends = jnp.array([height, width], image.dtype) - 1
        corners = jnp.array([[0, 0], [0, 1], [1, 0], [1, 1]], image.dtype) * ends
        moved = corners + self.strength * ends * jax.random.uniform(key, (4, 2), image.dtype, -1.0, 1.0)
        matrix = homography(corners, moved)
        row, column = _grid(height, width, image.dtype)
        at = jnp.einsum("ij,jhw->ihw", matrix, jnp.stack([row, column, jnp.ones_like(row)]))
        return warp(image, at[0] / at[2], at[1] / at[2], outside=self.outside)


def homography(points: Float[Array, "4 2"], images: Float[Array, "4 2"]) -> Float[Array, "3 3"]:
    """The matrix H with H (p, 1) ∝ (q, 1) for four points p and their images q, scaled to H₃₃ = 1.

    >>> corners = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> homography(corners, 2 * corners).round().astype(int).tolist()
    [[2, 0, 0], [0, 2, 0], [0, 0, 1]]
    """
    one, none = jnp.ones((4, 1), points.dtype), jnp.zeros((4, 3), points.dtype)
    first = jnp.concatenate([points, one, none, -images[:, :1] * points], axis=1)
    second = jnp.concatenate([none, points, one, -images[:, 1:] * points], axis=1)
    found = jnp.linalg.solve(jnp.concatenate([first, second]), images.T.ravel())
    return jnp.append(found, jnp.ones(1, points.dtype)).reshape(3, 3)


def _grid(height: int, width: int, dtype) -> tuple[Float[Array, "height width"], Float[Array, "height width"]]:
    row, column = jnp.meshgrid(jnp.arange(height, dtype=dtype), jnp.arange(width, dtype=dtype), indexing="ij")
    return row, column


def _smoother(side: int, smoothness: float) -> Float[np.ndarray, "{side} {side}"]:
    """Rows of a Gaussian filter of unit length, so that white noise under it has unit variance."""
    place = np.arange(side)
    rows = np.exp(-((place[:, None] - place) ** 2) / (2 * smoothness**2))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
