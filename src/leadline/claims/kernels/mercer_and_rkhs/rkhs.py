"""The space of a kernel: its inner product, its norm, and the linear and affine functions as examples."""

import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, instrument
from leadline.kernels import machines
from leadline.kernels.algebra import diagonal_of
from leadline.learning import ridge
from leadline.presentation import figure

KERNELS = {
    "gaussian": kernels.Gaussian,
    "laplace": kernels.Laplace,
    "matern52": kernels.Matern52,
    "polynomial": lambda scale: kernels.Polynomial(3, scale),
    "arccosine": lambda scale: kernels.ArcCosine(1) + scale * kernels.Affine(),
}


@claim(sources=("cam",))
def feature_space_nonuniqueness(key, w: Real(-5.0, 5.0) = 1.5, dim: Int(1, 8) = 3, features: Int(9, 60) = 12):
    r"""Feature maps are not unique.

    A kernel does not determine its features: with the redundant φ(x) = (x, x)/√2 every θ = √2 (a, w − a) gives the
    same function w x. The norm of f in the kernel's space is the least ‖θ‖ among all θ that give f.

    $$\|f\|_k = \min\{\|\theta\| : \langle\theta, \phi(\cdot)\rangle = f\}$$

    Check: The fibre of one function is drawn in the plane; then a random redundant map from the inputs to more
    features is tried.
    """
    x = np.linspace(-2, 2, 9)
    a = np.linspace(-3, 3, 25) + w / 2
    theta = np.sqrt(2) * np.column_stack([a, w - a])
    phi = np.column_stack([x, x]) / np.sqrt(2)
    yield close(theta @ phi.T, np.broadcast_to(w * x, (25, 9)), "θ·φ(x) for 25 different θ, against w x", atol=1e-13)
    lengths = np.linalg.norm(theta, axis=1)
    alpha = np.array([w / 2.0])  # f = α k(2, ·) with k(x, x') = x x'
    norm = kernels.rkhs_norm(kernels.Linear(), np.array([[2.0]]), alpha)
    yield close(norm, abs(w), "‖f‖ = √(αᵀKα), against |w|", atol=1e-14)
    yield at_least(lengths, norm, "‖θ‖ along the fibre, against ‖f‖", atol=1e-12)
    yield exactly(np.argmin(lengths), 12, "where ‖θ‖ is least: a = w/2 (place 12 of 0..24)")
    yield close(lengths[12], norm, "‖θ‖ at a = w/2, against ‖f‖", atol=1e-12)
    rng = data.generator(key)
    A, v = rng.normal(size=(features, dim)), rng.normal(size=dim)  # φ(x) = A x, f(x) = v·x
    shortest = np.linalg.pinv(A.T) @ v
    other = shortest + (np.eye(features) - np.linalg.pinv(A.T) @ A.T) @ rng.normal(size=features)
    points = rng.normal(size=(dim + 2, dim))

    def kernel(p, q):
        return (p @ A.T) @ (q @ A.T).T

    found = kernels.interpolant_norms(kernel, lambda p: p @ v, [points]).squared[0] ** 0.5
    size = np.linalg.norm(shortest)
    yield close(points @ A.T @ other, points @ v, "another θ on the random map, against f", atol=1e-9 * (1 + size))
    yield close(found, size, "‖f‖ from values and K alone, against the shortest θ", rtol=1e-6)
    length = np.linalg.norm(other)
    yield at_least(length, size, "length of another θ on the random map, against the shortest", strict=True)
    title = f"Every θ on the line is the function f(x) = {w:g} x; the shortest has length {norm:.3g} = ‖f‖"
    lines = {"all θ that give f": (theta[:, 0], theta[:, 1])}
    points = {"shortest θ": theta[12:13], "other θ": theta[[4, 20]]}
    arrows = {"‖f‖": ((0.0, 0.0), tuple(theta[12]))} if norm > 0.05 else {}
    domain = (-4.5, 4.5), (-4.5, 4.5)
    yield figure.plane(title, "θ₁", "θ₂", lines=lines, points=points, arrows=arrows, domain=domain)


