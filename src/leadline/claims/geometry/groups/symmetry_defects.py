"""How far functions on sets, graphs and grids are from the symmetry they should have."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, geometry
from leadline.convolution.symmetry.smooth_images import draw_blobs
from leadline.evidence import Int, at_least, at_most, erratum, instrument
from leadline.presentation import figure


@instrument(
    sources=("sheet", "eth"), shows=("geometry.symmetry_defect", "geometry.permute_rows", "geometry.relabel_nodes")
)
def symmetry_defect(key, nodes: Int(3, 5) = 5, features: Int(1, 8) = 3):
    r"""Symmetry defects of any function.

    For a function and a group: how much f(gx) differs from f(x) (invariance) or from g f(x) (equivariance), relative to
    the size of f(x), for every element, with the worst one named. Sums over sets, attention without positions, message
    passing on graphs and circular convolutions are exact; whatever knows places is not.

    $$\max_g \Vert f(gx) - f(x) \Vert, \quad \max_g \Vert f(gx) - g f(x) \Vert; \qquad f(PX) = P f(X), \quad
    f(PX, PAP^\top) = P f(X, A)$$

    Assumes: a finite group, or a sample of one.

    Check: functions whose symmetry is known, under all permutations of a few nodes or all circular shifts.
    """
    rng = data.generator(key)
    x, graph = rng.normal(size=(nodes, features)), np.triu(rng.integers(0, 2, (nodes, nodes)), 1).astype(float)
    graph[0, 1:] = 1.0  # no node alone
    x, graph = jnp.asarray(x), jnp.asarray(graph + graph.T)
    w, v, position = rng.normal(size=(features, features)), rng.normal(size=(features, 4)), rng.normal(size=x.shape)
    dense = rng.normal(size=(nodes**2, nodes)) / nodes
    every = geometry.symmetric_permutations(nodes)
    turns = np.arange(nodes)[:, None] + np.arange(nodes) % nodes

    def attention(x):
        return jax.nn.softmax(x @ w @ x.T / np.sqrt(features), axis=1) @ x

    def padded(x):
        return jnp.convolve(x[:, 0], jnp.array([1.0, -2.0, 0.5]), mode="same")[:, None]

    def circular(x):
        return 1.0 * jnp.roll(x, 1, 0) - 2.0 * x + 0.5 * jnp.roll(x, -1, 0)

    rows, relabel = geometry.permute_rows, geometry.relabel_nodes
    cases = {  # function, input, elements, how the input moves, how the output answers, whether exact
        "Deep Sets (sum)": (lambda x: jnp.tanh(x @ v).sum(0), x, every, rows, None, True),
        "attention": (attention, x, every, rows, rows, True),
        "message passing": (lambda g: jnp.tanh(g[1] @ g[0] @ w), (x, graph), every, relabel, rows, True),
        "circular convolution": (circular, x, turns % nodes, rows, rows, True),
        "dense layer on A": (lambda g: g[1].reshape(-1) @ dense, (x, graph), every, relabel, rows, False),
        "attention with positions": (lambda x: attention(x + position), x, every, rows, rows, False),
        "zero-padded convolution": (padded, x, turns % nodes, rows, rows, False),
    }
    found = {n: geometry.symmetry_defect(f, at, g, move, answer) for n, (f, at, g, move, answer, _) in cases.items()}
    for name, (*_, exact) in cases.items():
        what = f"{name}: largest relative defect over {len(found[name].relative)} elements"
        yield at_most(found[name].largest, 1e-12, what) if exact else at_least(found[name].largest, 1e-3, what)
    spoilt = found["dense layer on A"]
    worst = every[spoilt.worst]
    again = np.linalg.norm(graph[worst][:, worst].ravel() @ dense - (graph.ravel() @ dense)[worst])
    again /= np.linalg.norm(graph.ravel() @ dense)
    yield at_most(abs(spoilt.largest - again), 1e-12, "the worst relabelling, computed anew: difference of its defect")
    least = max(d.relative[0] for d in found.values())
    yield at_most(least, 1e-14, "the identity: largest defect of any function")

    def carried_back(p, y):
        return y[jnp.argsort(p)]  # Pᵀ y, where (Py)_i = y_{p(i)}

    def conjugated(back):
        """f(X) against back(P, f(PX)), in the two ways in which texts write equivariance."""
        moved = jax.vmap(lambda p: back(p, attention(rows(p, x))))(jnp.asarray(every))
        return float(jnp.abs(moved - attention(x)).max() / jnp.abs(attention(x)).max())

    right = at_most(conjugated(carried_back), 1e-12, "equivariance as f(X) = Pᵀf(PX): defect of attention")
    yield right
    wrong = at_most(conjugated(rows), 1e-12, "equivariance as f(X) = P f(PX): defect of attention")
    yield erratum(wrong, of=right, by="eth", prints="f(X) = P f(PX), also for graphs")
    yield figure.beside(
        "Exact symmetries stay at rounding; what knows places does not",
        figure.categories(
            "Largest defect over the group",
            "function",
            "relative defect",
            lines={"rounding": dict.fromkeys(cases, 1e-15)},
            points={"measured": {n: max(d.largest, 1e-17) for n, d in found.items()}},
            log=True,
        ),
        _by_angle(key),
    )


def _by_angle(key):
    """The scores of an untrained p4 and an ordinary network on smooth scenes, at every 15 degrees."""
    scenes, angles = draw_blobs(4, 12, key=key), np.arange(0.0, 360.0, 15.0)
    around = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], 1)
    points = {}
    for name, group, channels in (("p4", "p4", (2, 3)), ("ordinary", "p1", (4, 6))):
        net = convolution.GroupNetwork(channels, 5, group=group, dtype=jnp.float64, key=key)
        scores = jax.jit(jax.vmap(net))
        turned = [convolution.invariance_defect(scores, scenes, t).relative for t in convolution.rotations(angles)]
        points[name] = np.array(turned)[:, None] * around
    title = "Scores under rotation: the p4 network has no defect at quarter turns"
    return figure.plane(title, "defect · cos(angle)", "defect · sin(angle)", points=points)
