"""Which frequencies a wide rectifier network can learn on the circle."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, infinite_width, training
from leadline.evidence import Int, at_least, at_most, claim, close, reference, slope
from leadline.presentation import figure

_GRID = 2048
_POINTS = 24
_FREQUENCIES = np.arange(1, 7)
_BIASED = (1.034, 0.401, 0.0498, 0.0104, 0.00536, 0.00319)


@claim(sources=("eth",))
def relu_ntk_circle_spectrum(key, width: Int(512, 4096, log=True) = 2048, num_steps: Int(300, 600) = 300):
    r"""ReLU NTK spectrum on the circle.

    On the circle the tangent kernel of a bias-free two-layer ReLU network has eigenvalue 0 at every odd frequency
    above 1 and eigenvalues that decay as k⁻² at even ones: it cannot learn cos 3t. A constant input coordinate fills
    the gaps.

    $$\mu_k = \frac{2}{\pi^2} \frac{k^2 + 3}{(k^2 - 1)^2} \ (k \text{ even}), \quad \mu_1 = \tfrac12, \quad \mu_k = 0 \
    (k = 3, 5, \dots)$$

    Assumes: inputs on the circle; no bias, both layers trained.

    Check: Networks f = √(2/m) v·(Wx)₊ with f₀ = 0 are each trained on one target cos kt at 24 equispaced points.
    """
    stack = infinite_width.dense_stack(1, "relu", W_std=math.sqrt(2), first_W_std=math.sqrt(3))
    t = 2 * math.pi * np.arange(_GRID) / _GRID
    plain, lifted = (np.asarray(stack.kernel_fn(x[:1], x))[0] for x in (_on_circle(t, False), _on_circle(t, True)))
    mu, biased = (np.fft.rfft(row).real / _GRID for row in (plain, lifted))
    even = np.arange(0, 60, 2)
    formula = 2 / math.pi**2 * (even**2 + 3) / (even**2 - 1.0) ** 2
    yield close(mu[even], formula, "μ_k at even k = 0..58", atol=2 / _GRID**2)  # the grid folds μ_(k ± 2048) into μ_k
    yield close(mu[1], 0.5, "μ₁, against 1/2", atol=1e-12)
    yield close(mu[3:60:2], 0.0, "μ_k at odd k = 3..59", atol=1e-15)
    yield slope(even[5:], formula[5:], -2.0, "decay of μ_k over even k = 10..58", within=0.05)
    yield reference(biased[:6], _BIASED, "μ₀..μ₅ with a constant coordinate", digits=3)
    x = np.stack([_on_circle(2 * math.pi * np.arange(_POINTS) / _POINTS, b) for b in (False, True)])
    y = np.cos(np.outer(_FREQUENCIES, 2 * math.pi * np.arange(_POINTS) / _POINTS))
    kernels = [np.asarray(stack.kernel_fn(z)) for z in x]
    step = np.array([1 / np.linalg.eigvalsh(K)[-1] for K in kernels])
    rng = data.generator(key)
    weight, head = rng.standard_normal((width // 2, 3)), rng.standard_normal(width // 2)
    weight, head = np.concatenate([weight, weight]), np.concatenate([head, -head])  # f₀ = 0, with the same limit kernel
    losses = np.asarray(_learning_curves(num_steps, *map(jnp.asarray, (weight, head, x, y, step))))  # (bias, k, step)
    share = losses / losses[:, :, :1]
    yield close(share[0, [2, 4], -1], 1.0, "loss left on cos 3t and cos 5t without bias, any width", rtol=1e-9)
    yield at_most(share[0, [0, 1], -1], 0.05, "loss left on cos t and cos 2t without bias")
    yield at_most(share[1, 2, -1], 0.2, "loss left on cos 3t with a constant coordinate")
    yield at_least(share[0, 2, -1] / share[1, 2, -1], 5.0, "cos 3t: loss left without bias over loss left with it")
    panels, steps, some = [], np.arange(num_steps + 1), np.arange(0, num_steps + 1, max(1, num_steps // 12))
    for index, name in enumerate(("bias-free", "with a constant coordinate")):
        wide = infinite_width.WideTraining(kernels[index], y.T, step_size=float(step[index]))
        line = np.sum((np.asarray(wide.mean(steps.astype(float))) - y.T) ** 2, axis=1) / (_POINTS / 2)  # (step, k)
        lines = {f"cos {k}t": (steps, line[:, i]) for i, k in enumerate(_FREQUENCIES)}
        points = {f"cos {k}t": (some, share[index, i, some]) for i, k in enumerate(_FREQUENCIES)}
        panels.append(figure.curves(name, "step", "share of the loss left", lines=lines, points=points))
    left = share[:, 2, -1]
    title = f"Without bias cos 3t keeps {left[0]:.0%} of its loss after {num_steps} steps, with it {left[1]:.1%}"
    yield figure.beside(title, *panels)


def _on_circle(t: np.ndarray, constant: bool) -> np.ndarray:
    """(cos t, sin t, 0), or (cos t, sin t, 1)/√2."""
    x = np.stack([np.cos(t), np.sin(t), np.full_like(t, float(constant))], axis=1)
    return x / math.sqrt(2) if constant else x


@partial(jax.jit, static_argnums=0)
def _learning_curves(steps, weight, head, x, y, step):
    """½ Σ r² before each step and after the last, of one network per input set and target."""

    def outputs(parameters, x):
        weight, head = parameters
        return jnp.sqrt(2 / head.size) * jax.nn.relu(x @ weight.T) @ head

    def run(x, step, y):
        def loss(parameters):
            return 0.5 * jnp.sum((outputs(parameters, x) - y) ** 2)

        return training.minimise(loss, (weight, head), optax.sgd(step), steps + 1)[1]

    return jax.vmap(jax.vmap(run, (None, None, 0)), (0, 0, None))(x, step, y)
