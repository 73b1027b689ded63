"""All linear maps that a group allows, and convolutions as the case of grids."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import stirling2

from leadline import convolution, data, geometry
from leadline.claims.scenarios.convolution.framed_digits import framed_digits
from leadline.claims.scenarios.convolution.turned_digits import right_at_turns, trained
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, exactly, model
from leadline.presentation import figure


@claim(sources=("sheet",), shows=("geometry.equivariant_basis", "geometry.equivariant_dimension"))
def equivariant_linear_maps(key, points: Int(2, 5) = 4, shifts: Int(2, 16) = 8):
    r"""Linear maps that commute with a group.

    They are the null space of W ↦ σ(g)W − Wρ(g) over generators of the group. For shifts these are the circulant
    matrices; for permutations of n points λI + γ11ᵀ, the linear layer of Deep Sets. Maps of tensors under Sₙ are
    counted by the partitions of their indices into at most n blocks: 15 from matrices to matrices for n ≥ 4, 14 at
    n = 3.

    $$\sigma(g) W = W \rho(g) \;\; \forall g, \qquad \dim = \frac{1}{|G|} \sum_g \overline{\chi_\rho(g)}\,
    \chi_\sigma(g) = \sum_{j \le n} S(k, j)$$

    Assumes: real permutation representations for the count by partitions; k counts the indices of input and output.

    Check: the null space by a singular value decomposition, characters, and Stirling numbers; the spans against the
    named families; generators of one's own.
    """
    s_n = geometry.symmetric_group(points)
    action = geometry.GroupAction(s_n, geometry.symmetric_permutations(points))
    scalars = geometry.trivial_representation(s_n)
    vectors = geometry.permutation_representation(action)
    matrices = vectors.tensor(vectors)
    cases = {
        "Rⁿ → R": (vectors, scalars, 1),
        "Rⁿ → Rⁿ": (vectors, vectors, 2),
        "Rⁿˣⁿ → R": (matrices, scalars, 2),
        "Rⁿˣⁿ → Rⁿ": (matrices, vectors, 3),
        "Rⁿˣⁿ → Rⁿˣⁿ": (matrices, matrices, 4),
    }
    found = {}
    for name, (rho, sigma, indices) in cases.items():
        found[name] = geometry.equivariant_basis(rho, sigma)
        count = int(sum(stirling2(indices, j) for j in range(1, min(points, indices) + 1)))
        yield exactly(len(found[name]), count, f"S_{points}, {name}: dimension of the null space, set partitions")
        yield exactly(geometry.equivariant_dimension(rho, sigma), count, f"S_{points}, {name}: by characters")
    deep_sets = np.stack([np.eye(points), np.ones((points, points))])
    apart = geometry.span_distance(found["Rⁿ → Rⁿ"], deep_sets)
    yield at_most(apart, 1e-12, "Rⁿ → Rⁿ: distance of its span from {λI + γ11ᵀ}")
    pairs = action.on_pairs(action)
    orbits = pairs.on_pairs(pairs).orbits  # of (output entry, input entry)
    tiles = np.stack([orbits == k for k in range(orbits.max() + 1)]).astype(float).reshape(-1, points**2, points**2)
    apart = geometry.span_distance(found["Rⁿˣⁿ → Rⁿˣⁿ"], tiles)
    yield at_most(apart, 1e-12, "Rⁿˣⁿ → Rⁿˣⁿ: distance of its span from indicators of orbits of index pairs")
    turn = geometry.regular_representation(geometry.cyclic_group(shifts))
    circulant = np.stack([np.roll(np.eye(shifts), k, axis=1) for k in range(shifts)])
    basis = geometry.equivariant_basis(turn, turn)
    yield exactly(len(basis), shifts, f"C_{shifts} on R^{shifts}: dimension")
    yield at_most(geometry.span_distance(basis, circulant), 1e-12, "shifts: distance of its span from circulants")
    rng = data.generator(key)
    own = rng.normal(size=(3, 3))
    own = own @ np.diag([1.0, 1.0, -1.0]) @ np.linalg.inv(own)  # an involution with a plane and a line
    commuting = geometry.equivariant_basis(own[None], own[None])
    yield exactly(len(commuting), 2**2 + 1, "own generator, an involution with a plane and a line: 2² + 1²")
    shown = [(f"{k + 1}", tile) for k, tile in enumerate(tiles)]
    title = f"The {len(tiles)} maps of {points}×{points} matrices that all permutations of the indices allow"
    yield figure.images(title, images=shown, columns=5)


@model(
    sources=("sheet",),
    shows=("convolution.LiftingConvolution", "convolution.GroupConvolution", "convolution.GroupNetwork"),
    slow="half a minute the first time, when two networks are trained",
)
def group_convolution(
    key, side: Int(5, 16) = 9, channels: Int(1, 8) = 3, group: OneOf("p4", "p4m") = "p4", steps: Int(100, 2000) = 400
):
    r"""Group convolution on images.

    A lifting layer correlates an image with a filter in each of its turns (and mirrors), which gives a signal on the
    group; further layers sum over the group, and pooling over it gives scores that no turn changes. Turning the input
    turns the maps and permutes their orientations.

    $$(x * \theta)(g) = \sum_u x(u)\, \theta(g^{-1}u), \qquad (y * \kappa)(g) = \sum_h y(h)\, \kappa(g^{-1}h)$$

    Assumes: a square grid and odd kernels; quarter turns and mirrors, which move pixels onto pixels.

    Check: random layers in double precision under every element; the same convolution from the table of the plane group
    of a small torus; networks of about 14 100 weights, trained on upright digits, at four quarter turns.
    """
    k_lift, k_group, k_image = jax.random.split(key, 3)
    options = {"group": group, "dtype": jnp.float64}
    lift = convolution.LiftingConvolution(1, channels, key=k_lift, **options)
    deep = convolution.GroupConvolution(channels, channels, key=k_group, **options)
    image = jax.random.normal(k_image, (1, side, side), jnp.float64)
    both = jax.jit(lambda x: deep(jax.nn.relu(lift(x))))
    maps, elements = both(image), {"p4": 4, "p4m": 8}[group]
    turned = [both(convolution.turn_planes(image, s)) for s in range(elements)]
    size = float(jnp.linalg.norm(maps))
    defects = [float(jnp.linalg.norm(t - convolution.turn_maps(group, maps, s))) / size for s, t in enumerate(turned)]
    yield at_most(defects, 1e-14, f"{group}: lifting, ReLU and group convolution, relative defect of equivariance")
    pooled = np.array([np.asarray(t.max((1, 2, 3))) for t in turned])
    spread = np.ptp(pooled, axis=0) / np.abs(pooled).max()
    yield at_most(spread, 1e-14, f"{group}: pooled over the group, relative spread over its elements")
    plain = convolution.LiftingConvolution(1, channels, group="p1", dtype=jnp.float64, key=k_lift)
    flat = jax.jit(lambda x: plain(x))
    wrong = float(jnp.linalg.norm(flat(convolution.turn_planes(image, 1)) - convolution.turn_planes(flat(image), 1)))
    yield at_least(
        wrong / float(jnp.linalg.norm(flat(image))), 0.1, "plain convolution: relative defect of equivariance at 90°"
    )
    yield _from_table(group, channels, key)
    *_, test, labels = framed_digits()
    p4, cnn = (right_at_turns(trained(route, steps), test, labels) for route in ("p4", "plain"))
    yield exactly(p4, p4[0], "p4 network on test digits: right decisions at 0°, 90°, 180°, 270°")
    share = (p4.mean() - cnn.mean()) / len(labels)
    yield at_least(share, 0.2, "accuracy over four turns: p4 less plain network").as_empirical()
    shown = [(f"orientation {s}", np.asarray(maps[0, s])) for s in range(4)]
    shown += [(f"turned: {s}", np.asarray(turned[1][0, s])) for s in range(4)]
    title = f"Turning the image turns each map and passes it on to the next orientation (defect {max(defects):.0e})"
    yield figure.images(title, images=shown, columns=4, diverging=True)


def _from_table(group, channels, key, side=3):
    """A layer on a small torus, whose pixels and orientations are elements of the plane group, against its table."""
    plane = geometry.plane_group(group, side)
    layer = convolution.GroupConvolution(
        channels, channels, 3, group=group, wrap=True, dtype=jnp.float64, key=jax.random.fold_in(key, 1)
    )
    turns = layer.weight.shape[2]
    maps = jax.random.normal(jax.random.fold_in(key, 2), (channels, turns, side, side), jnp.float64)
    at = (np.indices((3, 3)) - 1) % side  # where the taps of the kernel lie on the torus
    taps = np.zeros((side, side, turns, channels, channels))
    taps[at[0], at[1]] = np.transpose(layer.weight, (3, 4, 2, 0, 1))
    signal = np.transpose(maps, (2, 3, 1, 0)).reshape(-1, channels)
    table = geometry.group_convolution(plane, taps.reshape(-1, channels, channels), signal)
    found = np.transpose(jax.jit(lambda y: layer(y))(maps), (2, 3, 1, 0)).reshape(-1, channels)
    what = f"{group} layer on a {side}×{side} torus, against the table of {plane.order} elements"
    return close(found, table, what, atol=1e-12)
