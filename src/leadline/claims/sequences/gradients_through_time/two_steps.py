"""The exercise of the notes: backpropagation through two steps of one unit."""

import jax
import numpy as np

from leadline import sequences
from leadline.evidence import Real, claim, close, exactly
from leadline.presentation import figure


@claim(sources=("penn",), shows=("sequences.two_step_adjoints", "sequences.first_wrong_term"))
def bptt_two_step_exercise(
    key, u: Real(-2.0, 2.0) = 0.7, w: Real(-2.0, 2.0) = -1.1, v: Real(-2.0, 2.0) = 1.3, both: bool = True
):
    r"""Two steps of backpropagation through time.

    One unit over two inputs, with a loss at each step: the adjoints follow one after the other, and each weight's
    gradient is a sum over the places where it is used. With a loss at the second step alone the error of the first
    is 0. An answer of one's own is compared term by term.

    $$a_2 = e_2 v s_2', \quad \bar h_1 = e_1 v + a_2 w, \quad a_1 = \bar h_1 s_1'; \qquad \bar v = e_1 h_1 + e_2 h_2,
    \quad \bar w = a_2 h_1, \quad \bar u = a_1 x_1 + a_2 x_2$$

    Assumes: the unit is logistic and the errors are −2 times the residuals, since the loss has no ½.

    Check: Against the automatic derivative and central differences; every term of an answer is spoilt in turn.
    """
    x, y = jax.random.normal(key, (2, 2)).tolist()
    problem = sequences.TwoStep(u, w, v, tuple(x), tuple(y), both)
    terms = sequences.two_step_adjoints(problem)
    loss = sequences.two_step_loss(problem)
    found = np.array([terms["u"], terms["w"], terms["v"]])
    size = np.abs(found).max() + 1
    automatic = np.array(jax.grad(loss)((u, w, v)))
    yield close(found, automatic, "gradients of u, w, v, against the automatic derivative", atol=1e-12 * size)
    h = 1e-5
    ends = [[float(loss(tuple(np.array([u, w, v]) + s * h * e))) for s in (1, -1)] for e in np.eye(3)]
    differences = [(a - b) / (2 * h) for a, b in ends]
    yield close(found, differences, "gradients of u, w, v, against central differences", atol=1e-8 * size)
    spoilt = [sequences.first_wrong_term(terms | {name: terms[name] + size}, problem) for name in terms]
    yield exactly(spoilt, list(terms), "answers with one wrong term: the term that is named")
    yield exactly(sequences.first_wrong_term(terms, problem) is None, True, "the right answer has no wrong term")
    missing = {name: value for name, value in terms.items() if name not in ("w", "u")}
    yield exactly(sequences.first_wrong_term(missing, problem), "w", "an answer without w and u: the first that lacks")
    labels = {"e1": "e₁", "e2": "e₂", "a2": "a₂", "h1": "adjoint of h₁", "a1": "a₁", "v": "v", "w": "w", "u": "u"}
    yield figure.bars(
        f"Adjoints as they are computed: gradient {terms['u']:.2g} by u, {terms['w']:.2g} by w, {terms['v']:.2g} by v",
        "term",
        "value",
        values={"adjoint": {labels[name]: value for name, value in terms.items()}},
    )
