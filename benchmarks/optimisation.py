"""Long chains and sweeps of optimisation against the same loops in PyTorch and in NumPy, repetitions taken in turn.

    python -m pip install torch==2.13.0      (a CPU build; it is not a dependency of Leadline)
    python benchmarks/optimisation.py [--repetitions 7] [--json FILE]

Every rival does the same arithmetic in double precision on the same indices, records the same losses in the sweep, and
must come to the same number. PyTorch
computes its gradients by autograd, as its users do; NumPy has them in closed form. Compilation is not timed. The table
has medians, and the ratio of the faster rival's time to Leadline's: above 1, Leadline is faster.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from in_turn import measure

X = np.array([0.6, 0.8, 1.0, 1.2, 0.5, 1.1])
Y = np.array([1.0, -0.3, 0.4, 0.9, -0.6, 0.2])
ETA = 0.1


class Case(NamedTuple):
    """A loop: its name, how many steps, and over how many step sizes at once."""

    name: str
    steps: int
    sizes: int = 1


def indices(n: int, steps: int) -> np.ndarray:
    return np.random.default_rng(0).integers(n, size=steps).astype(np.int32)


def bowl() -> tuple[np.ndarray, np.ndarray]:
    """A quadratic in 50 dimensions with condition number 1000, and 200 step sizes in its stable range."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 50)))[0]
    return basis * np.geomspace(1e-3, 1.0, 50) @ basis.T, np.linspace(0.01, 1.99, 200)


def digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return np.concatenate([bundle.data / 16, np.ones((1797, 1))], axis=1), bundle.target


def leadline(case: Case) -> Callable[[], float]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import optax

    from leadline import optimisation, stochastic

    if case.name == "path":
        problem, rows = stochastic.six_points(), indices(6, case.steps)
        return lambda: float(stochastic.sgd_run(problem, np.zeros(1), ETA, rows).last[0])
    if case.name == "sweep":
        matrix, sizes = bowl()
        objective = optimisation.Quadratic(jnp.asarray(matrix), jnp.zeros(50))
        return lambda: float(
            optimisation.step_sweep(objective, optax.sgd, jnp.asarray(sizes), jnp.ones(50), case.steps)[:, -1].sum()
        )
    softmax = optimisation.digits_softmax(0.01)
    if case.name == "descent":
        rule = optimisation.tunable(optax.sgd, learning_rate=0.17)
        return lambda: float(optimisation.descend(softmax, rule, jnp.zeros(650), case.steps).values[-1])
    problem, rows = stochastic.finite_softmax(softmax), jnp.asarray(indices(1797, case.steps))
    return lambda: float(softmax(stochastic.saga(problem, jnp.zeros(650), 0.0276, rows, every=case.steps).last))


def with_numpy(case: Case) -> Callable[[], float]:
    from scipy.special import logsumexp, softmax

    if case.name == "path":
        rows = indices(6, case.steps)

        def path() -> float:
            w = np.zeros(1)
            for i in rows:
                w = w - ETA * X[i] * (X[i] * w - Y[i])
            return float(w[0])

        return path
    if case.name == "sweep":
        matrix, sizes = bowl()

        def sweep() -> float:
            w, losses = np.ones((len(sizes), 50)), np.empty((case.steps + 1, len(sizes)))
            for t in range(case.steps + 1):
                image = w @ matrix
                losses[t] = np.sum(w * image, axis=1) / 2
                w = w - sizes[:, None] * image
            return float(losses[-1].sum())

        return sweep
    x, y = digits()
    right = np.eye(10)[y]

    def value(w: np.ndarray) -> float:
        scores = x @ w
        return float(np.mean(logsumexp(scores, axis=1) - np.sum(scores * right, axis=1)) + 0.005 * np.sum(w**2))

    if case.name == "descent":

        def descent() -> float:
            w = np.zeros((65, 10))
            for _ in range(case.steps):
                w = w - 0.17 * (x.T @ (softmax(x @ w, axis=1) - right) / len(x) + 0.01 * w)
            return value(w)

        return descent
    rows = indices(1797, case.steps)

    def saga() -> float:
        w = np.zeros((65, 10))
        stored = softmax(x @ w, axis=1) - right
        mean = x.T @ stored / len(x)
        for i in rows:
            scores = x[i] @ w
            fresh = np.exp(scores - scores.max())
            fresh = fresh / fresh.sum() - right[i]
            change = np.outer(x[i], fresh - stored[i])
            w = w - 0.0276 * (change + mean + 0.01 * w)
            mean += change / len(x)
            stored[i] = fresh
        return value(w)

    return saga


