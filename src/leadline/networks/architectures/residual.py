"""Residual layers and networks, and the same stack without the skip connections."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..activations import activation as activation_called
from ..initialisers import initialiser


class ResidualLayer(eqx.Module):
    """F(x) = V x + s (φ(W x + b) - φ(0)), or V x + s U (φ(W x + b) - φ(0)) with a second matrix U. He et al. 2016.

    V is a matrix m x n (`projection`) where the input has n and the output m entries, and the identity if m = n and no
    projection is asked for. s is the `scale` of the branch. Without `skip` the first term is left out: a plain layer;
    without `centred` the constant φ(0) is not subtracted. At W = 0, b = 0 the layer is x ↦ V x for every φ.
    Several layers of one shape may be stacked along a leading axis of the arrays.

    >>> layer = ResidualLayer(3, 3, "sigmoid", init="zeros", key=jax.random.key(0))
    >>> layer(jnp.array([1.0, -2.0, 5.0])).tolist()
    [1.0, -2.0, 5.0]
    """

    weight: Float[Array, "*stack hidden inputs"]
    bias: Float[Array, "*stack hidden"]
    second: Float[Array, "*stack outputs hidden"] | None
    projection: Float[Array, "*stack outputs inputs"] | None
    activation: str = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    skip: bool = eqx.field(static=True)
    centred: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: str = "relu",
        *,
        scale: float = 1.0,
        projected: bool | None = None,
        two_matrices: bool = False,
        skip: bool = True,
        centred: bool = True,
        init: str = "he",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        """With `projected` left open, V is there exactly if the dimensions differ; it is drawn with variance 1/n."""
        if min(inputs, outputs) < 1:
            raise ValueError(f"ResidualLayer got {inputs} inputs and {outputs} outputs; both must be positive.")
        projected = inputs != outputs if projected is None else projected
        if inputs != outputs and not projected and skip:
            raise ValueError(
                f"ResidualLayer got {inputs} inputs, {outputs} outputs and no projection; x cannot be added to the "
                "branch, so leave `projected` open or make the dimensions equal."
            )
        activation_called(activation)
        dtype = jnp.zeros(()).dtype if dtype is None else dtype
        key_weight, key_second, key_projection = jax.random.split(key, 3)
        draw = initialiser(init)
        self.weight = draw(key_weight, (outputs, inputs), dtype)
        self.bias = jnp.zeros(outputs, dtype)
        self.second = draw(key_second, (outputs, outputs), dtype) if two_matrices else None
        straight = skip and projected
        self.projection = initialiser("lecun")(key_projection, (outputs, inputs), dtype) if straight else None
        self.activation, self.scale, self.skip, self.centred = activation, float(scale), skip, centred

    def pre(self, x: Float[Array, " inputs"]) -> Float[Array, " hidden"]:
        """The pre-activation W x + b of the branch."""
        return self.weight @ x + self.bias

    def branch(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """The branch s U (φ(W x + b) - φ(0)), without the skip connection."""
        phi = activation_called(self.activation)
        y = phi(self.pre(x))
        y = y - phi(jnp.zeros((), y.dtype)) if self.centred else y
        y = y if self.second is None else self.second @ y
        return y if self.scale == 1.0 else self.scale * y

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        if not self.skip:
            return self.branch(x)
        return (x if self.projection is None else self.projection @ x) + self.branch(x)

    def jacobian(self, x: Float[Array, " inputs"]) -> Float[Array, "outputs inputs"]:
        """dF/dx = V + s U D W, with D the diagonal matrix of the slopes φ'(W x + b).

        >>> layer = ResidualLayer(2, 2, "tanh", init="zeros", key=jax.random.key(0))
        >>> layer.jacobian(jnp.ones(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        slope = jax.vmap(jax.grad(activation_called(self.activation)))(self.pre(x))
        J = self.scale * slope[:, None] * self.weight
        J = J if self.second is None else self.second @ J
        if not self.skip:
            return J
        return J + (jnp.eye(len(J), dtype=J.dtype) if self.projection is None else self.projection)


class ResidualNetwork(eqx.Module):
    """A linear layer to `width`, `depth` residual blocks x + s (φ(W x + b) - φ(0)), a linear output layer.

    The branch scale s is 1/√depth unless given, so that the second moment stays bounded at every depth. The blocks'
    arrays are stacked, and evaluated by one scan: a network of 200 blocks compiles as fast as one of 2. With
    `skip=False` the same weights make a plain network, x ↦ φ(W x + b) - φ(0), with s = 1 unless given.
    One input at a time (of any shape: it is flattened); map it over a batch with `jax.vmap`.

    >>> net = ResidualNetwork(64, 32, 50, 10, key=jax.random.key(0))
    >>> net(jnp.zeros((8, 8))).shape, net.blocks.weight.shape, round(net.blocks.scale, 4)
    ((10,), (50, 32, 32), 0.1414)
    """

    first: eqx.nn.Linear
    blocks: ResidualLayer
    last: eqx.nn.Linear

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int,
        outputs: int,
        activation: str = "relu",
        *,
        branch_scale: float | None = None,
        two_matrices: bool = False,
        skip: bool = True,
        centred: bool = True,
        init: str = "he",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if min(inputs, width, depth, outputs) < 1:
            raise ValueError(
                f"ResidualNetwork got inputs {inputs}, width {width}, depth {depth}, outputs {outputs}; "
                "all must be positive."
            )
        scale = branch_scale if branch_scale is not None else depth**-0.5 if skip else 1.0
        key_first, key_blocks, key_last = jax.random.split(key, 3)
        self.first = drawn_linear(inputs, width, init, dtype, key=key_first)
        self.last = drawn_linear(width, outputs, init, dtype, key=key_last)

        def block(key: PRNGKeyArray) -> ResidualLayer:
            return ResidualLayer(
                width,
                width,
                activation,
                scale=scale,
                two_matrices=two_matrices,
                skip=skip,
                centred=centred,
                init=init,
                dtype=self.first.weight.dtype,
                key=key,
            )

        self.blocks = eqx.filter_vmap(block)(jax.random.split(key_blocks, depth))

    @property
    def depth(self) -> int:
        """The number of residual blocks."""
        return self.blocks.weight.shape[0]

    def block(self, index: int) -> ResidualLayer:
        """One block of the stack, as a layer of its own."""
        return jax.tree.map(lambda a: a[index], self.blocks)

    def states(self, x: Float[Array, "..."]) -> Float[Array, "states width"]:
        """The residual stream: what enters the first block, and what leaves each block."""
        start = self.first(x.ravel())

        def step(x: Array, block: ResidualLayer) -> tuple[Array, Array]:
            y = block(x)
            return y, y

        _, after = jax.lax.scan(step, start, self.blocks)
        return jnp.concatenate([start[None], after])

    def block_jacobians(self, x: Float[Array, "..."]) -> Float[Array, "depth width width"]:
        """The Jacobian I + s D_l W_l of every block on the way of x; their product is that of the stack.

        >>> net = ResidualNetwork(3, 4, 5, 2, "tanh", init="zeros", key=jax.random.key(0))
        >>> bool((net.block_jacobians(jnp.ones(3)) == jnp.eye(4)).all())
        True
        """
        return jax.vmap(lambda block, state: block.jacobian(state))(self.blocks, self.states(x)[:-1])

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " out"]:
        end, _ = jax.lax.scan(lambda x, block: (block(x), None), self.first(x.ravel()), self.blocks)
        return self.last(end)


def drawn_linear(
    inputs: int, outputs: int, init: str, dtype: jax.typing.DTypeLike | None = None, *, key: PRNGKeyArray
) -> eqx.nn.Linear:
    """An Equinox linear layer with a weight drawn by the initialiser of that name and a bias of zero.

    >>> layer = drawn_linear(3, 2, "orthogonal", key=jax.random.key(0))
    >>> bool(jnp.allclose(layer.weight @ layer.weight.T, jnp.eye(2), atol=1e-6)), layer.bias.tolist()
    (True, [0.0, 0.0])
    """
    # Only the structure is wanted: Equinox's own draws would cost two more compilations for every new shape.
    layer = eqx.filter_eval_shape(eqx.nn.Linear, inputs, outputs, dtype=dtype, key=key)
    weight = initialiser(init)(key, (outputs, inputs), layer.weight.dtype)
    return eqx.tree_at(lambda m: (m.weight, m.bias), layer, (weight, jnp.zeros(outputs, weight.dtype)))
