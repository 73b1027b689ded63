"""Units as networks have them: the level sets of a ridge unit, and GELU."""

import math
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.evidence import Choice, Range, assume, at_most, claim, close, exactly, figure, method, printed

WINDOW = 10.0  # level sets are counted for |w.x + b| <= WINDOW


def _root_count(name: str, level: float) -> int:
    """How many t in [-WINDOW, WINDOW] solve phi(t) = level, by the shape of phi; ReLU at 0 is left to its interval."""
    if name == "sin":
        first = [math.asin(level), math.pi - math.asin(level)]
        return sum(abs(a + 2 * math.pi * k) <= WINDOW for a in first for k in range(-3, 4))
    if name == "gelu":
        return 0 if level < -0.169971 else 2 if level < 0 else 1
    return 1 if name == "tanh" else int(level > 0)


def _along(w, bias, x, t):
    """The points on the lines through x along w at which w.x + b = t."""
    return x + jnp.asarray(t - (x @ w + bias))[..., None] * w / (w @ w)


@partial(jax.jit, static_argnames="phi")
def _walk(phi, w, bias, start, t):
    return phi(_along(w, bias, start, t) @ w + bias)


@claim(
    "ridge-unit-level-sets",
    says="A unit φ(w·x + b) is constant across w and its gradient points along w; the level set at z is one hyperplane "
    "per root of φ(t) = z, and a half-space for ReLU at 0.",
    formula=r"f(x) = \phi(w \cdot x + b): \quad f(x + v) = f(x) \text{ for } v \perp w, \quad \nabla f \parallel w",
    sources=("sheet",),
    assumes=("w ≠ 0",),
)
def ridge_unit_level_sets(
    key,
    activation: Annotated[str, Choice("tanh", "relu", "gelu", "sin")] = "gelu",
    level: Annotated[float, Range(-0.9, 0.9)] = -0.1,
    dim: Annotated[int, Range(2, 200, log=True)] = 10,
    scale: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
    bias: Annotated[float, Range(-3.0, 3.0)] = 0.5,
):
    """Hyperplanes are counted by walking through space along w from random points; roots by the shape of φ."""
    assume(level == 0 or abs(level) >= 1e-4, "z is 0 or at least 1e-4 away from it")
    assume(activation != "gelu" or abs(level + 0.169971) >= 1e-3, "z is not GELU's minimum")
    phi = networks.activation(activation)
    keys = jax.random.split(key, 4)
    w = jax.random.normal(keys[0], (dim,))
    w = scale * w / jnp.linalg.norm(w)

    def unit(x):
        return phi(x @ w + bias)

    x = jax.random.normal(keys[1], (300, dim))
    x = _along(w, bias, x, jax.random.uniform(keys[2], (300,), minval=-4.0, maxval=4.0))
    v = jax.random.normal(keys[3], (300, dim))
    v -= jnp.outer(v @ w, w) / (w @ w)
    change = jnp.abs(unit(x + v) - unit(x))
    yield at_most(change.max(), 1e-12, "largest change of f across w")
    gradient = jax.vmap(jax.grad(unit))(x)
    length = jnp.linalg.norm(gradient, axis=1)
    cosine = jnp.abs(gradient @ w) / jnp.where(length > 0, length * scale, 1.0)
    yield close(cosine[length > 0], 1.0, "|cos(∇f, w)|", atol=1e-10)

    def pieces(phi, level, start):
        return networks.preimage(lambda t: _walk(phi, w, bias, start, t), level, low=-WINDOW, high=WINDOW)

    starts = x[:4]
    found = [pieces(phi, level, start) for start in starts]
    flat = activation == "relu" and level == 0
    hyperplanes = [int((p[:, 0] == p[:, 1]).sum()) for p in found]
    thick = [int((p[:, 0] < p[:, 1]).sum()) for p in found]
    yield exactly(hyperplanes, [0 if flat else _root_count(activation, level)] * 4, "hyperplanes on four walks along w")
    yield exactly(thick, [int(flat)] * 4, "half-spaces on four walks along w")
    if found[0].size:
        spread = max(float(np.abs(p - found[0]).max()) for p in found)
        yield at_most(spread, 0.011 if flat else 1e-9, "spread of w·x + b over the walks")
    half_space = pieces(jax.nn.relu, 0.0, starts[0])
    yield printed(
        exactly(bool(half_space[0, 0] == half_space[0, 1]), True, "ReLU at z = 0 is one hyperplane"),
        "sheet", "a level set of a unit is a hyperplane",
    )  # fmt: skip
    two = len(pieces(networks.gelu, -0.1, starts[0]))
    yield printed(exactly(two, 1, "hyperplanes, GELU at z = −0.1"), "sheet", "a level set of a unit is a hyperplane")

    direction = np.array([np.cos(0.5), np.sin(0.5)])
    xs = np.linspace(-4, 4, 45) / scale
    grid = np.stack(np.meshgrid(xs, xs), -1)
    across = np.array([-direction[1], direction[0]])
    ends = np.array([-7.0, 7.0])[:, None] * across / scale
    sets = {}
    for number, (first, last) in enumerate(found[0]):
        line = (last - bias) / scale * direction + ends
        name = f"edge of f = {level:g}" if first < last else f"f = {level:g}, root {number + 1}"
        if abs(last - bias) < 5:
            sets[name] = (line[:, 0], line[:, 1])
    origin = -bias / scale * direction + 1.2 / scale * across
    yield figure.plane(
        _level_title(activation, level, hyperplanes[0], thick[0]),
        x="first input", y="second input",
        regions=(xs, xs, np.asarray(phi(jnp.asarray(scale * grid @ direction + bias)))),
        lines=sets,
        arrows={"direction of w and of the gradient": (tuple(origin), tuple(origin + 1.6 / scale * direction))},
    )  # fmt: skip


