"""An encoder that reads a sequence and a decoder that writes another, with or without attention between them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..cells.building import CELLS
from ..cells.cell import Cell, run
from ..text.decoding import Beams, Decoded, Step, beam_search, greedy_decode, sample_decode

#: the token that ends a text, that the decoder begins with, and that fills up shorter rows
END = 0


class Memory(NamedTuple):
    """What the decoder knows of the source: every output of the encoder, which of them count, and its last state."""

    outputs: Float[Array, "S m"]
    mask: Bool[Array, " S"]
    last: PyTree


class EncoderDecoder(eqx.Module):
    r"""p(y | x) = Π_t p(y_t | x, y_{<t}): an encoder's last state is the decoder's first (Sutskever et al. 2014).

    Tokens are whole numbers from 1; 0 ends a text, begins the decoder's input, and fills up shorter rows. With
    `attention` the decoder's output s_t looks at all outputs h_i of the encoder: a_t = softmax_i(s_tᵀ W h_i), and the
    next token is read off tanh(C [s_t, Σ a_ti h_i]) (Luong et al. 2015). Without `feedback` the decoder is not told
    what it wrote, so that its outputs are independent given x. Any cell by its name in `sequence_network`.

    >>> net = EncoderDecoder(5, 7, 8, attention=True, key=jax.random.key(0))
    >>> net.log_probabilities(jnp.array([1, 2, 3, 0]), jnp.array([4, 4, 0])).shape
    (3, 7)
    """

    source: eqx.nn.Embedding
    target: eqx.nn.Embedding
    encoder: Cell
    decoder: Cell
    scores: eqx.nn.Linear | None
    joined: eqx.nn.Linear | None
    head: eqx.nn.Linear
    feedback: bool = eqx.field(static=True)

    def __init__(
        self,
        source_symbols: int,
        target_symbols: int,
        hidden_size: int,
        *,
        cell: str = "gru",
        embedding: int | None = None,
        attention: bool = False,
        feedback: bool = True,
        key: PRNGKeyArray,
        **options: Any,
    ):
        if cell not in CELLS:
            raise ValueError(f"There is no cell called {cell!r}; choose one of {', '.join(CELLS)}.")
        if min(source_symbols, target_symbols) < 2:
            raise ValueError(
                f"EncoderDecoder got {source_symbols} and {target_symbols} symbols; 0 ends a text, so give 2 or more."
            )
        width = hidden_size if embedding is None else embedding
        keys = jax.random.split(key, 7)
        self.source = eqx.nn.Embedding(source_symbols, width, key=keys[0])
        self.target = eqx.nn.Embedding(target_symbols, width, key=keys[1])
        self.encoder = CELLS[cell](width, hidden_size, key=keys[2], **options)
        self.decoder = CELLS[cell](width, hidden_size, key=keys[3], **options)
        size = self.decoder.output_size
        self.scores = eqx.nn.Linear(size, size, use_bias=False, key=keys[4]) if attention else None
        self.joined = eqx.nn.Linear(2 * size, size, key=keys[5]) if attention else None
        self.head = eqx.nn.Linear(size, target_symbols, key=keys[6])
        self.feedback = feedback

    def encode(self, source: Int[Array, " S"]) -> Memory:
        """What the encoder makes of a source; its zeros are skipped."""
        mask = source != END
        course = run(self.encoder, jax.vmap(self.source)(source), mask=mask)
        return Memory(jax.vmap(self.encoder.predict)(course.states), mask, course.last)

    def log_probabilities(self, source: Int[Array, " S"], target: Int[Array, " T"]) -> Float[Array, "T symbols"]:
        """log p(y_t | x, y_{<t}) of every symbol at every t, with the true y_{<t}: teacher forcing, in one run."""
        memory = self.encode(source)
        fed = jnp.concatenate([jnp.zeros_like(target[:1]), target[:-1]])
        course = run(self.decoder, jax.vmap(self._fed)(fed), memory.last)
        return jax.vmap(lambda state: self._read(memory, self.decoder.predict(state)))(course.states)

    def step(self, memory: Memory, state: PyTree, token: Int[Array, ""]) -> tuple[Float[Array, " symbols"], PyTree]:
        """log p of the next symbol after one more token, and the state with it; `encode(x).last` is the first."""
        state = self.decoder.update(state, self._fed(token))
        return self._read(memory, self.decoder.predict(state)), state

    def attention_weights(self, memory: Memory, output: Float[Array, " m"]) -> Float[Array, " S"]:
        """a_i = softmax_i(sᵀ W h_i) over the steps of the source that count."""
        if self.scores is None:
            raise ValueError("This model has no attention; make it with attention=True.")
        found = memory.outputs @ self.scores(output)
        return jax.nn.softmax(jnp.where(memory.mask, found, -jnp.inf))

    def _fed(self, token: Int[Array, ""]) -> Float[Array, " n"]:
        return self.target(token if self.feedback else jnp.zeros_like(token))

    def _read(self, memory: Memory, output: Float[Array, " m"]) -> Float[Array, " symbols"]:
        if self.joined is not None:
            seen = self.attention_weights(memory, output) @ memory.outputs
            output = jnp.tanh(self.joined(jnp.concatenate([output, seen])))
        return jax.nn.log_softmax(self.head(output))


def target_mask(targets: Int[Array, "... T"]) -> Bool[Array, "... T"]:
    """Which tokens of targets count: all up to and with the first end.

    >>> target_mask(jnp.array([[3, 0, 0], [1, 2, 3]])).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    return jnp.cumsum(targets == END, -1) - (targets == END) == 0