def with_torch(case: Case) -> Callable[[], float]:
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_default_dtype(torch.float64)
    if case.name == "path":
        x, y, rows = torch.tensor(X), torch.tensor(Y), indices(6, case.steps).tolist()

        def path() -> float:
            w = torch.zeros(1, requires_grad=True)
            rule = torch.optim.SGD([w], lr=ETA)
            for i in rows:
                rule.zero_grad(set_to_none=True)
                ((x[i] * w - y[i]) ** 2 / 2).sum().backward()
                rule.step()
            return float(w.detach()[0])

        return path
    if case.name == "sweep":
        matrix, sizes = (torch.tensor(part) for part in bowl())

        def sweep() -> float:
            w, losses = torch.ones(len(sizes), 50), torch.empty(case.steps + 1, len(sizes))
            for t in range(case.steps + 1):
                image = w @ matrix
                losses[t] = (w * image).sum(dim=1) / 2
                w = w - sizes[:, None] * image
            return float(losses[-1].sum())

        return sweep
    x, y = (torch.tensor(part) for part in digits())

    def value(w: torch.Tensor) -> torch.Tensor:
        return cross_entropy(x @ w, y) + 0.005 * (w**2).sum()

    if case.name == "descent":

        def descent() -> float:
            w = torch.zeros(65, 10, requires_grad=True)
            rule = torch.optim.SGD([w], lr=0.17)
            for _ in range(case.steps):
                rule.zero_grad(set_to_none=True)
                value(w).backward()
                rule.step()
            return float(value(w.detach()))

        return descent
    rows, right = indices(1797, case.steps).tolist(), torch.eye(10)[y]

    @torch.no_grad()
    def saga() -> float:
        w = torch.zeros(65, 10)
        stored = torch.softmax(x @ w, dim=1) - right
        mean = x.T @ stored / len(x)
        for i in rows:
            fresh = torch.softmax(x[i] @ w, dim=0) - right[i]
            change = torch.outer(x[i], fresh - stored[i])
            w = w - 0.0276 * (change + mean + 0.01 * w)
            mean += change / len(x)
            stored[i] = fresh
        return float(value(w))

    return saga


RIVALS = {"leadline": leadline, "numpy": with_numpy, "torch": with_torch}
CASES = {
    "SGD path on six points": Case("path", 50_000),
    "200 step sizes at once, quadratic of 50 dimensions": Case("sweep", 1000, 200),
    "gradient descent, softmax regression on digits": Case("descent", 200),
    "SAGA, softmax regression on digits": Case("saga", 1797 * 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, case in CASES.items():
        seconds, results = measure(RIVALS, case, arguments.repetitions)
        if not np.allclose(list(results.values()), results["leadline"], rtol=1e-6):
            raise SystemExit(f"{name}: the rivals do not agree: {results}")
        per_step = {who: 1e6 * value / case.steps for who, value in seconds.items()}
        ratios = {who: value / seconds["leadline"] for who, value in seconds.items() if who != "leadline"}
        rows.append({"case": name, "microseconds_per_step": per_step, "ratios": ratios})
        shown = ", ".join(f"{who} {value:.2f} µs" for who, value in per_step.items())
        print(f"{name}: {shown} a step; " + ", ".join(f"{r:.1f} times {w}" for w, r in ratios.items()), flush=True)
    run = leadline(Case("path", 1_000_000))
    run()
    begin = time.perf_counter()
    run()
    rows.append({"case": "a million steps of SGD", "seconds": time.perf_counter() - begin})
    print(f"a million steps of SGD on six points: {rows[-1]['seconds']:.2f} s", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
