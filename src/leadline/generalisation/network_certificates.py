"""PAC-Bayes certificates of any network: an upper bound on the error of the network with noise on its weights."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, PyTree

from leadline.data import generator
from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from .pac_bayes_bounds import diagonal_gaussian_kl, kl_inverse, pac_bayes_bound
from .posterior_training import GaussianPosterior, train_posterior

Network = Callable[[PyTree, Array], Float[Array, "n k"]]
Inputs = Num[np.ndarray, "n ..."]
Labels = Int[np.ndarray, " n"]

PRIOR_DEVIATIONS = 1e-4 * 1.01 ** np.arange(1158)  # up to 10; a choice among them costs ln 1158 = 7.05 nats
ROWS_A_DRAW = 32
_NUMBERS_AT_ONCE = 4_000_000  # at most so many weights are drawn together, of at most so many networks:
_DRAWS_TOGETHER = 250


class NetworkCertificate(NamedTuple):
    """A network drawn from Q = N(mean, diag s²) errs on new data with probability at most `value`, at `confidence`.

    `n` rows in the bound; `kl` is KL(Q ‖ P) from the prior P = N(centre, λ²I) with λ = `prior_deviation`, chosen from a
    grid for `grid_cost` nats; `sampled_error` is the training error of the `draws` drawn networks and `empirical` its
    upper confidence limit, from which the bound starts. `deviation` is the root mean square of s, `moved` the distance
    of the mean of Q from the given weights over the norm of these. `chance_error` is that of always guessing the most
    frequent class: the certificate is `vacuous` if it is no better. `test_error` is that of drawn networks on the test
    rows, None if there are none.
    """

    value: float
    confidence: float
    n: int
    kl: float
    sampled_error: float
    empirical: float
    draws: int
    grid_cost: float
    prior_deviation: float
    deviation: float
    moved: float
    chance_error: float
    vacuous: bool
    test_error: float | None


def network_certificate(
    apply: Network,
    params: PyTree,
    inputs: Inputs,
    labels: Labels,
    *,
    prior: PyTree = None,
    confidence: float = 0.95,
    key: PRNGKeyArray,
    test: tuple[Num[np.ndarray, "m ..."], Int[np.ndarray, " m"]] | None = None,
    move: bool = False,
    num_steps: int = 600,
    rate: float = 2e-2,
    draws: int | None = None,
) -> NetworkCertificate:
    """Certify the network with Gaussian noise on its weights; the noise of each weight is fitted to the bound.

    `prior` are parameters that were drawn without the rows, the start of training; without them the prior is centred at
    0. Give all rows the network was trained on: the cost does not depend on their number. With `move` the mean of Q is
    fitted too: the certificate is better, but of a network that is no longer the given one. `num_steps` of Adam with
    step `rate` fit the noise, and `draws` of weights estimate its training error. A prior that has seen data
    needs rows that training has not: see `split_certificate`; for a finished network trained on all rows there is none.

    >>> x = np.repeat(np.array([[-1.0], [1.0]]), 500, axis=0)
    >>> linear = lambda w, x: x @ w  # the label is the sign; scores of one class alone are allowed
    >>> found = network_certificate(linear, jnp.array([[2.0]]), x, (x[:, 0] > 0).astype(int), key=jax.random.key(0))
    >>> found.value < 0.05, found.vacuous
    (True, False)
    """
    keys = jax.random.split(key)
    posterior = fitted_posterior(
        apply,
        params,
        inputs,
        labels,
        prior=prior,
        move=move,
        num_steps=num_steps,
        rate=rate,
        confidence=confidence,
        key=keys[0],
    )
    found = certify_posterior(
        apply, posterior, inputs, labels, prior=prior, confidence=confidence, test=test, draws=draws, key=keys[1]
    )
    given = _flat(params)
    gone = np.linalg.norm(_flat(posterior.mean) - given) / max(np.linalg.norm(given), 1e-300)
    return found._replace(moved=float(gone))


def fitted_posterior(
    apply: Network,
    params: PyTree,
    inputs: Inputs,
    labels: Labels,
    *,
    prior: PyTree = None,
    move: bool = False,
    num_steps: int = 600,
    rate: float = 2e-2,
    confidence: float = 0.95,
    key: PRNGKeyArray,
) -> GaussianPosterior:
    """Q = N(params, diag s²) with the s for which the bound is least, by training on 1 − (probability of the label).

    Scores that are not logits (small margins) are first multiplied by a constant, so that the median margin is 4.
    """
    inputs, labels, outputs = _checked(apply, params, inputs, labels)
    widths = jax.tree.map(
        lambda w: np.full(w.shape, np.log(0.2 * np.sqrt(np.mean(np.square(w))) + 1e-3), w.dtype), params
    )
    sample = jnp.asarray(inputs[:256])
    scores = np.asarray(_outputs(apply, params, sample), float)
    best = np.sort(np.abs(scores) if outputs == 1 else scores, axis=1)
    margin = float(np.median(best[:, -1] - (best[:, -2] if outputs > 1 else 0)))
    scale = jnp.asarray(max(1.0, 4 / max(margin, 1e-6)), jnp.result_type(*jax.tree.leaves(params)))
    trained = train_posterior(
        _ProbabilityOfError(apply, scale),
        GaussianPosterior(params, widths),
        _centre(prior, params),
        inputs,
        labels,
        delta=(1 - confidence) / 2,
        num_steps=num_steps,
        rates=(1e-3 if move else 0.0, rate),
        form="kl",
        key=key,
    )
    return trained.posterior


def certify_posterior(
    apply: Network,
    posterior: GaussianPosterior,
    inputs: Inputs,
    labels: Labels,
    *,
    prior: PyTree = None,
    prior_deviation: float | None = None,
    confidence: float = 0.95,
    test: tuple[Num[np.ndarray, "m ..."], Int[np.ndarray, " m"]] | None = None,
    draws: int | None = None,
    key: PRNGKeyArray,
) -> NetworkCertificate:
    """The certificate of a given Q, which may depend on the rows in any way; centre and deviation of P may not.

    Half of δ = 1 − confidence is for the training error of Q, estimated from independent draws of weights, each on 32
    rows drawn with replacement; the other half for the theorem, shared by a grid of prior deviations if none is given.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"The confidence is {confidence}; give a number between 0 and 1, 0.95 say.")
    inputs, labels, _ = _checked(apply, posterior.mean, inputs, labels)
    mean, s, centre = (
        _flat(posterior.mean),
        np.exp(_flat(posterior.log_deviation)),
        _flat(_centre(prior, posterior.mean)),
    )
    choices = 1
    if prior_deviation is None:
        choices = len(PRIOR_DEVIATIONS)
        best = np.sqrt(np.mean(s**2 + (mean - centre) ** 2))  # the least KL; on the grid the nearest in logarithm
        prior_deviation = float(PRIOR_DEVIATIONS[np.argmin(np.abs(np.log(PRIOR_DEVIATIONS / best)))])
    kl = float(diagonal_gaussian_kl(mean, s, centre, prior_deviation))
    draws = draws or int(np.clip(4e8 // mean.size, 500, 8000))
    keys = jax.random.split(key)
    errors = _drawn_errors(apply, posterior, inputs, labels, draws, keys[0])
    half, n = (1 - confidence) / 2, len(labels)
    empirical = float(kl_inverse(errors.mean(), np.log(1 / half) / len(errors)))
    value = float(pac_bayes_bound(empirical, kl, n, half / choices).value)
    test_error = None
    if test is not None:
        rows, truth, _ = _checked(apply, posterior.mean, *test)
        test_error = float(_drawn_errors(apply, posterior, rows, truth, min(draws, 1000), keys[1]).mean())
    chance = 1 - np.bincount(labels).max() / n
    return NetworkCertificate(
        value,
        confidence,
        n,
        kl,
        float(errors.mean()),
        empirical,
        len(errors),
        float(np.log(choices)),
        float(prior_deviation),
        float(np.sqrt(np.mean(s**2))),
        0.0,
        float(chance),
        bool(value >= chance),
        test_error,
    )


def split_certificate(
    apply: Network,
    train: Callable[[Inputs, Labels], PyTree],
    inputs: Inputs,
    labels: Labels,
    *,
    share: float = 0.5,
    confidence: float = 0.95,
    test: tuple[Num[np.ndarray, "m ..."], Int[np.ndarray, " m"]] | None = None,
    num_steps: int = 600,
    draws: int | None = None,
    key: PRNGKeyArray,
) -> NetworkCertificate:
    """Train a prior on a share of the rows, and certify on the others the network fitted from there: much tighter.

    train(inputs, labels) gives parameters. The bound counts only the rows that the prior has not seen (Ambroladze,
    Parrado-Hernández and Shawe-Taylor 2006).
    """
    seen = round(share * len(labels))
    if not 1 <= seen <= len(labels) - 8:
        raise ValueError(
            f"A share of {share} of {len(labels)} rows leaves fewer than 8, or none to train; give another."
        )
    keys = jax.random.split(key)
    order = np.asarray(jax.random.permutation(keys[0], len(labels)))
    prior = train(inputs[order[:seen]], labels[order[:seen]])
    rest = order[seen:]
    return network_certificate(
        apply,
        prior,
        inputs[rest],
        labels[rest],
        prior=prior,
        confidence=confidence,
        test=test,
        move=True,
        num_steps=num_steps,
        draws=draws,
        key=keys[1],
    )


class _ProbabilityOfError(eqx.Module):
    """1 − softmax probability of the label, averaged over rows: smooth, and in [0, 1]."""

    apply: Network
    scale: Float[Array, ""]

    def __call__(self, params: PyTree, inputs: Array, labels: Array) -> Float[Array, ""]:
        scores = self.scale * CanonicalConvolutions(self.apply)(params, inputs)
        if scores.shape[1] == 1:
            return jnp.mean(jax.nn.sigmoid(-(2 * labels - 1) * scores[:, 0]))
        return jnp.mean(1 - jnp.take_along_axis(jax.nn.softmax(scores), labels[:, None], axis=1))


def _drawn_errors(apply, posterior, inputs, labels, draws, key) -> Float[np.ndarray, " draws"]:
    """The error of each of at least `draws` drawn networks on its own few rows."""
    rng = generator(key)
    size, dtype = _flat(posterior.mean).size, jnp.result_type(*jax.tree.leaves(posterior.mean))
    together = int(np.clip(_NUMBERS_AT_ONCE // size, 1, _DRAWS_TOGETHER))
    errors = []
    for _ in range(-(-draws // together)):
        noise = rng.standard_normal((together, size), np.float32).astype(dtype)
        rows = rng.integers(len(labels), size=(together, ROWS_A_DRAW))
        errors.append(np.asarray(_errors(apply, posterior, noise, inputs[rows], labels[rows]), float))
    return np.concatenate(errors)


@eqx.filter_jit
def _errors(apply, posterior, noise, inputs, labels) -> Float[Array, " together"]:
    mean, unravel = ravel_pytree(posterior.mean)
    deviation = jnp.exp(ravel_pytree(posterior.log_deviation)[0])

    def one(noise, inputs, labels):
        scores = CanonicalConvolutions(apply)(unravel(mean + deviation * noise), inputs)
        guess = (scores[:, 0] > 0).astype(labels.dtype) if scores.shape[1] == 1 else jnp.argmax(scores, axis=1)
        return jnp.mean(guess != labels)

    return jax.vmap(one)(noise, inputs, labels)


@eqx.filter_jit
def _outputs(apply, params, inputs) -> Array:
    return apply(params, inputs)


def _centre(prior: PyTree, params: PyTree) -> PyTree:
    if prior is None:
        return jax.tree.map(lambda w: np.zeros(w.shape, w.dtype), params)
    if [a.shape for a in jax.tree.leaves(prior)] != [a.shape for a in jax.tree.leaves(params)]:
        raise ValueError("The prior's parameters do not have the shapes of the network's; give those it started from.")
    return prior


def _flat(params: PyTree) -> Float[np.ndarray, " p"]:
    return np.concatenate([np.asarray(leaf, float).ravel() for leaf in jax.tree.leaves(params)])


def _checked(apply, params, inputs, labels) -> tuple[np.ndarray, np.ndarray, int]:
    """Inputs (integers stay so), labels from 0 on (−1 and 1 become 0 and 1), the number of outputs."""
    inputs, labels = np.asarray(inputs), np.asarray(labels)
    if len(inputs) != len(labels) or labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) < 8:
        raise ValueError(
            f"A certificate needs at least 8 rows with one class label each; got {inputs.shape} inputs and labels "
            f"{labels.shape} of {labels.dtype}."
        )
    if inputs.dtype.kind == "f":
        inputs = inputs.astype(jnp.result_type(*jax.tree.leaves(params)), copy=False)
    outputs = jax.eval_shape(apply, params, jax.ShapeDtypeStruct((1, *inputs.shape[1:]), inputs.dtype)).shape[1]
    if outputs == 1:
        labels = np.where(labels == -1, 0, labels)
    if labels.min() < 0 or labels.max() >= max(outputs, 2):
        raise ValueError(
            f"Labels go from {labels.min()} to {labels.max()}, but the network tells {max(outputs, 2)} classes apart."
        )
    return inputs, labels, outputs