@instrument(sources=("cam",), shows=("kernels.rkhs_inner",))
def rkhs_inner_product(
    key,
    kernel: OneOf(*KERNELS) = "gaussian",
    centres: Int(2, 100) = 12,
    dim: Int(1, 6) = 2,
    scale: Real(0.2, 3.0, log=True) = 1.0,
):
    r"""Inner product in an RKHS.

    For f = Σ αᵢ k(xᵢ, ·) and g = Σ βⱼ k(zⱼ, ·) the inner product is αᵀK(x, z)β, whatever expansion a function is
    written in. It gives norms, angles and distances of fitted functions, to report beside their training errors.

    $$\langle f, g\rangle_k = \alpha^T K(x, z)\, \beta, \qquad \|f\|_k^2 = \alpha^T K \alpha$$

    Check: Random expansions are rewritten: a coefficient is split over equal centres, and over linearly dependent
    ones.
    """
    rng, k = data.generator(key), KERNELS[kernel](scale)
    x, z, fresh = rng.normal(size=(centres, dim)), rng.normal(size=(centres + 1, dim)), rng.normal(size=(50, dim))
    alpha, beta = rng.normal(size=centres), rng.normal(size=centres + 1)
    geometry = kernels.function_geometry(k, x, alpha, z, beta)
    f, g = geometry.norms
    scale_f = float(np.abs(alpha) @ np.abs(k(x, x)) @ np.abs(alpha))
    split = kernels.rkhs_norm(k, np.concatenate([x, x[:1]]), np.concatenate([[alpha[0] - 7.0], alpha[1:], [7.0]]))
    yield close(split**2, f**2, "‖f‖² with one coefficient split over two equal centres", atol=1e-10 * (scale_f + 100))
    # Linear functions of dim inputs: dim + 2 centres are dependent, so that other coefficients give the same function.
    points = rng.normal(size=(dim + 2, dim))
    null = np.linalg.svd(points.T)[2][-1]
    weights = rng.normal(size=dim + 2)
    norms = [kernels.rkhs_norm(kernels.Linear(), points, weights + c * null) for c in (0.0, 1.0, -5.0)]
    yield close(norms, norms[0], "‖f‖ of three expansions of one linear function", rtol=1e-10, atol=1e-10)
    zero = kernels.rkhs_norm(kernels.Linear(), points, null)
    values = machines.Expansion(kernels.Linear(), points, null)(fresh)
    yield close(zero, 0.0, "‖Σ cᵢ k(xᵢ, ·)‖ for a vanishing combination", atol=1e-7)
    yield close(values, 0.0, "values at 50 fresh points of a vanishing combination", atol=1e-12)
    yield at_most(abs(geometry.inner), f * g, "|⟨f, g⟩|, against ‖f‖ ‖g‖ (Cauchy and Schwarz)", rtol=1e-12)
    apart, tolerance = f**2 + g**2 - 2 * geometry.inner, 1e-10 * (scale_f + g**2)
    yield close(geometry.distance**2, apart, "‖f − g‖², against ‖f‖² + ‖g‖² − 2⟨f, g⟩", atol=tolerance)
    bound = f * np.sqrt(diagonal_of(k, fresh))
    values = np.abs(machines.Expansion(k, x, alpha)(fresh))
    yield at_most(values, bound, "|f(x)| at fresh points, against ‖f‖ √k(x, x)", atol=1e-8 * scale_f**0.5)
    path = machines.kernel_ridge_path(k, z, beta, np.array([1e-3, 1e-2, 0.1, 1.0]))
    errors, lengths = np.mean((path.fitted - beta) ** 2, axis=1), path.squared_norms**0.5
    yield at_most(np.diff(lengths), 0.0, "change of ‖f‖ as the ridge penalty grows", atol=1e-10)
    yield at_least(np.diff(errors), 0.0, "change of the training error as the ridge penalty grows", atol=1e-10)


