"""Dropout of units and of weights, in both conventions of scaling."""

from typing import Literal

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

Convention = Literal["inverted", "classic"]


class Dropout(eqx.nn.Dropout):
    """Sets each unit to 0 with probability p in training: `eqx.nn.Dropout`, with the classic convention besides.

    With masks m of keep probability π = 1 - p, `inverted` trains on m x/π and uses x as it is; `classic` (Srivastava et
    al. 2014) trains on m x and uses π x. `eqx.nn.inference_mode` switches between training and use.

    >>> import jax, jax.numpy as jnp
    >>> x = jnp.ones(100)
    >>> sorted(set(Dropout(0.5)(x, key=jax.random.key(0)).tolist()))
    [0.0, 2.0]
    >>> classic = Dropout(0.5, convention="classic")
    >>> sorted(set(classic(x, key=jax.random.key(0)).tolist())), set(eqx.nn.inference_mode(classic)(x).tolist())
    ([0.0, 1.0], {0.5})
    """

    convention: Convention = eqx.field(static=True)

    def __init__(self, p: float = 0.5, inference: bool = False, *, convention: Convention = "inverted"):
        check_rate("Dropout", p)
        _check_convention("Dropout", convention)
        super().__init__(p, inference)
        self.convention = convention

    def __call__(
        self, x: Float[Array, "..."], *, key: PRNGKeyArray | None = None, inference: bool | None = None
    ) -> Float[Array, "..."]:
        inference = self.inference if inference is None else inference
        if not inference:
            _check_key("Dropout", key, self.p)
        kept = super().__call__(x, key=key, inference=inference)
        return kept * (1 - self.p) if self.convention == "classic" else kept


class DropConnect(eqx.Module):
    """A linear layer that sets each of its weights to 0 with probability p in training (Wan et al. 2013).

    (M ∘ W/π) x + b with a mask M of keep probability π = 1 - p for every call, so for every example; in use W x + b,
    the mean over masks. Dropout of the layer's inputs is the case where the masks of a column are equal.

    >>> import jax, jax.numpy as jnp
    >>> layer = DropConnect(eqx.nn.Linear(3, 2, key=jax.random.key(0)), 0.5)
    >>> x = jnp.ones(3)
    >>> outputs = jax.vmap(lambda key: layer(x, key=key))(jax.random.split(jax.random.key(1), 20_000))
    >>> bool(jnp.allclose(outputs.mean(axis=0), eqx.nn.inference_mode(layer)(x), atol=0.03))
    True
    """

    linear: eqx.nn.Linear
    p: float
    inference: bool

    def __init__(self, linear: eqx.nn.Linear, p: float = 0.5, inference: bool = False):
        check_rate("DropConnect", p)
        self.linear, self.p, self.inference = linear, p, inference

    def __call__(
        self, x: Float[Array, " in"], *, key: PRNGKeyArray | None = None, inference: bool | None = None
    ) -> Float[Array, " out"]:
        inference = self.inference if inference is None else inference
        if not inference:
            _check_key("DropConnect", key, self.p)
        weight = eqx.nn.Dropout(self.p, inference)(self.linear.weight, key=key)
        return eqx.tree_at(lambda layer: layer.weight, self.linear, weight)(x)


def convert_dropout(weight: Float[Array, "..."], p: float, *, to: Convention) -> Float[Array, "..."]:
    """The weight behind dropout of rate p, written in one convention, so that the other computes the same.

    Inverted dropout feeds m x/π to W and classic dropout m x, so that W_classic = W_inverted/π with π = 1 - p: in
    training and in use alike.

    >>> import jax.numpy as jnp
    >>> convert_dropout(jnp.array([1.0, 2.0]), 0.5, to="classic").tolist()
    [2.0, 4.0]
    >>> convert_dropout(jnp.array([2.0, 4.0]), 0.5, to="inverted").tolist()
    [1.0, 2.0]
    """
    check_rate("convert_dropout", p)
    _check_convention("convert_dropout", to)
    return weight / (1 - p) if to == "classic" else weight * (1 - p)


def check_rate(function: str, p: float) -> None:
    """ValueError unless 0 <= p < 1."""
    if not 0 <= p < 1:
        raise ValueError(f"{function} got the rate p = {p}, which keeps nothing; give the share to drop, 0 <= p < 1.")


def _check_convention(function: str, convention: str) -> None:
    if convention not in ("inverted", "classic"):
        raise ValueError(f"{function} got convention {convention!r}; give 'inverted' or 'classic'.")


def _check_key(function: str, key: PRNGKeyArray | None, p: float | Float[Array, ""]) -> None:
    if key is None and p != 0:
        raise ValueError(
            f"{function} in training mode got no key; give key=, or switch it to use by eqx.nn.inference_mode."
        )
