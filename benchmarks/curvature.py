"""Hessian products and top eigenvalues against curvlinops, PyHessian and torch.func, repetitions taken in turn.

    python -m pip install torch==2.13.0 curvlinops-for-pytorch==3.0.1 pyhessian==0.1   (no dependencies of Leadline)
    python benchmarks/curvature.py [--repetitions 7] [--networks mlp cnn transformer] [--json FILE]

Networks of the same weights on all 1797 digits in single precision, after 200 steps of Adam. Rows "product": one
Hessian product from the weights, the mean of 20. Rows "kept product": PyHessian keeps the graph of the gradient, so
that a product is one more backward pass; `held()` does the same in Leadline. Rows "top 10": the ten eigenvalues of
largest modulus to a relative 1e-4 of those in double precision (ARPACK); every rival runs with the loosest of its
settings that reaches this, or is marked. curvlinops and torch.func go through SciPy's eigsh, PyHessian by its power
iteration (on the MLP only, where it takes several times as long as the others). Compilation and the choice of the
setting are not timed. The table has medians, and the ratio of the fastest rival's time to Leadline's: above 1,
Leadline is faster.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from curvature_networks import SHAPES, digits, jax_loss, torch_model, trained_weights
from in_turn import measure

PRODUCTS, EIGENVALUES, ACCURACY = 20, 10, 1e-4
BATCHES = {"mlp": None, "cnn": 128, "transformer": 256}  # rows that Leadline takes at a time: what fits into the cache
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


class Problem(NamedTuple):
    """A network with weights, what is asked of its Hessian, and the eigenvalues it should have."""

    network: str
    task: str
    weights: dict[str, np.ndarray]
    reference: np.ndarray

    def direction(self) -> np.ndarray:
        size = sum(value.size for value in self.weights.values())
        return np.random.default_rng(1).normal(size=size).astype(np.float32) / size**0.5

    def error(self, values: Any) -> float:
        """The largest relative error of the ten eigenvalues, both sorted."""
        found = np.sort(np.asarray(values, float).ravel())
        return float(np.max(np.abs(found - self.reference) / np.abs(self.reference)))


def leadline(problem: Problem) -> Callable[[], float]:
    import jax

    from leadline import curvature

    names = sorted(problem.weights)  # JAX flattens a dictionary by its keys
    parts = dict(zip(problem.weights, _split(problem.direction(), problem.weights), strict=True))
    direction = jax.numpy.concatenate([jax.numpy.ravel(parts[name]) for name in names])
    weights = {name: jax.numpy.asarray(value) for name, value in problem.weights.items()}
    operator = curvature.hessian(jax_loss(problem.network), weights, *digits(), batch=BATCHES[problem.network])
    if problem.task == "kept product":
        operator = operator.held()
    if problem.task != "top 10":
        return _repeated(lambda: operator(direction).block_until_ready())

    def top(tolerance: float) -> np.ndarray:
        return operator.top(EIGENVALUES, which="magnitude", tolerance=tolerance).values

    return _loosest(problem, top, TOLERANCES)


def curvlinops(problem: Problem) -> Callable[[], float]:
    import torch
    from curvlinops import HessianLinearOperator

    model, (x, y) = torch_model(problem.network, problem.weights), map(torch.from_numpy, digits())
    settings = {"check_deterministic": False, "progressbar": False}
    operator = HessianLinearOperator(model, torch.nn.CrossEntropyLoss(), list(model.parameters()), [(x, y)], **settings)
    if problem.task == "product":
        direction = torch.from_numpy(problem.direction())
        return _repeated(lambda: (operator @ direction).detach())
    return _loosest(problem, lambda tolerance: _arpack(operator.to_scipy(), tolerance), TOLERANCES)


def torch_func(problem: Problem) -> Callable[[], float]:
    import torch
    from scipy.sparse.linalg import LinearOperator
    from torch.func import functional_call, grad, jvp
    from torch.nn.functional import cross_entropy

    model, (x, y) = torch_model(problem.network, problem.weights), map(torch.from_numpy, digits())
    weights = {name: value.detach() for name, value in model.named_parameters()}
    size = sum(value.numel() for value in weights.values())

    def product(v: Any) -> Any:
        parts = dict(zip(weights, _split(v, weights), strict=True))
        gradient = grad(lambda p: cross_entropy(functional_call(model, p, (x,)), y))
        return torch.cat([part.ravel() for part in jvp(gradient, (weights,), (parts,))[1].values()])

    if problem.task == "product":
        direction = torch.from_numpy(problem.direction())
        return _repeated(lambda: product(direction))

    def matvec(v: np.ndarray) -> np.ndarray:
        return product(torch.from_numpy(np.ascontiguousarray(v.ravel(), np.float32))).numpy()

    operator = LinearOperator((size, size), matvec, dtype=np.float32)
    return _loosest(problem, lambda tolerance: _arpack(operator, tolerance), TOLERANCES)


def pyhessian(problem: Problem) -> Callable[[], float]:
    import torch
    from pyhessian import hessian
    from pyhessian.utils import hessian_vector_product

    warnings.filterwarnings("ignore", message=".*create_graph=True.*")
    model, (x, y) = torch_model(problem.network, problem.weights), map(torch.from_numpy, digits())
    direction = [part.clone() for part in _split(torch.from_numpy(problem.direction()), problem.weights)]

    def graph() -> Any:
        model.zero_grad()  # PyHessian reads the gradient where backward() adds it up
        return hessian(model, torch.nn.CrossEntropyLoss(), data=(x, y), cuda=False)

    def product(made: Any) -> Any:
        return torch.cat([part.ravel() for part in hessian_vector_product(made.gradsH, made.params, direction)])

    if problem.task == "product":
        return _repeated(lambda: product(graph()))
    made = graph()
    if problem.task == "kept product":
        return _repeated(lambda: product(made))

    def top(tolerance: float) -> list[float]:
        torch.manual_seed(0)
        return made.eigenvalues(maxIter=500, tol=tolerance, top_n=EIGENVALUES)[0]

    return _loosest(problem, top, (1e-4, 1e-5, 1e-6))


RIVALS = {"leadline": leadline, "curvlinops": curvlinops, "PyHessian": pyhessian, "torch.func": torch_func}


def contenders(network: str, task: str) -> dict[str, Any]:
    """Who takes part: only PyHessian keeps a graph; its power iteration is too slow for the two larger networks."""
    if task == "kept product":
        names = ["leadline", "PyHessian"]
    else:
        names = [name for name in RIVALS if task == "product" or network == "mlp" or name != "PyHessian"]
    return {name: RIVALS[name] for name in names}


def _split(v: Any, weights: dict[str, Any]) -> Iterable[Any]:
    first = 0
    for value in weights.values():
        count = int(np.prod(value.shape))
        yield v[first : first + count].reshape(value.shape)
        first += count


def _repeated(product: Callable[[], Any]) -> Callable[[], float]:
    """Some products in a row, and the norm of the last as what they came to."""

    def run() -> float:
        for _ in range(PRODUCTS):
            result = product()
        return float(np.linalg.norm(np.asarray(result)))

    return run


def _loosest(problem: Problem, top: Callable[[float], Any], tolerances: tuple[float, ...]) -> Callable[[], float]:
    """Run with the loosest tolerance that is accurate enough, or with the strictest; gives its error."""
    chosen = next((t for t in tolerances if problem.error(top(t)) <= ACCURACY), tolerances[-1])
    return lambda: problem.error(top(chosen))


def _arpack(operator: Any, tolerance: float) -> np.ndarray:
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).normal(size=operator.shape[0]).astype(operator.dtype)
    return eigsh(operator, k=EIGENVALUES, which="LM", tol=tolerance, v0=start, return_eigenvectors=False)


def reference(network: str, weights: dict[str, np.ndarray]) -> np.ndarray:
    """The eigenvalues in double precision, by ARPACK on PyTorch's products: nothing of Leadline's."""
    import torch
    from scipy.sparse.linalg import LinearOperator
    from torch.nn.functional import cross_entropy

    model = torch_model(network, weights, torch.float64)
    x, y = map(torch.from_numpy, digits())
    weights = list(model.parameters())
    gradient = torch.autograd.grad(cross_entropy(model(x.double()), y), weights, create_graph=True)
    size = sum(value.numel() for value in weights)

    def matvec(v: np.ndarray) -> np.ndarray:
        along = torch.cat([part.ravel() for part in gradient]) @ torch.from_numpy(np.ascontiguousarray(v.ravel()))
        product = torch.autograd.grad(along, weights, retain_graph=True)
        return torch.cat([part.ravel() for part in product]).numpy()

    return np.sort(_arpack(LinearOperator((size, size), matvec, dtype=np.float64), 1e-7))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--networks", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for network in arguments.networks:
        weights = trained_weights(network)
        eigenvalues = reference(network, weights)
        for task in ("product", "kept product", "top 10"):
            seconds, results = measure(
                contenders(network, task), Problem(network, task, weights, eigenvalues), arguments.repetitions
            )
            if task != "top 10":
                if not np.allclose(list(results.values()), results["leadline"], rtol=1e-3):
                    raise SystemExit(f"{network}: the rivals do not agree: {results}")
                seconds = {who: value / PRODUCTS for who, value in seconds.items()}
                valid = list(seconds)
            else:
                valid = [who for who, error in results.items() if error <= ACCURACY]
            ratios = {who: value / seconds["leadline"] for who, value in seconds.items() if who != "leadline"}
            row = {"network": network, "task": task, "milliseconds": {w: 1e3 * s for w, s in seconds.items()}}
            rows.append({**row, "ratios": ratios, "errors": results if task == "top 10" else {}, "valid": valid})
            shown = ", ".join(f"{w} {1e3 * s:.3g} ms" + _mark(w, valid, results) for w, s in seconds.items())
            best = min((ratios[who] for who in valid if who != "leadline"), default=float("nan"))
            print(f"{network}, {task}: {shown}; {best:.2f} times as fast as the best rival", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


def _mark(who: str, valid: list[str], results: dict[str, Any]) -> str:
    return "" if who in valid else f" (error {results[who]:.1g})"


if __name__ == "__main__":
    main()
