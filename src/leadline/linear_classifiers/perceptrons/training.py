"""The perceptron rule: add y x on every mistake."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

ORDERS = ("cyclic", "permuted", "uniform", "adversarial")
TIES = ("mistake", "correct", "positive")
HISTORY_CHUNK = 8192  # updates written on the device before they are moved to the host


class Run(NamedTuple):
    """What a perceptron did: the classifier it ended with, and every update on the way there."""

    weights: Float[Array, " d"]
    bias: Float[Array, ""]
    updates: int
    mistakes: Int[np.ndarray, " n"]  # α: updates made on each example
    history: Int[np.ndarray, " updates"]  # the example of each update, in order
    times: Int[np.ndarray, " updates"]  # presentations made before each update
    converged: bool  # every example is correct under the tie rule
    epochs: int  # sweeps of n presentations begun, the clean one included
    presentations: int
    start: Float[Array, " d"]
    step: float
    with_bias: bool


class Path(NamedTuple):
    """The classifiers a run went through: row t holds the weights after t updates."""

    weights: Float[np.ndarray, "steps d"]
    biases: Float[np.ndarray, " steps"]


def learn(
    x: Num[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " labels"],
    *,
    order: str = "cyclic",
    bias: bool = False,
    tie: str = "mistake",
    step_size: float = 1.0,
    start: Num[Array | np.ndarray, " weights"] | None = None,
    epochs: int = 1000,
    key: PRNGKeyArray | None = None,
) -> Run:
    """Rosenblatt's rule: present (x, y); on a mistake w ← w + step y x (b ← b + step y), from w = start or 0, b = 0.

    Stops after a sweep of n presentations without mistake, or at the cap of `epochs` sweeps. Orders:
    "cyclic"; "permuted" (a fresh permutation each sweep); "uniform" (with replacement; stops when all
    examples are correct after a sweep); "adversarial" (always the worst mistake, with the most negative score,
    and never a correct example while there is a mistake: every presentation costs an update).
    Ties: "mistake" counts y w·x ≤ 0 as one; "correct" only y w·x < 0; "positive" predicts sgn(0) = +1.
    Labels are -1 or +1. `key` is needed for the orders "permuted" and "uniform".

    >>> x = jnp.eye(4)
    >>> run = learn(x, jnp.ones(4))
    >>> run.updates, run.weights.tolist(), run.converged
    (4, [1.0, 1.0, 1.0, 1.0], True)
    """
    x, y = _checked_data(x, y)
    if order not in ORDERS:
        raise ValueError(f"perceptrons.learn got order={order!r}; choose one of {', '.join(ORDERS)}.")
    if tie not in TIES:
        raise ValueError(f"perceptrons.learn got tie={tie!r}; choose one of {', '.join(TIES)}.")
    if not (step_size > 0 and np.isfinite(step_size)):
        raise ValueError(f"perceptrons.learn got step_size={step_size}; it must be positive and finite.")
    if epochs < 1:
        raise ValueError(f"perceptrons.learn got epochs={epochs}; at least one sweep is needed.")
    if key is None:
        if order in ("permuted", "uniform"):
            raise ValueError(f"perceptrons.learn needs a random key for order={order!r}: pass key=jax.random.key(0).")
        key = jax.random.key(0)  # never drawn from
    if start is None:
        start = jnp.zeros(x.shape[1], x.dtype)
    elif start.shape != x.shape[1:]:
        raise ValueError(
            f"perceptrons.learn got start of shape {start.shape}; it needs one weight per column of x, {x.shape[1:]}."
        )
    start = jnp.asarray(start, x.dtype)

    n = len(y)
    capacity = HISTORY_CHUNK + n
    state = _State(start, jnp.zeros((), x.dtype), jnp.zeros(n, int), jnp.asarray(0), jnp.asarray(False), jnp.asarray(0))
    history, times = [], []
    while not state.done and state.epoch < epochs:
        state, log = _sweeps(x, y, state, key, step_size, epochs, order, tie, bias, capacity)
        count = int(log.count)
        history.append(np.asarray(log.example)[:count])
        times.append(np.asarray(log.time)[:count])
    history = np.concatenate(history)
    return Run(
        weights=state.w,
        bias=state.b,
        updates=len(history),
        mistakes=np.asarray(state.mistakes),
        history=history,
        times=np.concatenate(times),
        converged=bool(state.done),
        epochs=int(state.epoch),
        presentations=int(state.presented),
        start=start,
        step=float(step_size),
        with_bias=bias,
    )


def path(run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"]) -> Path:
    """Every (w, b) of a run: w_t = w_0 + step Σ_{s≤t} y x of the s-th mistake; T + 1 rows, rounded as in the run.

    >>> x, y = jnp.eye(2), jnp.array([1.0, -1.0])
    >>> path(learn(x, y), x, y).weights.tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, -1.0]]
    """
    x, y, start = np.asarray(x), np.asarray(y), np.asarray(run.start)
    x = x.astype(start.dtype)
    signs = (run.step * y[run.history]).astype(start.dtype)
    weights = np.cumsum(np.vstack([start[None], signs[:, None] * x[run.history]]), axis=0, dtype=start.dtype)
    biases = np.cumsum(np.concatenate([[0], signs * run.with_bias]), dtype=start.dtype)
    return Path(weights, biases)


def sweep_order(n: int, order: str, epoch: int | Int[Array, ""], key: PRNGKeyArray | None = None) -> Int[Array, " n"]:
    """The examples that `learn` presents in one sweep, for the orders that do not look at the weights.

    >>> sweep_order(4, "cyclic", 0).tolist()
    [0, 1, 2, 3]
    """
    if order == "cyclic":
        return jnp.arange(n)
    if order not in ("permuted", "uniform"):
        raise ValueError(
            f"sweep_order got order={order!r}; only cyclic, permuted and uniform are fixed before training."
        )
    if key is None:
        raise ValueError(f"sweep_order got order={order!r}, which is random, and no key; give one.")
    key = jax.random.fold_in(key, epoch)
    return jax.random.permutation(key, n) if order == "permuted" else jax.random.randint(key, (n,), 0, n)


def is_mistake(score: Float[Array, "*shape"], y: Float[Array, "*shape"], tie: str = "mistake") -> Bool[Array, "*shape"]:
    """Whether a score counts as wrong for the label y in {-1, +1} under one of the three tie rules of `learn`."""
    if tie == "mistake":
        return y * score <= 0
    if tie == "correct":
        return y * score < 0
    return jnp.where(score >= 0, y < 0, y > 0)


class _State(NamedTuple):
    """Where training stands between two sweeps."""

    w: Float[Array, " d"]
    b: Float[Array, ""]
    mistakes: Int[Array, " n"]
    epoch: Int[Array, ""]
    done: Bool[Array, ""]
    presented: Int[Array, ""]


class _Log(NamedTuple):
    example: Int[Array, " capacity"]
    time: Int[Array, " capacity"]
    count: Int[Array, ""]


@partial(jax.jit, static_argnames=("order", "tie", "bias", "capacity"))
def _sweeps(x, y, state, key, step, epochs, order, tie, bias, capacity):
    """Sweep until a sweep is clean, the cap is reached, or the log has no room for another full sweep."""
    n = len(y)

    def scores(state):
        return x @ state.w + state.b

    def sweep(carry):
        state, log = carry
        before = log.count
        stream = None if order == "adversarial" else sweep_order(n, order, state.epoch, key)

        def present(carry):
            position, state, log, _ = carry
            if stream is None:
                score = scores(state)
                i = jnp.argmin(jnp.where(is_mistake(score, y, tie), y * score, jnp.inf))
                score = score[i]
            else:
                i = stream[position]
                score = x[i] @ state.w + state.b
            wrong = is_mistake(score, y[i], tie)
            change = jnp.where(wrong, step * y[i], 0)
            state = state._replace(
                w=state.w + change * x[i],
                b=state.b + change if bias else state.b,
                mistakes=state.mistakes.at[i].add(wrong),
                presented=state.presented + 1,
            )
            # A correct presentation writes too; the next update overwrites it.
            log = _Log(
                log.example.at[log.count].set(i), log.time.at[log.count].set(state.presented - 1), log.count + wrong
            )
            # The adversary is shown a correct example only when there is no mistake left.
            over = ~wrong if order == "adversarial" else jnp.asarray(False)
            return position + 1, state, log, over

        def unfinished(carry):
            position, _, _, over = carry
            return (position < n) & ~over

        _, state, log, over = lax.while_loop(unfinished, present, (jnp.asarray(0), state, log, jnp.asarray(False)))
        if order == "adversarial":
            clean = over
        elif order == "uniform":
            clean = ~jnp.any(is_mistake(scores(state), y, tie))
        else:
            clean = log.count == before
        return state._replace(epoch=state.epoch + 1, done=clean), log

    def more(carry):
        state, log = carry
        return ~state.done & (state.epoch < epochs) & (log.count + n < capacity)

    log = _Log(jnp.zeros(capacity, int), jnp.zeros(capacity, int), jnp.asarray(0))
    return lax.while_loop(more, sweep, (state, log))


def _checked_data(x, y) -> tuple[Array, Array]:
    if x.shape[0] != y.shape[0] or x.shape[0] == 0:
        raise ValueError(
            f"The perceptron got x of shape {x.shape} and y of shape {y.shape}; it needs one label per row "
            "and at least one row."
        )
    if not np.all(np.isfinite(x)):
        raise ValueError("The perceptron got inputs that are NaN or infinite; remove or fill those rows first.")
    if not np.all(np.abs(np.asarray(y)) == 1):
        raise ValueError("The perceptron got labels other than -1 and +1; for labels t in {0, 1} pass 2 * t - 1.")
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(float)
    return x, jnp.asarray(y, x.dtype)
