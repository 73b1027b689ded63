"""Which transformations form a group, and how far a model is from respecting them."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.evidence import Choice, Range, at_least, at_most, exactly, figure, instrument


@instrument(
    "nuisance-group-test",
    says=(
        "Circular shifts and quarter turns form groups on images. Zero-padded shifts, crops and occlusions have no "
        "inverse: what they cut off is gone. Interpolated rotations are a group only in the limit of fine pixels: "
        "their defect falls faster than the pixel size."
    ),
    formula=r"\min_k \Vert T_i T_j X - T_k X \Vert, \quad \min_j \Vert T_j T_i X - X \Vert",
    sources=("penn",),
    shows=("convolution.group_test", "convolution.circular_shifts", "convolution.rotations"),
)
def nuisance_group_test(
    key,
    side: Annotated[int, Range(12, 32)] = 16,
    images: Annotated[int, Range(2, 8)] = 4,
    step: Annotated[int, Range(1, 4)] = 4,
    angle: Annotated[int, Choice(30, 45, 60, 72, 120)] = 60,
):
    """Noise images of a side for exact families (shifts by multiples of `step`), smooth scenes for rotations."""
    noise = data.generator(key).normal(size=(images, side, side))
    period = side // step * step
    square = noise[:, :period, :period]
    around = [(0, d) for d in range(0, period, step)]
    families = {
        "circular shifts": (convolution.circular_shifts(around), square),
        "quarter turns": (convolution.quarter_turns(), noise),
        "zero-padded shifts": (convolution.zero_shifts([(0, d) for d in range(-side, side + 1, max(step, 2))]), noise),
        "crops": (convolution.central_crops(range(0, side // 2, 2)), noise),
        "occlusions": (convolution.occlusions(side, side, side // 3), noise),
    }
    verdicts = {name: convolution.group_test(*family) for name, family in families.items()}
    for name in ("circular shifts", "quarter turns"):
        v = verdicts[name]
        yield exactly(v.holds, True, f"{name}: a group")
        yield at_most(max(v.closure, v.identity, v.inverse), 0.0, f"{name}: largest defect")
    for name in ("zero-padded shifts", "crops", "occlusions"):
        v = verdicts[name]
        yield exactly("inverse" in v.failed, True, f"{name}: no inverse")
        yield at_least(v.inverse, 0.1, f"{name}: share of the image that no member brings back")
    yield at_most(verdicts["crops"].closure, 0.0, "crops: closed, a crop of a crop is a crop")
    flip = convolution.Transformation("negative", lambda x: -x)
    same = convolution.Transformation("identity", lambda x: x)
    yield exactly(convolution.group_test([same, flip], noise).holds, True, "your own: {identity, negative} is a group")

    sides = (20, 40, 80)
    turns = convolution.rotations(range(0, 360, angle))
    circles = [convolution.group_test(turns, convolution.draw_blobs(images, n, key=key)) for n in sides]
    floors = np.array([[v.closure, v.inverse] for v in circles])
    yield exactly(circles[0].holds, False, "rotations: not exactly a group")
    yield at_most(floors[1:] / floors[:-1], 0.5, "rotations: what is left of the defect at twice the pixels a side")
    shown = verdicts | {"rotations": circles[0], "finer rotations": circles[-1]}
    axioms = ("closure", "identity", "inverse", "associativity")
    yield figure.heatmap(
        f"Two groups, three families without inverse, and rotations off by {floors[0].max():.2g} at "
        f"{sides[0]} pixels, {floors[-1].max():.2g} at {sides[-1]}",
        x="axiom",
        y="family",
        values=[[round(getattr(v, a), 3) for a in axioms] for v in shown.values()],
        xs=("closed", "unit", "inverse", "assoc."),
        ys=list(shown),
        colour="defect",
        text=True,
    )


@instrument(
    "equivariance-audit",
    says=(
        "A model's defect f(TX) - T'f(X), layer by layer, tells equivariant, invariant and broken models apart: "
        "circular convolutions are equivariant to rounding, their mean over positions invariant, zero padding and "
        "weights by position break it. Rotations are judged against their interpolation floor."
    ),
    formula=r"\Delta(T) = \Vert f(TX) - T' f(X) \Vert / \Vert f(X) \Vert",
    sources=("cam", "penn"),
    shows=("convolution.layer_defects", "convolution.equivariance_defect", "convolution.fit_action"),
)
def equivariance_audit(
    key,
    side: Annotated[int, Range(16, 24)] = 20,
    channels: Annotated[int, Range(3, 6)] = 3,
    images: Annotated[int, Range(2, 12)] = 6,
):
    """A random network of two circular convolutions, and models with planted flaws, shifted and rotated."""
    from scipy.ndimage import correlate

    rng = data.generator(key)
    noise = rng.normal(size=(images, side, side))
    moves = convolution.circular_shifts([(0, 1), (1, 0), (2, 3), (side // 2, side - 1)])
    shapes = eqx.filter_eval_shape(
        convolution.ShiftInvariantNetwork, (channels, channels), 4, turning=True, dtype=jnp.float64, key=key
    )
    net = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape), shapes)
    ramp = 1 + np.arange(side)[:, None] / side
    worst = {}
    for dtype, room in ((jnp.float64, 1e-14), (jnp.float32, 1e-5)):
        cast = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), net)

        def stages(x, cast=cast, dtype=dtype):
            first, second, scores = _stages(cast, x.astype(dtype))
            broken = np.asarray(first) * ramp[..., None].astype(dtype)
            return {"convolution 1": first, "convolution 2": second, "scores": scores, "weighted by row": broken}

        audit = convolution.layer_defects(stages, noise.astype(dtype), moves, tolerance=room)
        name = np.dtype(dtype).name
        expected = ("equivariant", "equivariant", "invariant", "neither")
        yield exactly(audit.verdicts, expected, f"{name}: what each layer is")
        planted = np.array([*audit.equivariance[:2].ravel(), *audit.invariance[2]])
        worst[name] = float(planted.max())
        yield at_most(planted, 100 * np.finfo(dtype).eps, f"{name}: largest defect of the equivariant layers")
    kernel = net.kernels[0][:1, 0]

    def padded(x):
        return correlate(x, kernel, mode="constant")

    def right(y):
        return np.roll(y, 1, axis=2)

    across = convolution.circular_shifts([(0, 1)])[0]
    spoilt = convolution.equivariance_defect(padded, noise, across, right)
    yield at_least(spoilt.relative, 1e-3, "zero padding instead: defect of a shift by one")
    apart = np.abs(padded(right(noise)) - right(padded(noise)))
    yield at_most(apart[:, :, 2:-2].max(), 1e-13, "zero padding: no defect away from the border")

    mixing = rng.normal(size=(side, side)) / np.sqrt(side)
    rows = rng.normal(size=(4 * side, 1, side))

    def mixed(x):
        return x[:, 0] @ mixing.T

    one, two = convolution.circular_shifts([(0, 1), (0, 2)])
    fits = [convolution.fit_action(mixed, rows[: 3 * side], rows[3 * side :], t) for t in (one, two)]
    yield at_most([f.relative for f in fits], 1e-8, "an unknown action, fitted: defect on other images")
    composed = convolution.homomorphism_defect(fits[0].matrix, fits[0].matrix, fits[1].matrix)
    yield at_most(composed, 1e-7, "fitted actions compose as the shifts do")
    ragged = convolution.fit_action(lambda x: np.abs(mixed(x)), rows[: 3 * side], rows[3 * side :], one)
    yield at_least(ragged.relative, 1e-2, "absolute values of the mixture: no linear action fits")

    scenes = convolution.draw_blobs(images, side, key=key)
    angles = np.arange(0.0, 360.0, 15.0)
    turns = convolution.rotations(angles)

    def scores(x):
        return _stages(net, x)[2]

    def size(x):
        return np.linalg.norm(x, axis=(1, 2))

    turned, plain = (
        np.array([convolution.invariance_defect(f, scenes, t).relative for t in turns]) for f in (scores, size)
    )
    floor = np.array([convolution.interpolation_floor(scenes, a) for a in angles])
    yield at_most(turned[::6], 1e-13, "kernels symmetric under quarter turns: defect at 0°, 90°, 180°, 270°")
    yield at_most(plain, floor, "norm of the image, invariant but for interpolation: defect, floor", atol=1e-13)
    reach = range(-2, 3)
    shift_map = np.array(
        [[convolution.equivariance_defect(padded, noise, t, t).relative
          for t in convolution.circular_shifts([(i, j) for j in reach])] for i in reach]
    )  # fmt: skip
    yield at_most(shift_map[2, 2], 0.0, "no shift, no defect")
    closed = np.append(np.arange(len(angles)), 0)
    x, y = np.cos(np.radians(angles)), np.sin(np.radians(angles))
    yield figure.beside(
        f"Circular layers: defect {worst['float64']:.1g} ({worst['float32']:.1g} in float32); zero padding: "
        f"{spoilt.relative:.2g}",
        figure.plane(
            "Rotations: defect at each angle, against the interpolation floor",
            x="defect · cos(angle)",
            y="defect · sin(angle)",
            domain=((-1.1 * floor.max(), 1.1 * floor.max()),) * 2,
            lines={"interpolation floor": ((floor * x)[closed], (floor * y)[closed])},
            points={
                "scores of the network": np.stack([turned * x, turned * y], 1),
                "norm of the image": np.stack([plain * x, plain * y], 1),
            },
        ),
        figure.heatmap(
            "Zero-padded convolution: defect under circular shifts",
            x="right",
            y="down",
            values=shift_map,
            xs=list(reach),
            ys=list(reach),
            colour="defect",
            text=True,
        ),
    )


@eqx.filter_jit
def _stages(net, images):
    return jax.vmap(net.stages)(images)
