"""Which transformations form a group, and how far a model is from respecting them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.convolution.symmetry.image_transformations import interpolation_floor
from leadline.convolution.symmetry.smooth_images import draw_blobs
from leadline.evidence import Int, OneOf, at_least, at_most, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("penn",))
def nuisance_group_test(
    key, side: Int(12, 32) = 16, images: Int(2, 8) = 4, step: Int(1, 4) = 4, angle: OneOf(30, 45, 60, 72, 120) = 60
):
    r"""Which image transformations form a group.

    Circular shifts and quarter turns form groups on images. Zero-padded shifts, crops and occlusions have no inverse:
    what they cut off is gone. Interpolated rotations are a group only in the limit of fine pixels: their defect falls
    faster than the pixel size.

    $$\min_k \Vert T_i T_j X - T_k X \Vert, \quad \min_j \Vert T_j T_i X - X \Vert$$

    Check: The exact families (shifts by multiples of `step`) are tested on noise images of a given side, the rotations
    on smooth scenes.
    """
    noise = data.generator(key).normal(size=(images, side, side))
    period = side // step * step
    around, beyond = ([(0, d) for d in r] for r in (range(0, period, step), range(-side, side + 1, max(step, 2))))
    families = {
        "circular shifts": (convolution.circular_shifts(around), noise[:, :period, :period]),
        "quarter turns": (convolution.quarter_turns(), noise),
        "zero-padded shifts": (convolution.zero_shifts(beyond), noise),
        "crops": (convolution.central_crops(range(0, side // 2, 2)), noise),
        "occlusions": (convolution.occlusions(side, side, side // 3), noise),
    }
    verdicts = {name: convolution.group_test(*family) for name, family in families.items()}
    for name in ("circular shifts", "quarter turns"):
        v = verdicts[name]
        yield exactly(len(v.failed), 0, f"{name}: axioms of a group that fail")
        yield at_most(max(v.closure, v.identity, v.inverse), 0.0, f"{name}: largest defect")
    for name in ("zero-padded shifts", "crops", "occlusions"):
        v = verdicts[name]
        yield exactly("inverse" in v.failed, True, f"{name}: no inverse")
        yield at_least(v.inverse, 0.1, f"{name}: share of the image that no member brings back")
    yield at_most(verdicts["crops"].closure, 0.0, "crops: closed, a crop of a crop is a crop")
    own = [convolution.Transformation("identity", lambda x: x), convolution.Transformation("negative", lambda x: -x)]
    failed = convolution.group_test(own, noise).failed
    yield exactly(len(failed), 0, "your own: axioms of a group that {identity, negative} fails")
    sides = (20, 40, 80)
    turns = convolution.rotations(range(0, 360, angle))
    circles = [convolution.group_test(turns, draw_blobs(images, n, key=key)) for n in sides]
    floors = np.array([[v.closure, v.inverse] for v in circles])
    yield at_least(len(circles[0].failed), 1, "rotations: axioms of a group that fail")
    yield at_most(floors[1:] / floors[:-1], 0.5, "rotations: what is left of the defect at twice the pixels a side")
    rows = verdicts | {"rotations": circles[0], "finer rotations": circles[-1]}
    values = [[round(v.closure, 3), round(v.identity, 3), round(v.inverse, 3), v.associativity] for v in rows.values()]
    off = ", ".join(f"{floor.max():.2g} at {n} pixels" for floor, n in zip(floors[::2], sides[::2], strict=True))
    title = f"Two groups, three families without inverse, and rotations off by {off}"
    options = {"xs": ("closed", "unit", "inverse", "assoc."), "ys": list(rows), "colour": "defect", "text": True}
    yield figure.heatmap(title, "axiom", "family", values=values, **options)


@instrument(sources=("cam", "penn"))
def equivariance_audit(key, side: Int(16, 24) = 20, channels: Int(3, 6) = 3, images: Int(2, 12) = 6):
    r"""Layer-by-layer equivariance audit.

    The defect f(TX) − T′f(X) of a model, layer by layer, tells equivariant, invariant and broken models apart:
    circular convolutions are equivariant up to rounding, and their mean over positions is invariant, while zero
    padding and position-dependent weights break the symmetry. Rotations are judged against their interpolation floor.

    $$\Delta(T) = \Vert f(TX) - T' f(X) \Vert / \Vert f(X) \Vert$$

    Check: A random network of two circular convolutions, and models with planted flaws, are given shifted and rotated
    inputs.
    """
    from scipy.ndimage import correlate

    rng = data.generator(key)
    noise = rng.normal(size=(images, side, side))
    moves = convolution.circular_shifts([(0, 1), (1, 0), (2, 3), (side // 2, side - 1)])
    circular = convolution.ConvLayer(channels, 3, padding="same", wrap=True, turn=True)
    layers = [circular, circular, convolution.GlobalPool("mean"), convolution.DenseLayer(4)]
    options = {"channels_last": True, "dtype": jnp.float64, "key": key}
    shapes = eqx.filter_eval_shape(convolution.ConvNetwork, layers, (1, side, side), **options)
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
        name, expected = np.dtype(dtype).name, ("equivariant", "equivariant", "invariant", "neither")
        yield exactly(audit.verdicts, expected, f"{name}: what each layer is")
        planted = [*audit.equivariance[:2].ravel(), *audit.invariance[2]]
        worst[name] = max(planted)
        yield at_most(planted, 100 * np.finfo(dtype).eps, f"{name}: largest defect of the equivariant layers")

    def padded(x):
        return correlate(x, net.built[0].weight[:1, 0], mode="constant")

    def right(y):
        return np.roll(y, 1, axis=2)

    one, two = convolution.circular_shifts([(0, 1), (0, 2)])
    spoilt = convolution.equivariance_defect(padded, noise, one, right)
    yield at_least(spoilt.relative, 1e-3, "zero padding: defect of a shift by one")
    apart = np.abs(padded(right(noise)) - right(padded(noise)))
    yield at_most(apart[:, :, 2:-2].max(), 1e-13, "zero padding: no defect away from the border")

    mixing = rng.normal(size=(side, side)) / np.sqrt(side)
    rows = rng.normal(size=(4 * side, 1, side))

    def mixed(x):
        return x[:, 0] @ mixing.T

    halves = rows[: 3 * side], rows[3 * side :]
    fits = [convolution.fit_action(mixed, *halves, t) for t in (one, two)]
    yield at_most([f.relative for f in fits], 1e-8, "an unknown action, fitted: defect on other images")
    composed = convolution.homomorphism_defect(fits[0].matrix, fits[0].matrix, fits[1].matrix)
    yield at_most(composed, 1e-7, "fitted actions compose as the shifts do")
    ragged = convolution.fit_action(lambda x: np.abs(mixed(x)), *halves, one)
    yield at_least(ragged.relative, 1e-2, "absolute values of the mixture: no linear action fits")

    scenes = draw_blobs(images, side, key=key)
    angles = np.arange(0.0, 360.0, 15.0)
    turns = convolution.rotations(angles)

    def defects(f):
        return np.array([convolution.invariance_defect(f, scenes, t).relative for t in turns])

    turned, plain = defects(lambda x: _stages(net, x)[2]), defects(lambda x: np.linalg.norm(x, axis=(1, 2)))
    floor = np.array([interpolation_floor(scenes, a) for a in angles])
    yield at_most(turned[::6], 1e-13, "kernels symmetric under quarter turns: defect at 0°, 90°, 180°, 270°")
    yield at_most(plain, floor, "norm of the image, invariant but for interpolation: defect, floor", atol=1e-13)
    reach = range(-2, 3)
    shifts = convolution.circular_shifts([(i, j) for i in reach for j in reach])
    shift_map = [convolution.equivariance_defect(padded, noise, t, t).relative for t in shifts]
    yield at_most(shift_map[12], 0.0, "zero padding: defect of no shift")
    around = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], 1)
    edge = np.append(floor, floor[0])[:, None] * np.append(around, around[:1], axis=0)
    lines, domain = {"interpolation floor": tuple(edge.T)}, ((-1.1 * floor.max(), 1.1 * floor.max()),) * 2
    points = {"scores of the network": turned[:, None] * around, "norm of the image": plain[:, None] * around}
    name, axes = "Rotations: defect at each angle, and the floor", ("defect · cos(angle)", "defect · sin(angle)")
    rotations = figure.plane(name, *axes, domain=domain, lines=lines, points=points)
    name, values = "Zero-padded convolution: defect under circular shifts", np.reshape(shift_map, (5, 5))
    options = {"xs": list(reach), "ys": list(reach), "colour": "defect", "text": True}
    by_shift = figure.heatmap(name, "right", "down", values=values, **options)
    circular = f"{worst['float64']:.1g} ({worst['float32']:.1g} in float32)"
    title = f"Circular layers: defect {circular}; zero padding: {spoilt.relative:.2g}"
    yield figure.beside(title, rotations, by_shift)


@eqx.filter_jit
def _stages(net, images):
    first, second, _, scores = jax.vmap(net.stages)(images)
    return jnp.moveaxis(first, 1, -1), jnp.moveaxis(second, 1, -1), scores
