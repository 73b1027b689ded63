"""Searching for a hidden object with a noisy sensor that moves: a Bayes filter inside a perception-action loop."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

#: Ways to choose the next sensor position: stay, move at random, or move where one reading tells most on average.
POLICIES = ("passive", "random", "information gain")


class Search(NamedTuple):
    """One episode: where the object is, and per step the sensor's cell, its reading and the posterior after it."""

    target: Int[Array, "2"]
    sensor: Int[Array, "steps 2"]
    reading: Bool[Array, " steps"]
    posterior: Float[Array, "steps size size"]


def _binary_entropy(p: Array) -> Array:
    return entr(p) + entr(1 - p)


class SearchWorld(eqx.Module):
    """An object hides in one cell of a size × size grid; a sensor in some cell sees a square window around it.

    A reading is positive with probability `hit` if the object lies in the window (Chebyshev distance at most `radius`)
    and `false_alarm` otherwise. Before each reading the sensor may move by up to `reach` cells along each axis. The
    next reading thus depends on the action, and the action on all readings so far.

    >>> world = SearchWorld(size=5, radius=1, hit=0.9, false_alarm=0.1)
    >>> posterior = world.update(world.uniform(), jnp.array([2, 2]), jnp.array(True))
    >>> round(float(posterior.sum()), 6), round(float(posterior[2, 2] / posterior[0, 0]), 4)
    (1.0, 9.0)
    >>> episode = world.search("information gain", num_steps=40, key=jax.random.key(1))
    >>> bool(episode.posterior[-1][tuple(episode.target)] > 0.9)
    True
    """

    size: int = eqx.field(static=True)
    radius: int = eqx.field(static=True)
    hit: float | Float[Array, ""]
    false_alarm: float | Float[Array, ""]
    reach: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.size < 2 or self.radius < 0 or self.reach < 1:
            sizes = f"size {self.size}, radius {self.radius} and reach {self.reach}"
            raise ValueError(f"A search world needs size >= 2, radius >= 0 and reach >= 1, not {sizes}.")
        if isinstance(self.hit, float) and not 0 <= self.false_alarm <= self.hit <= 1:
            raise ValueError(f"Rates must satisfy 0 <= false alarm <= hit <= 1, not {self.false_alarm} and {self.hit}.")

    def uniform(self) -> Float[Array, "size size"]:
        """The prior that knows nothing."""
        return jnp.full((self.size, self.size), 1 / self.size**2)

    def window(self, sensor: Int[Array, "2"]) -> Bool[Array, "size size"]:
        """The cells that a sensor sees."""
        near = jnp.abs(jnp.arange(self.size) - sensor[:, None]) <= self.radius  # (2, size)
        return near[0][:, None] & near[1][None, :]

    def update(
        self, prior: Float[Array, "size size"], sensor: Int[Array, "2"], reading: Bool[Array, ""]
    ) -> Float[Array, "size size"]:
        """Bayes' rule: the posterior is proportional to prior times the likelihood of the reading in each cell."""
        positive = jnp.where(self.window(sensor), self.hit, self.false_alarm)
        joint = prior * jnp.where(reading, positive, 1 - positive)
        return joint / joint.sum()

    def information_gain(self, belief: Float[Array, "size size"]) -> Float[Array, "size size"]:
        """Expected drop in entropy (nats) of one reading, for every cell the sensor might be in.

        With q the belief's mass in the window: h(q p_h + (1-q) p_f) - q h(p_h) - (1-q) h(p_f), h the binary entropy.
        """
        width = 2 * self.radius + 1
        mass = jax.lax.reduce_window(belief, 0.0, jax.lax.add, (width, width), (1, 1), "SAME")
        mass = jnp.clip(mass, 0.0, 1.0)
        positive = mass * self.hit + (1 - mass) * self.false_alarm
        inside, outside = _binary_entropy(jnp.asarray(self.hit)), _binary_entropy(jnp.asarray(self.false_alarm))
        return _binary_entropy(positive) - mass * inside - (1 - mass) * outside

    def move(
        self, policy: str, belief: Float[Array, "size size"], sensor: Int[Array, "2"], *, key: PRNGKeyArray
    ) -> Int[Array, "2"]:
        """The sensor's next cell; ties, and all moves of the random policy, are broken uniformly."""
        if policy == "passive":
            return sensor
        near = jnp.abs(jnp.arange(self.size) - sensor[:, None]) <= self.reach
        reachable = near[0][:, None] & near[1][None, :]
        score = self.information_gain(belief) if policy == "information gain" else jnp.zeros_like(belief)
        score = jnp.where(reachable, score, -jnp.inf)
        # Gains that differ by rounding only are ties: without this the sensor would drift with the rounding.
        best = score >= score.max() - 1e-6 * jnp.abs(score.max())
        chosen = jax.random.categorical(key, jnp.where(best, 0.0, -jnp.inf).ravel())
        return jnp.stack(jnp.unravel_index(chosen, belief.shape))

    def observe(self, target: Int[Array, "2"], sensor: Int[Array, "2"], *, key: PRNGKeyArray) -> Bool[Array, ""]:
        """One noisy reading."""
        seen = self.window(sensor)[target[0], target[1]]
        return jax.random.bernoulli(key, jnp.where(seen, self.hit, self.false_alarm))

    def search(self, policy: str, *, num_steps: int, key: PRNGKeyArray) -> Search:
        """Run one episode of fixed length from a uniform prior, the sensor starting in the middle."""
        _check_policy(policy)
        return _search(self, policy, num_steps, key)


