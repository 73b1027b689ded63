"""One protocol for every stateful predictor: step by step or all at once, the result is the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences
from leadline.evidence import Int, at_least, close, method
from leadline.presentation import figure

ALLOWED = {"float64": 1e-10, "float32": 1e-5}


@method(sources=("penn",), shows=("sequences.Cell", "sequences.run", "sequences.KalmanFilter"))
def recursive_estimator_interface(key, length: Int(2, 40) = 24, units: Int(1, 16) = 6):
    r"""The interface of recursive estimators.

    A predictor with a memory of fixed size is three functions: a first state, its update by one more input, and the
    prediction of a state. What it says after a prefix depends on nothing else, so that feeding inputs one by one and
    running over all of them at once agree at every step.

    $$s_0 = \mathrm{init}(), \qquad s_{t+1} = \mathrm{update}(s_t, x_{t+1}), \qquad \hat y_t = \mathrm{predict}(s_t)$$

    Check: The Kalman filter and every cell of the library, each fed item by item, against `run` over the whole
    sequence, in double precision and in single; and against runs in which later inputs are others.
    """
    xs = jax.random.normal(key, (length, 2))
    gaps = {"float64": {}, "float32": {}}
    ahead = {}
    for kind, dtype in (("float64", jnp.float64), ("float32", jnp.float32)):
        for name, cell in _cells(units, dtype, key).items():
            inputs = xs.astype(dtype)
            whole = _outputs(cell, inputs)
            gaps[kind][name] = float(np.abs(whole - _item_by_item(cell, inputs)).max() / (1 + np.abs(whole).max()))
            if kind == "float64":
                other = inputs.at[length // 2 :].add(1.0)
                ahead[name] = float(np.abs(whole - _outputs(cell, other))[: length // 2].max())
    for kind, tolerance in ALLOWED.items():
        what = f"{len(gaps[kind])} predictors, {kind}: item by item less the whole run, relative"
        yield close(list(gaps[kind].values()), 0.0, what, atol=tolerance)
    yield close(list(ahead.values()), 0.0, "predictions before a change of later inputs, changed", atol=1e-10)
    both = sequences.Bidirectional(*(sequences.GRU(2, units, dtype=jnp.float64, key=k) for k in jax.random.split(key)))
    changed = np.abs(_outputs(both, xs) - _outputs(both, xs.at[length // 2 :].add(1.0)))[: length // 2].max()
    what = "a bidirectional pair, which is no such estimator: the same change"
    yield at_least(float(changed), 1e-10, what, strict=True)
    yield figure.categories(
        "Fed one by one, every predictor says what it says of the whole sequence",
        "predictor",
        "largest relative difference (0 stands at 1e-18)",
        lines={f"allowed in {kind}": dict.fromkeys(gaps[kind], most) for kind, most in ALLOWED.items()},
        points={kind: {name: max(gap, 1e-18) for name, gap in of.items()} for kind, of in gaps.items()},
        log=True,
    )


def _cells(units, dtype, key):
    A = jnp.array([[0.9, 0.2], [-0.2, 0.8]], dtype)
    model = sequences.linear_gaussian(
        A, jnp.eye(2, dtype=dtype), 0.1 * jnp.eye(2, dtype=dtype), jnp.eye(2, dtype=dtype)
    )
    makers = {
        "Elman": sequences.Elman,
        "GRU": sequences.GRU,
        "LSTM": sequences.LSTM,
        "light GRU": sequences.LightGRU,
        "minGRU": sequences.MinGRU,
        "LRU": sequences.LRU,
    }
    cells = {name: make(2, units, dtype=dtype, key=key) for name, make in makers.items()}
    first, second = jax.random.split(key)
    pair = sequences.LSTM(2, units, dtype=dtype, key=first), sequences.GRU(units, units, dtype=dtype, key=second)
    return {"Kalman filter": sequences.KalmanFilter(model), **cells, "LSTM, GRU stacked": sequences.Stack(pair)}


@eqx.filter_jit
def _whole(cell, xs):
    return jax.vmap(cell.predict)(sequences.run(cell, xs).states)


def _outputs(cell, xs):
    return np.asarray(_whole(cell, xs), float)


@eqx.filter_jit
def _next(cell, state, x):
    state = cell.update(state, x)
    return state, cell.predict(state)


def _item_by_item(cell, xs):
    state, said = cell.init(), []
    for x in xs:
        state, y = _next(cell, state, x)
        said.append(np.asarray(y, float))
    return np.stack(said)
