"""Units as networks have them: the level sets of a ridge unit, and GELU."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.evidence import Int, OneOf, Real, assume, at_most, claim, close, exactly, method, reference
from leadline.presentation import figure

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


@claim(sources=("sheet",))
def ridge_unit_level_sets(
    key,
    activation: OneOf("tanh", "relu", "gelu", "sin") = "gelu",
    level: Real(-0.9, 0.9) = -0.1,
    dim: Int(2, 200, log=True) = 10,
    scale: Real(0.1, 10.0, log=True) = 2.0,
    bias: Real(-3.0, 3.0) = 0.5,
):
    r"""Level sets of a ridge unit.

    A unit φ(w·x + b) is constant in every direction orthogonal to w, and its gradient points along w. Its level set at
    z is one hyperplane per root of φ(t) = z, and for ReLU at z = 0 it is a half-space.

    $$f(x) = \phi(w \cdot x + b): \quad f(x + v) = f(x) \text{ for } v \perp w, \quad \nabla f \parallel w$$

    Assumes: w ≠ 0.

    Check: Hyperplanes are counted by walks along w from random points, roots from the shape of φ.
    """
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
    yield at_most(jnp.abs(unit(x + v) - unit(x)), 1e-12, "|f(x + v) − f(x)| for v orthogonal to w")
    gradient = jax.vmap(jax.grad(unit))(x)
    length = jnp.linalg.norm(gradient, axis=1)
    cosine = jnp.abs(gradient @ w) / jnp.where(length > 0, length * scale, 1.0)
    yield close(cosine[length > 0], 1.0, "|cos(∇f, w)|", atol=1e-10)

    def pieces(start):
        return networks.preimage(lambda t: _walk(phi, w, bias, start, t), level, low=-WINDOW, high=WINDOW)

    found = [pieces(start) for start in x[:4]]
    flat = activation == "relu" and level == 0
    hyperplanes = [(p[:, 0] == p[:, 1]).sum() for p in found]
    thick = [(p[:, 0] < p[:, 1]).sum() for p in found]
    yield exactly(hyperplanes, 0 if flat else _root_count(activation, level), "hyperplanes on four walks along w")
    yield exactly(thick, int(flat), "half-spaces on four walks along w")
    if found[0].size:
        spread = max(np.abs(p - found[0]).max() for p in found)
        yield at_most(spread, 0.011 if flat else 1e-9, "spread of w·x + b over the walks")
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
    title = _level_title(activation, level, hyperplanes[0], thick[0])
    regions = (xs, xs, phi(jnp.asarray(scale * grid @ direction + bias)))
    arrows = {"direction of w and of the gradient": (tuple(origin), tuple(origin + 1.6 / scale * direction))}
    yield figure.plane(title, "first input", "second input", regions=regions, lines=sets, arrows=arrows)


def _level_title(activation: str, level: float, hyperplanes: int, half_spaces: int) -> str:
    if half_spaces:
        return f"Where {activation} is {level:g}: a whole half-space"
    plural = "hyperplane" if hyperplanes == 1 else "parallel hyperplanes"
    return f"Where {activation} is {level:g}: {hyperplanes or 'no'} {plural} for |w·x + b| ≤ {WINDOW:g}"


@method(sources=("sheet",), shows=("networks.activation", "networks.preimage"))
def gelu(
    key,
    reach: Real(3.0, 30.0) = 6.0,
    points: Int(2001, 200001, log=True) = 20001,
    precision: OneOf("float64", "float32") = "float64",
):
    r"""Gaussian error linear unit (GELU).

    GELU is z times the standard normal distribution function Φ(z); its usual tanh approximation is off by at most 4.73
    · 10⁻⁴.

    $$\mathrm{gelu}(z) = z\,\Phi(z) = \tfrac{z}{2}\left(1 + \mathrm{erf}(z/\sqrt 2)\right), \quad \mathrm{gelu}'(z) =
    \Phi(z) + z\,\varphi(z)$$
    """
    from scipy.optimize import minimize_scalar

    z = jnp.linspace(-reach, reach, points).astype(precision)
    exact, cheap, slope = networks.gelu(z), networks.gelu_tanh(z), networks.gelu_derivative(z)
    eps = float(jnp.finfo(precision).eps)
    check = np.asarray(z, float)[:: max(1, points // 2000)]
    standard = [0.5 * t * math.erfc(-t / math.sqrt(2)) for t in check]
    # erfc's relative error grows like its argument times eps: the tail falls like exp(-z²/2)
    tail = 8 * eps * (1 + reach**2)
    yield close(exact[:: max(1, points // 2000)], standard, "gelu against erfc", rtol=tail, atol=1e-37)
    autodiff = jax.vmap(jax.grad(networks.gelu))(z)
    yield close(slope, autodiff, "derivative, against automatic differentiation", atol=8 * eps)
    at = networks.gelu(jnp.array([1.0, -1.0], precision))
    yield reference(at, [0.84134, -0.15866], "gelu(1) and gelu(−1)", digits=5)
    lowest = minimize_scalar(lambda t: networks.gelu(jnp.asarray(t)).item(), bounds=(-2, 0), options={"xatol": 1e-9})
    yield reference([lowest.fun, lowest.x], [-0.169971, -0.751792], "minimum of gelu and where it is", digits=6)
    gap = np.asarray(exact - cheap, float)
    largest = np.abs(gap).max()
    yield reference(largest, 4.73e-4, "largest gap to the tanh form", digits=3)
    inside = np.abs(z) <= 4
    shown, sparse = z[inside], slice(None, None, max(1, int(inside.sum()) // 25))
    lines = {"gelu": (shown, exact[inside]), "derivative": (shown, slope[inside])}
    dots = {"tanh form": (shown[sparse], cheap[inside][sparse])}
    title = f"The tanh form follows GELU to {largest:.2e}"
    left = figure.curves("GELU and its slope", "z", "value", lines=lines, points=dots)
    lines = {"gap": (shown, 1e4 * gap[inside])}
    right = figure.curves("The gap, 10 000 times", "z", "10⁴ (gelu − tanh form)", lines=lines)
    yield figure.beside(title, left, right)