@eqx.filter_jit
def text_log_probability(
    model: EncoderDecoder, sources: Int[Array, "n S"], targets: Int[Array, "n T"]
) -> Float[Array, " n"]:
    """log p(y | x) of each pair, up to and with the end of y.

    >>> net = EncoderDecoder(3, 3, 4, key=jax.random.key(0))
    >>> every = jnp.array([[0, 0], [1, 0], [2, 0], [1, 1], [1, 2], [2, 1], [2, 2]])  # all that end by 2, and beginnings
    >>> logs = text_log_probability(net, jnp.ones((7, 2), int), every)
    >>> round(float(jnp.exp(logs).sum()), 5)
    1.0
    """
    logs = jax.vmap(model.log_probabilities)(sources, targets)
    chosen = jnp.take_along_axis(logs, targets[..., None], -1)[..., 0]
    return jnp.sum(jnp.where(target_mask(targets), chosen, 0), -1)


def decoder_step(model: EncoderDecoder) -> Step:
    """The step of `greedy_decode`, `sample_decode` and `beam_search`: its state is (memory, state), row by row."""
    return lambda state, tokens: _stepped(model, state, jnp.asarray(tokens))


@eqx.filter_jit
def _stepped(model: EncoderDecoder, state: tuple[Memory, PyTree], tokens: Int[Array, " rows"]) -> tuple[Array, PyTree]:
    logs, after = jax.vmap(model.step)(*state, tokens)
    return logs, (state[0], after)


@eqx.filter_jit
def _encoded(model: EncoderDecoder, sources: Int[Array, "rows S"]) -> tuple[Memory, PyTree]:
    memory = jax.vmap(model.encode)(sources)
    return memory, memory.last


def translate_sequences(
    model: EncoderDecoder,
    sources: Int[Array | np.ndarray, "rows S"],
    *,
    max_length: int,
    width: int | None = None,
    temperature: float | None = None,
    key: PRNGKeyArray | None = None,
) -> Decoded:
    """What the model writes for each source: greedily, by beam search of a `width`, or drawn at a `temperature`.

    >>> net = EncoderDecoder(5, 7, 8, key=jax.random.key(0))
    >>> found = translate_sequences(net, np.array([[1, 2, 0], [4, 3, 1]]), max_length=6, width=4)
    >>> found.tokens.shape[0], bool((found.log_probability < 0).all())
    (2, True)
    """
    if width is not None and temperature is not None:
        raise ValueError("translate_sequences got a width and a temperature; give one of them.")
    begun = _encoded(model, jnp.asarray(sources))
    start, step = np.zeros(len(sources), np.int64), decoder_step(model)
    if width is not None:
        beams: Beams = beam_search(step, begun, start, width=width, max_length=max_length, end=END)
        return Decoded(beams.tokens[:, 0], beams.log_probability[:, 0])
    if temperature is None:
        return greedy_decode(step, begun, start, max_length=max_length, end=END)
    if key is None:
        raise ValueError("translate_sequences draws at a temperature and got no key; pass key=jax.random.key(seed).")
    return sample_decode(step, begun, start, max_length=max_length, end=END, temperature=temperature, key=key)


def exact_matches(written: Decoded, targets: Int[Array | np.ndarray, "rows T"]) -> Bool[np.ndarray, " rows"]:
    """Whether what was written is the target, token by token, up to the end.

    >>> exact_matches(Decoded(np.array([[1, 0], [1, 2]]), np.zeros(2)), np.array([[1, 0, 0], [1, 2, 0]])).tolist()
    [True, False]
    """
    wanted, found = np.asarray(targets), written.tokens
    length = max(wanted.shape[1], found.shape[1]) + 1
    wanted, found = (np.pad(a, ((0, 0), (0, length - a.shape[1])), constant_values=-1) for a in (wanted, found))
    counts = np.asarray(target_mask(jnp.asarray(wanted)))
    return np.asarray((~counts | (wanted == found)).all(axis=1))
