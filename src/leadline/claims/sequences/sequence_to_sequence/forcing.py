"""Training with the truth, with own outputs, and with a mixture of both."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.copying_networks import pairs, trained
from leadline.evidence import Int, close, exactly, mean, method
from leadline.presentation import figure


@method(sources=("sheet",), shows=("sequences.teacher_forcing", "sequences.roll_out"), slow="a minute")
def teacher_forcing(key, longest: Int(2, 6) = 4, num_steps: Int(200, 2000) = 600, target: Int(5, 80) = 20):
    r"""Teacher forcing.

    While it is trained the decoder is fed the true outputs before, so that all steps are known at once and its loss is
    the likelihood; when it writes it is fed its own. Where its own outputs are the true ones both are the same. Trained
    on its own outputs instead, it needs more steps to the same loss.

    $$\text{forced: } s_t = G(s_{t-1}, y_{t-1}), \qquad \text{free: } s_t = G(s_{t-1}, \hat y_{t-1})$$

    Assumes: the true outputs are known in training.

    Check: the texts that a model writes itself, forced and free; the parallel form against the steps; steps until the
    loss is a share of what it was at first, over four seeds.
    """
    net = sequences.EncoderDecoder(7, 7, 12, attention=True, key=key)
    sources = pairs("reversal", longest, 8, seed=1).source
    written = sequences.translate_sequences(net, sources, max_length=6).tokens
    forced, free = (_rolled(net, sources, written, own) for own in (False, True))
    counts = np.cumsum(written == 0, 1) - (written == 0) == 0  # up to the end; after it own outputs go on
    what = "the model's own texts: what it is fed freely, against the truth"
    yield exactly(np.asarray(free.fed)[counts], np.asarray(forced.fed)[counts], what)
    logs = [np.asarray(rolled.log_probabilities)[counts] for rolled in (free, forced)]
    yield close(*logs, "the model's own texts: log-probabilities, free against forced", atol=1e-12)
    parallel = jax.vmap(net.log_probabilities)(jnp.asarray(sources), jnp.asarray(written))
    what = "all steps at once, against one after the other"
    yield close(parallel, forced.log_probabilities, what, atol=1e-12)
    share = target / 100
    curves = {
        name: np.asarray(trained(longest=longest, share=s, num_steps=num_steps, seeds=4).losses)
        for name, s in (("forced", 0.0), ("free", 1.0))
    }
    first = {name: losses[:, :1] for name, losses in curves.items()}
    needed = {
        name: np.where(
            (losses <= share * first[name]).any(1),
            (losses <= share * first[name]).argmax(1) + 1.0,
            losses.shape[1] + 1.0,
        )
        for name, losses in curves.items()
    }
    reached = bool((needed["forced"] <= curves["forced"].shape[1]).all())
    what = f"epochs until the loss is {target}% of the first: free less forced, four seeds in pairs"
    found = mean(needed["free"] - needed["forced"], 0.0, what, side="at least")
    yield found.given(reached, "teacher forcing got there within its budget").as_empirical()
    epochs = np.arange(1, curves["forced"].shape[1] + 1)
    yield figure.curves(
        "Fed with the truth the decoder learns faster than on its own outputs",
        "epoch",
        "training loss, nats per symbol",
        points={f"{name}, seed {i}": (epochs, row) for name, rows in curves.items() for i, row in enumerate(rows)},
    )


def _rolled(net, sources, targets, own: bool):
    targets = jnp.asarray(targets)
    return jax.vmap(lambda x, y: sequences.roll_out(net, x, y, jnp.full(y.shape, own)))(jnp.asarray(sources), targets)


@method(sources=("sheet",), shows=("sequences.ScheduledSampling", "sequences.decoding_exposure"), slow="a minute")
def scheduled_sampling(key, longest: Int(2, 6) = 4, num_steps: Int(200, 2000) = 600):
    r"""Scheduled sampling.

    At each step the decoder is fed its own output with probability ε and the truth otherwise, with ε rising from 0 in
    the course of training. At 0 it is teacher forcing, at 1 it runs freely. A model trained so is less surprised by its
    own mistakes: the gap between its loss on own and on true outputs shrinks.

    $$\tilde y_{t-1} = \hat y_{t-1} \text{ with probability } \varepsilon, \text{ else } y_{t-1}$$

    Assumes: own outputs are drawn, and no gradient passes through the draw.

    Check: what is fed at ε = 0, at 1 and between; losses against teacher forcing; the gap of trained models. What the
    sheet calls professor forcing is this method; the name belongs to another, which trains a discriminator between
    forced and free hidden states.
    """
    net = sequences.EncoderDecoder(7, 7, 12, key=key)
    batch = sequences.Pairs(*(jnp.asarray(part) for part in pairs("reversal", longest, 64, seed=2)))
    forced, _ = sequences.teacher_forcing(net, batch, None, None)
    none, _ = sequences.ScheduledSampling(0.0)(net, batch, key, None)
    yield close(none.losses, forced.losses, "ε = 0: losses, against teacher forcing", atol=1e-12)
    free, _ = sequences.ScheduledSampling(1.0, likeliest=True)(net, batch, key, None)
    freely = _rolled(net, *batch, True)
    chosen = -jnp.take_along_axis(freely.log_probabilities, batch.target[..., None], -1)[..., 0]
    yield close(free.losses, chosen, "ε = 1: losses, against free running", atol=1e-12)
    rising = sequences.ScheduledSampling(lambda step: jnp.minimum(step / 100, 1.0))
    _, state = rising(net, batch, key, jnp.array(41))
    yield exactly(int(state), 42, "a schedule counts its steps")
    shares = (0.0, 0.25, 0.5)
    test = pairs("reversal", longest, 400, seed=6)
    gaps = {}
    for share in shares:
        nets = trained(longest=longest, share=share, num_steps=num_steps, seeds=4).networks
        gaps[share] = np.array([np.nansum(sequences.decoding_exposure(n, test).gap) for n in nets])
    what = "trained by teacher forcing: exposure gap, nats a sequence, four seeds"
    yield mean(gaps[0.0], 0.0, what, side="at least").as_empirical()
    what = "exposure gap, trained at ε = 0 less at ε = 0.5, four seeds in pairs"
    yield mean(gaps[0.0] - gaps[0.5], 0.0, what, side="at least").as_empirical()
    yield figure.curves(
        "Fed with own outputs in training, a decoder suffers less from them later",
        "probability ε of own outputs in training",
        "free minus forced loss, nats a sequence",
        points={f"seed {i}": (list(shares), [gaps[s][i] for s in shares]) for i in range(len(gaps[0.0]))},
    )
