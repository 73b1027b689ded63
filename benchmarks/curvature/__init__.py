"""Hessian products and top eigenvalues against curvlinops, PyHessian and torch.func.

Networks of the same weights on all 1797 digits in single precision, after 200 steps of Adam. A "product" is one
Hessian product from the weights; a "kept product" reuses the linearised gradient, as PyHessian does. The ten
eigenvalues are those of largest modulus, each to a relative 1e-4 of what ARPACK finds in double precision; every side
runs with the loosest of its settings that reaches this, and answers with its eigenvalues over the right ones; Leadline
keeps its gradient where that is faster, as PyHessian does.
"""

import math

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work
from .networks import SHAPES, digits, trained_weights

PRODUCTS, EIGENVALUES, ACCURACY = 10, 10, 1e-4
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def inputs(network: str) -> Inputs:
    """Weights, a direction to multiply with, and the eigenvalues that there are."""
    weights = trained_weights(network)
    size = sum(value.size for value in weights.values())
    direction = np.random.default_rng(1).normal(size=size).astype(np.float32) / size**0.5
    return {**weights, "direction": direction}


def inputs_with_eigenvalues(network: str) -> Inputs:
    from .double_precision import eigenvalues

    found = inputs(network)
    exact = eigenvalues(network, weights_of(network, found))
    return {**found, "eigenvalues": exact, "ones": np.ones_like(exact)}


def weights_of(network: str, found: Inputs) -> Inputs:
    return {name: found[name] for name in SHAPES[network]}


def split(v, weights: Inputs):
    """A vector as arrays of the shapes of the weights."""
    first = 0
    for value in weights.values():
        count = math.prod(value.shape)
        yield v[first : first + count].reshape(value.shape)
        first += count


def loosest(top, expected: np.ndarray, tolerances: tuple[float, ...] = TOLERANCES):
    """A run with the loosest tolerance that is accurate enough, or the strictest: sorted, over the expected ones."""

    def shares(tolerance: float) -> np.ndarray:
        return np.sort(np.asarray(top(tolerance), float).ravel()) / expected

    chosen = next((t for t in tolerances if np.max(np.abs(shares(t) - 1)) <= ACCURACY), tolerances[-1])
    return lambda: shares(chosen)


def arpack(operator, tolerance: float) -> np.ndarray:
    """SciPy's eigsh, which curvlinops and torch.func are used with; it starts from the same vector for all."""
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).normal(size=operator.shape[0]).astype(operator.dtype)
    return eigsh(operator, k=EIGENVALUES, which="LM", tol=tolerance, v0=start, return_eigenvectors=False)


def repeated(product):
    """Some products in a row; the last is the answer."""

    def run() -> np.ndarray:
        for _ in range(PRODUCTS):
            result = product()
        return np.asarray(result)

    return run


def product_flops(network: str, kept: bool) -> float:
    """Matrix products of one Hessian product, eight for each weight and use, of two operations each.

    W x; the tangent W x' + V x; δ Wᵀ; its tangent δ' Wᵀ + δ Vᵀ; the tangent of the gradient, δ' xᵀ + δ x'ᵀ. With the
    gradient kept, W x and δ Wᵀ are there. A first layer has no x' and passes nothing back. A weight meets every row
    once, in a convolution every position, in a transformer every token.
    """
    rows = len(digits()[0])
    places = {"mlp": 1, "cnn": 64, "transformer": 8}[network]
    flops = 0.0
    for index, (name, shape) in enumerate(SHAPES[network].items()):
        if len(shape) < 2 or name == "place":
            continue
        uses = 1 if name in ("w3", "head") else places
        products = (3 if index == 0 else 8) - kept * (1 if index == 0 else 2)
        flops += 2 * products * rows * uses * math.prod(shape)
    return flops


_MLP = (
    "nine tenths of the time are products of 1797 x 64 x 64 and thinner ones: 54 GFlop/s on one core, 46 where XLA "
    "contracts over the rows; with rows split over both cores it takes longer."
)
_CNN = (
    "on one core 63% are products, the large ones at 76 to 96 GFlop/s, and a third is copying: patches, padding, "
    "transposes. XLA's own convolutions are many times slower in derivatives."
)
_KEPT_CNN = "on one core 57% are products, the rest is copying; 113 MB are kept, which each product reads anew."
_TRANSFORMER = (
    "some 200 operations on 2048 x 32 numbers or fewer; on one core 62% are products, which reach 56 to 104 GFlop/s at "
    "these sizes on both, and a quarter is copying. A second core gains little."
)
_TOP = "22 products, as many as ARPACK takes for its rivals; see the product."
_REASONS = {
    ("mlp", "product"): _MLP,
    ("mlp", "kept_product"): _MLP,
    ("cnn", "product"): _CNN,
    ("cnn", "kept_product"): _KEPT_CNN,
    ("cnn", "top"): _TOP,
    ("transformer", "product"): _TRANSFORMER,
    ("transformer", "kept_product"): _TRANSFORMER,
    ("transformer", "top"): _TOP,
}


def side(task: str) -> Side:
    return Side(LEADLINE, "benchmarks.curvature.leadline_operators", task)


def rivals(network: str, task: str) -> tuple[Side, ...]:
    """Only PyHessian keeps a graph; its power iteration is left to the MLP, elsewhere it takes minutes."""
    programs = {"curvlinops": "curvlinops_side", "torch.func": "torch_func_side", "PyHessian": "pyhessian_side"}
    if task == "kept_product":
        names = ["PyHessian"]
    else:
        # curvlinops' product is off in the gains of the transformer, by 1e-2; its eigenvalues by 5e-5, which is allowed
        names = [name for name in programs if task == "product" or network == "mlp" or name != "PyHessian"]
    return tuple(Side(name, f"benchmarks.curvature.{programs[name]}", task, "torch") for name in names)


def case(network: str, task: str, words: str, asked: float | None) -> Case:
    top = task == "top"
    return Case(
        f"{words}, {network.upper() if network != 'transformer' else network}",
        (side(task), *rivals(network, task)),
        lambda: (inputs_with_eigenvalues if top else inputs)(network),
        {"network": network},
        tolerance=ACCURACY if top else 1e-3,
        expected="ones" if top else "",
        asked=asked,
        count=1 if top else PRODUCTS,
        work=Work() if top else Work(PRODUCTS * product_flops(network, task == "kept_product")),
        reason=_REASONS.get((network, task), ""),
        quick=network == "mlp",
    )


CASES = [
    case(network, task, words, asked)
    for network in SHAPES
    for task, words, asked in (
        ("product", "Hessian product", 2.0),
        ("kept_product", "Hessian product, gradient kept", None),
        ("top", "ten eigenvalues", 3.0),
    )
]