@claim(sources=("cam",))
def reproducing_property(
    key,
    kernel: OneOf(*KERNELS) = "gaussian",
    centres: Int(1, 200) = 20,
    dim: Int(1, 10) = 3,
    cells: Int(100, 200_000, log=True) = 20_000,
):
    r"""Reproducing property.

    Evaluation is an inner product: f(x) = ⟨f, k(·, x)⟩, and in particular k(x, x') = ⟨k(·, x), k(·, x')⟩. For k = min
    on [0, 1] the inner product is ∫ f'g'.

    $$f(x) = \langle f, k(\cdot, x)\rangle_k, \qquad \langle f, g\rangle_{\min} = \int_0^1 f' g' \, dt$$

    Check: Expansions are checked by algebra, and the minimum kernel by integrals of difference quotients on a grid.
    """
    rng, k = data.generator(key), KERNELS[kernel](1.0)
    x, alpha, fresh = rng.normal(size=(centres, dim)), rng.normal(size=centres), rng.normal(size=(8, dim))
    f, one = machines.Expansion(k, x, alpha), np.ones(1)
    inner = [kernels.rkhs_inner(k, x, alpha, p[None], one) for p in fresh]
    size = 1 + float(np.abs(alpha) @ np.abs(k(x, fresh)).max(axis=1))
    yield close(np.array(inner) / size, f(fresh) / size, "⟨f, k(·, x)⟩ at 8 points, against f(x), relative", atol=1e-12)
    pairs = [kernels.rkhs_inner(k, p[None], one, q[None], one) for p in fresh for q in fresh]
    gram = np.array([[k(p[None], q[None])[0, 0] for q in fresh] for p in fresh])
    yield close(pairs, gram.ravel(), "⟨k(·, x), k(·, x')⟩, against k(x, x')", rtol=1e-12, atol=1e-13)
    t = np.arange(cells + 1) / cells
    amplitudes, frequencies = rng.normal(size=4), rng.uniform(0.5, 6, 4)
    smooth = np.sin(np.outer(t, frequencies)) @ amplitudes  # f(0) = 0
    places = np.unique(rng.integers(1, cells + 1, 12))
    sections = np.minimum(t[:, None], t[None, places])
    integrals = cells * np.diff(smooth) @ np.diff(sections, axis=0)
    yield close(integrals, smooth[places], "∫ f' k(·, x)' dt for the minimum kernel, against f(x)", atol=1e-6)
    both = cells * np.diff(sections, axis=0).T @ np.diff(sections, axis=0)
    own = kernels.Minimum()(t[places][:, None], t[places][:, None])
    yield close(both, own, "∫ k(·, x)' k(·, x')' dt, against min(x, x')", atol=1e-6)


@claim(sources=("cam",))
def linear_affine_kernels(
    key,
    samples: Int(3, 300) = 40,
    dim: Int(1, 20) = 4,
    gamma: Real(0.001, 5.0, log=True) = 0.05,
    weight: Real(0.05, 20.0, log=True) = 2.0,
):
    r"""Linear and affine kernels.

    The functions w·x have the kernel x·x' and the norm ‖w‖; the functions w·x + b have x·x' + 1 and √(‖w‖² + b²); with
    weight c on b² the kernel is x·x' + 1/c. Kernel ridge with them is ridge without bias and with penalised bias; c →
    0 frees the bias.

    $$k(x, x') = x \cdot x' + \tfrac1c \;\Leftrightarrow\; \|w \cdot x + b\|^2 = \|w\|^2 + c\, b^2$$

    Check: Explicit ridge on the columns of x (and a constant column 1/√c) is compared with kernel ridge at 30 fresh
    points.
    """
    rng = data.generator(key)
    x, fresh = rng.normal(size=(samples, dim)) + 0.5, rng.normal(size=(30, dim))
    y = x @ rng.normal(size=dim) + 2.0 + 0.3 * rng.normal(size=samples)
    plain = machines.kernel_ridge(kernels.Linear(), x, y, gamma)
    explicit = ridge(x, y, gamma, intercept=False).weights
    yield close(plain.predict(fresh), fresh @ explicit, "predictions with x·x', against ridge without bias", atol=1e-8)
    yield close(plain.norm, np.linalg.norm(explicit), "norm of the function, against ‖w‖", rtol=1e-8)
    for c in (1.0, weight):
        affine = machines.kernel_ridge(kernels.Affine(1 / c), x, y, gamma)
        column = np.full((samples, 1), c**-0.5)
        theta = ridge(np.concatenate([x, column], axis=1), y, gamma, intercept=False).weights
        w, b, name = theta[:-1], theta[-1] * c**-0.5, "x·x' + 1" if c == 1.0 else f"x·x' + 1/{c:g}"
        yield close(affine.predict(fresh), fresh @ w + b, f"predictions with {name}, against explicit ridge", atol=1e-8)
        yield close(affine.norm, np.sqrt(w @ w + c * b**2), f"norm with {name}, against √(‖w‖² + cb²)", rtol=1e-8)
    free = ridge(x, y, gamma)
    limit = fresh @ free.weights + free.bias
    nearly = [machines.kernel_ridge(kernels.Affine(1 / c), x, y, gamma).predict(fresh) for c in (1e-3, 1e-4)]
    gaps = [np.abs(f - limit).max() for f in nearly]
    yield close(gaps[0] / gaps[1], 10.0, "distance to ridge with a free bias: c = 1e-3 against c = 1e-4", rtol=0.1)
    yield at_most(gaps[1], 0.01 * np.abs(limit).max(), "distance to ridge with a free bias at c = 1e-4")