def _check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise ValueError(f"There is no policy {policy!r}; choose one of {', '.join(POLICIES)}.")


def _begin(world: SearchWorld, key: PRNGKeyArray) -> tuple[Array, Array, Array]:
    target = jax.random.randint(key, (2,), 0, world.size)
    return target, jnp.full(2, world.size // 2, target.dtype), world.uniform()


def _step(world: SearchWorld, policy: str, target: Array, sensor: Array, belief: Array, key: PRNGKeyArray):
    choose, sense = jax.random.split(key)
    sensor = world.move(policy, belief, sensor, key=choose).astype(sensor.dtype)
    reading = world.observe(target, sensor, key=sense)
    return sensor, reading, world.update(belief, sensor, reading)


@eqx.filter_jit
def _search(world: SearchWorld, policy: str, num_steps: int, key: PRNGKeyArray) -> Search:
    start, key = jax.random.split(key)
    target, sensor, belief = _begin(world, start)

    def step(carry, key):
        sensor, reading, belief = _step(world, policy, target, *carry, key=key)
        return (sensor, belief), (sensor, reading, belief)

    _, log = jax.lax.scan(step, (sensor, belief), jax.random.split(key, num_steps))
    return Search(target, *log)


def search_times(
    world: SearchWorld, policy: str, *, episodes: int, cap: int, certainty: float = 0.95, key: PRNGKeyArray
) -> Int[Array, " episodes"]:
    """Readings until some cell's posterior reaches `certainty`, for independent episodes; `cap` if it never does.

    >>> world = SearchWorld(size=4, radius=0, hit=1.0, false_alarm=0.0, reach=4)  # 16 cells, a perfect sensor
    >>> times = search_times(world, "information gain", episodes=500, cap=100, key=jax.random.key(0))
    >>> int(times.max()), 7.5 < float(times.mean()) < 9.5  # (1 + 2 + ... + 15 + 15)/16 = 8.4
    (15, True)
    """
    _check_policy(policy)
    if episodes < 1 or cap < 1:
        raise ValueError(f"Episodes ({episodes}) and cap ({cap}) must be at least 1.")
    world = eqx.tree_at(lambda w: (w.hit, w.false_alarm), world, replace_fn=jnp.asarray)
    return _search_times(world, policy, jnp.asarray(cap), certainty, jax.random.split(key, episodes))


@eqx.filter_jit
def _search_times(world: SearchWorld, policy: str, cap: Array, certainty: float, keys: Array) -> Array:
    def episode(key):
        start, key = jax.random.split(key)
        target, sensor, belief = _begin(world, start)

        def searching(carry):
            _, belief, taken = carry
            return (belief.max() < certainty) & (taken < cap)

        def step(carry):
            sensor, belief, taken = carry
            sensor, _, belief = _step(world, policy, target, sensor, belief, jax.random.fold_in(key, taken))
            return sensor, belief, taken + 1

        return jax.lax.while_loop(searching, step, (sensor, belief, jnp.zeros_like(cap)))[2]

    return jax.vmap(episode)(keys)
