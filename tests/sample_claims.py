"""Small entries with known behaviour, for testing the engine; workers import this module by its name."""

import os
import time
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, margins, perceptrons
from leadline.evidence import Range, assume, at_most, claim, exactly, figure, frequency, method, printed


@claim("sample-holds", says="A uniform number is at most 1.", formula=r"U \le 1", sources=("eth",))
def holds(key, samples: Annotated[int, Range(1, 1000)] = 20):
    u = jax.random.uniform(key, (samples,))
    yield at_most(u, 1.0, "largest number")
    yield printed(at_most(u.max(), 0.0, "largest number"), "eth", "U ≤ 0")
    yield figure.histogram("Uniform numbers", x="u", samples={"drawn": u})


@claim("sample-64-bit", says="Claims run with 64-bit numbers.")
def sixty_four_bit(key):
    yield exactly(str(jnp.ones(1).dtype), "float64", "type of numbers")


@claim("sample-slow-descent", says="A wrong bound: x(1-x) is at most 0.24.")
def wrong_bound(key, x: Annotated[float, Range(0.0, 1.0)] = 0.1, other: Annotated[int, Range(0, 5)] = 0):
    yield at_most(x * (1 - x), 0.24, "x(1-x)")


@claim("sample-fair-coin", says="A fair coin shows heads half the time, judged at a level that misses often.")
def fair_coin(key):
    heads = int(jax.random.bernoulli(key, 0.5, (100,)).sum())
    yield frequency(heads, 100, 0.5, "heads", confidence=0.8)


@claim("sample-loaded-coin", says="A loaded coin shows heads half the time, which is false.")
def loaded_coin(key):
    heads = int(jax.random.bernoulli(key, 0.8, (100,)).sum())
    yield frequency(heads, 100, 0.5, "heads")


@claim("sample-crash", says="Its worker dies.")
def crash(key):
    os._exit(3)
    yield exactly(1, 1, "nothing")


@claim("sample-raises-what-cannot-be-sent", says="It raises an exception that no other process can read.")
def raises_what_cannot_be_sent(key):
    yield exactly(1, 1, "nothing")
    jax.jit(lambda x: float(x))(1.0)


@claim("sample-raises", says="It raises an exception.")
def raises(key):
    raise ArithmeticError("the sum does not converge\nat all")
    yield exactly(1, 1, "nothing")


@claim("sample-sleeps", says="It takes too long.")
def sleeps(key):
    time.sleep(60)
    yield exactly(1, 1, "nothing")


@method("sample-pauses", says="It compares twice, with a pause between.", shows=("suggestions.unknown",))
def pauses(key, seconds: Annotated[float, Range(0.0, 60.0)] = 0.0):
    yield exactly(f"process {os.getpid()}", f"process {os.getpid()}", "before the pause")
    time.sleep(seconds)
    yield exactly(2, 2, "after the pause")


@claim("sample-slow", says="It is slow, and says so.", slow="1 minute")
def slow(key):
    time.sleep(60)
    yield exactly(1, 1, "nothing")


@claim("sample-hungry", says="It wants more memory than there is.")
def hungry(key):
    block = np.ones(2**33)
    yield at_most(block.sum(), 1e12, "sum")


@claim("sample-unmet", says="Its assumption is not met below 5.")
def unmet(key, n: Annotated[int, Range(0, 9)] = 1):
    assume(n >= 5, "n is at least 5")
    yield exactly(n, n, "n")


@claim("sample-silent", says="It compares nothing.")
def silent(key):
    yield printed(exactly(1, 2, "one"), "eth", "1 = 2")


@claim("sample-printed-holds", says="The form it calls wrong is right.")
def printed_holds(key):
    yield exactly(1, 1, "one")
    yield printed(exactly(2, 2, "two"), "eth", "2 = 2")


@claim("sample-novikoff-wrong", says="The perceptron updates at most 0.4 R²/γ² times: true at the defaults, false.")
def novikoff_wrong(
    key,
    dim: Annotated[int, Range(1, 500)] = 20,
    samples: Annotated[int, Range(2, 5000)] = 200,
    margin: Annotated[float, Range(0.005, 0.9, log=True)] = 0.1,
):
    x, y, _ = data.separable_ball(samples, dim, margin, key=key)
    best = margins.max_margin(x, y, bias=False)
    yield at_most(perceptrons.fit(x, y).updates, 0.4 * (best.radius / best.margin) ** 2, "updates")