def _level_title(activation: str, level: float, hyperplanes: int, half_spaces: int) -> str:
    if half_spaces:
        return f"Where {activation} is {level:g}: a whole half-space"
    plural = "hyperplane" if hyperplanes == 1 else "parallel hyperplanes"
    return f"Where {activation} is {level:g}: {hyperplanes or 'no'} {plural} for |w·x + b| ≤ {WINDOW:g}"


@method(
    "gelu",
    says="GELU is z times the normal distribution function; its usual tanh form is off by at most 4.73e-4.",
    formula=r"\mathrm{gelu}(z) = z\,\Phi(z) = \tfrac{z}{2}\left(1 + \mathrm{erf}(z/\sqrt 2)\right), \quad "
    r"\mathrm{gelu}'(z) = \Phi(z) + z\,\varphi(z)",
    sources=("sheet",),
    shows=(
        "networks.gelu",
        "networks.gelu_tanh",
        "networks.gelu_derivative",
        "networks.activation",
        "networks.preimage",
    ),
)
def gelu(
    key,
    reach: Annotated[float, Range(3.0, 30.0)] = 6.0,
    points: Annotated[int, Range(2001, 200001, log=True)] = 20001,
    precision: Annotated[str, Choice("float64", "float32")] = "float64",
):
    """Checked against the standard library's erfc in double precision, and against automatic differentiation."""
    from scipy.optimize import minimize_scalar

    z = jnp.linspace(-reach, reach, points).astype(precision)
    exact, cheap, slope = networks.gelu(z), networks.gelu_tanh(z), networks.gelu_derivative(z)
    eps = float(jnp.finfo(precision).eps)
    check = np.asarray(z, float)[:: max(1, points // 2000)]
    reference = [0.5 * t * math.erfc(-t / math.sqrt(2)) for t in check]
    # erfc's relative error grows like its argument times eps: the tail falls like exp(-z²/2)
    tail = 8 * eps * (1 + reach**2)
    yield close(exact[:: max(1, points // 2000)], reference, "gelu", rtol=tail, atol=1e-37)
    autodiff = jax.vmap(jax.grad(networks.gelu))(z)
    yield close(slope, autodiff, "derivative, against automatic differentiation", atol=8 * eps)
    at = networks.gelu(jnp.array([1.0, -1.0], precision))
    yield close(at, [0.84134, -0.15866], "gelu(1) and gelu(−1)", atol=5e-6)
    lowest = minimize_scalar(lambda t: networks.gelu(jnp.asarray(t)).item(), bounds=(-2, 0), options={"xatol": 1e-9})
    yield close(lowest.fun, -0.169971, "minimum", atol=5e-7)
    yield close(lowest.x, -0.751792, "where it is", atol=1e-6)
    gap = np.asarray(exact - cheap, float)
    yield close(float(np.abs(gap).max()), 4.73e-4, "largest gap to the tanh form", atol=1e-6)
    inside = np.flatnonzero(np.abs(np.asarray(z)) <= 4)
    show = inside[:: max(1, len(inside) // 300)]
    sparse = show[::12]
    shown = np.asarray(z, float)[show]
    yield figure.beside(
        f"The tanh form follows GELU to {np.abs(gap).max():.2e}",
        figure.curves(
            "GELU and its slope", x="z", y="value",
            lines={"gelu": (shown, np.asarray(exact)[show]), "derivative": (shown, np.asarray(slope)[show])},
            points={"tanh form": (np.asarray(z)[sparse], np.asarray(cheap)[sparse])},
        ),
        figure.curves(
            "The gap, 10 000 times", x="z", y="10⁴ (gelu − tanh form)", lines={"gap": (shown, 1e4 * gap[show])}
        ),
    )  # fmt: skip
