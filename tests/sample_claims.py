"""Small entries with known behaviour, for testing the engine; workers import this module by its name."""

import os
import time

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, assume, at_most, claim, erratum, exactly, frequency, method
from leadline.linear_classifiers import margins, perceptrons
from leadline.presentation import figure


@claim(sources=("eth",))
def sample_holds(key, samples: Int(1, 1000) = 20):
    r"""Sample holds.

    A uniform number is at most 1.

    $$U \le 1$$
    """
    u = jax.random.uniform(key, (samples,))
    bound = at_most(u, 1.0, "largest number")
    yield bound
    yield erratum(at_most(u.max(), 0.0, "largest number, wrongly"), of=bound, by="eth", prints="U ≤ 0")
    yield figure.histogram("Uniform numbers", "u", samples={"drawn": u})


@claim()
def sample_64_bit(key):
    r"""Sample 64 bit.

    Claims run with 64-bit numbers.
    """
    yield exactly(str(jnp.ones(1).dtype), "float64", "type of numbers")


@claim()
def sample_slow_descent(key, x: Real(0.0, 1.0) = 0.1, other: Int(0, 5) = 0):
    r"""Sample slow descent.

    A wrong bound: x(1-x) is at most 0.24.
    """
    yield at_most(x * (1 - x), 0.24, "x(1-x)")


@claim()
def sample_fair_coin(key):
    r"""Sample fair coin.

    A fair coin shows heads half the time, judged at a level that misses often.
    """
    heads = int(jax.random.bernoulli(key, 0.5, (100,)).sum())
    yield frequency(heads, 100, 0.5, "heads", confidence=0.8)


@claim()
def sample_loaded_coin(key):
    r"""Sample loaded coin.

    A loaded coin shows heads half the time, which is false.
    """
    heads = int(jax.random.bernoulli(key, 0.8, (100,)).sum())
    yield frequency(heads, 100, 0.5, "heads")


@claim()
def sample_crash(key):
    r"""Sample crash.

    Its worker dies.
    """
    os._exit(3)
    yield exactly(1, 1, "nothing")


@claim()
def sample_raises_what_cannot_be_sent(key):
    r"""Sample raises what cannot be sent.

    It raises an exception that no other process can read.
    """
    yield exactly(1, 1, "nothing")
    jax.jit(lambda x: float(x))(1.0)


@claim()
def sample_raises(key):
    r"""Sample raises.

    It raises an exception.
    """
    raise ArithmeticError("the sum does not converge\nat all")
    yield exactly(1, 1, "nothing")


@claim()
def sample_works(key, seconds: Real(0.1, 600) = 600.0):
    r"""Sample works.

    It uses the processor, and does not wait.
    """
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    yield exactly(1, 1, "nothing")


@claim()
def sample_sleeps(key):
    r"""Sample sleeps.

    It takes too long.
    """
    time.sleep(60)
    yield exactly(1, 1, "nothing")


@method(shows=("probability.gaussian_kl",))
def sample_pauses(key, seconds: Real(0.0, 60.0) = 0.0):
    r"""Sample pauses.

    It compares twice, with a pause between.
    """
    yield exactly(f"process {os.getpid()}", f"process {os.getpid()}", "before the pause")
    time.sleep(seconds)
    yield exactly(2, 2, "after the pause")


@claim(slow="1 minute")
def sample_slow(key):
    r"""Sample slow.

    It is slow, and says so.
    """
    time.sleep(60)
    yield exactly(1, 1, "nothing")


@claim()
def sample_hungry(key):
    r"""Sample hungry.

    It wants more memory than there is.
    """
    block = np.ones(2**33)
    yield at_most(block.sum(), 1e12, "sum")


@claim()
def sample_unmet(key, n: Int(0, 9) = 1):
    r"""Sample unmet.

    Its assumption is not met below 5.
    """
    assume(n >= 5, "n is at least 5")
    yield exactly(n, n, "n")


@claim()
def sample_silent(key):
    r"""Sample silent.

    It compares nothing.
    """
    yield erratum(exactly(1, 2, "one"), of=exactly(1, 1, "one is one"), by="eth", prints="1 = 2")


@claim()
def sample_erratum_holds(key):
    r"""Sample erratum holds.

    The form it calls wrong is right.
    """
    right = exactly(1, 1, "one")
    yield right
    yield erratum(exactly(2, 2, "two"), of=right, by="eth", prints="2 = 2")


@claim()
def sample_unconfirmed(key):
    r"""Sample unconfirmed.

    One is one, and what is often found is not found.
    """
    yield exactly(1, 1, "one")
    yield at_most(2, 1, "often at most 1").as_empirical()


@claim()
def sample_novikoff_wrong(
    key, dim: Int(1, 500) = 20, samples: Int(2, 5000) = 200, margin: Real(0.005, 0.9, log=True) = 0.1
):
    r"""Sample novikoff wrong.

    The perceptron updates at most 0.4 R²/γ² times: true at the defaults, false.
    """
    x, y, _ = data.separable_ball(samples, dim, margin, key=key)
    best = margins.max_margin(x, y, bias=False)
    yield at_most(perceptrons.learn(x, y).updates, 0.4 * (best.radius / best.margin) ** 2, "updates")
