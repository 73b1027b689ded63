import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import three_clouds

from leadline import networks
from leadline.evidence import BadInput
from leadline.studies import as_subject

TRAIN, TEST = three_clouds(), three_clouds(60, seed=1)
W = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def scores_of(params, x):
    return x @ params["w"] + params["b"]


PARAMS = {"w": jnp.asarray(W), "b": jnp.ones(3, jnp.float32)}
EXPECTED = TRAIN[0] @ W + 1


def rows_of(subject):
    """Training rows in the order of the data: a subject shuffles them."""
    return subject.apply(subject.params, TRAIN[0])


def test_a_function_of_batches_and_one_of_single_rows_give_the_same_subject():
    one = as_subject((lambda p, x: jnp.dot(x, p["w"]) + p["b"], PARAMS), TRAIN)
    assert np.allclose(rows_of(as_subject((scores_of, PARAMS), TRAIN)), EXPECTED, atol=1e-5)
    assert np.allclose(rows_of(one), EXPECTED, atol=1e-5)
    single = as_subject((lambda p, x: (p["w"] * x[:, None]).sum(0) + p["b"] * (x.ndim == 1), PARAMS), TRAIN)
    assert np.allclose(rows_of(single), EXPECTED, atol=1e-5)


def test_an_equinox_module_is_mapped_over_rows():
    net = eqx.nn.Linear(4, 3, key=jax.random.key(0))
    net = eqx.tree_at(lambda n: (n.weight, n.bias), net, (jnp.asarray(W.T), jnp.ones(3, jnp.float32)))
    subject = as_subject(net, TRAIN, TEST)
    assert np.allclose(rows_of(subject), EXPECTED, atol=1e-5)
    assert (subject.outputs, subject.size, subject.classifies, subject.loss) == (3, 15, True, "cross-entropy")


def test_a_flax_nnx_module_gives_its_own_outputs_and_its_parameters_can_be_replaced():
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.hidden = nnx.Linear(4, 8, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)
            self.out = nnx.Linear(8, 3, rngs=rngs)

        def __call__(self, x):
            return self.out(self.drop(nnx.relu(self.hidden(x))))

    net = Net(nnx.Rngs(0))
    subject = as_subject(net, TRAIN, TEST)
    h = np.maximum(TRAIN[0] @ net.hidden.kernel[...] + net.hidden.bias[...], 0)
    assert np.allclose(rows_of(subject), h @ net.out.kernel[...] + net.out.bias[...], atol=1e-5)
    doubled = jax.tree.map(lambda v: 2 * v, subject.params)
    assert np.allclose(subject.apply(doubled, TRAIN[0]), 4 * rows_of(subject), atol=1e-4)


def test_one_output_with_two_classes_becomes_two_scores():
    labels = (TRAIN[1] > 0).astype(int)
    subject = as_subject((lambda p, x: x @ p, jnp.asarray(W[:, 0])), (TRAIN[0], labels))
    z = subject.train.inputs @ W[:, 0]
    assert np.allclose(subject.train_scores, np.stack([0 * z, z], axis=1), atol=1e-5)
    y = subject.train.targets
    assert np.allclose(subject.losses(subject.train), np.log1p(np.exp(z)) - y * z, atol=1e-5)


def test_real_targets_are_regression_and_labels_with_a_squared_loss_are_classes():
    regression = as_subject((lambda p, x: x @ p, jnp.asarray(W[:, 0])), (TRAIN[0], TRAIN[0].sum(1)))
    assert (regression.loss, regression.classifies, regression.train.targets.shape) == ("squared", False, (90, 1))
    classes = as_subject((scores_of, PARAMS), TRAIN, loss="squared")
    expected = ((classes.train_scores - np.eye(3)[classes.train.targets]) ** 2).sum(1)
    assert classes.classifies
    assert np.allclose(classes.losses(classes.train), expected, rtol=1e-5)


def test_images_reach_a_network_that_wants_rows_of_numbers_and_stay_images():
    images = (TRAIN[0].reshape(90, 2, 2).repeat(2, 1).repeat(2, 2), TRAIN[1])
    subject = as_subject(eqx.nn.MLP(16, 3, 8, 1, key=jax.random.key(0)), images)
    assert subject.image_shape == (4, 4, 1)
    planes = as_subject(
        eqx.nn.Sequential(
            [
                eqx.nn.Conv2d(1, 2, 3, key=jax.random.key(0)),
                eqx.nn.Lambda(jnp.ravel),
                eqx.nn.Linear(8, 3, key=jax.random.key(1)),
            ]
        ),
        images,
    )
    assert planes.outputs == 3


def test_dropout_is_off():
    net = eqx.nn.Sequential([eqx.nn.Linear(4, 3, key=jax.random.key(0)), eqx.nn.Dropout(0.9)])
    assert np.isfinite(as_subject(net, TRAIN).train_scores).all()


def test_rows_are_shuffled_together_and_the_same_way_every_time():
    subject, again = (as_subject((scores_of, PARAMS), TRAIN) for _ in range(2))
    assert (subject.train.inputs == again.train.inputs).all()
    lookup = {tuple(x): y for x, y in zip(*TRAIN, strict=True)}
    assert [lookup[tuple(x)] for x in subject.train.inputs] == subject.train.targets.tolist()
    assert (subject.train.inputs != TRAIN[0]).any()


NET = networks.MLP((4, 3), dtype=jnp.float32, key=jax.random.key(0))
X, Y = TRAIN


@pytest.mark.parametrize(
    ("model", "train", "options", "told"),
    [
        ("a text", TRAIN, {}, "is a str, not a network"),
        (len, TRAIN, {}, "not a network"),
        (NET, (X[:, :3], Y), {}, "does not take inputs of shape (3,)"),
        (NET, (X, Y + 1), {}, "needs labels 0 to 2"),
        (NET, (X, Y - 1), {}, "is -1"),
        (NET, (np.where(np.arange(90)[:, None] == 7, np.nan, X), Y), {}, "input in row 7 is not a finite number"),
        (NET, (X, 0 * Y), {}, "Every training label is 0"),
        (NET, (X[:10], Y[:10]), {}, "There are 10 training rows; a study needs 20"),
        (NET, (X, Y[:50]), {}, "one row per example"),
        (NET, (X.astype(str), Y), {}, "convert them to real numbers"),
        (NET, X, {}, "must be a pair"),
        (NET, TRAIN, {"loss": "hinge"}, "no loss called 'hinge'"),
        (NET, (X, X), {}, "gives 3 numbers per row and the targets have 4"),
        (NET, TRAIN, {"start": networks.MLP((4, 5, 3), key=jax.random.key(0))}, "same architecture"),
        ((scores_of, {"w": 1}), TRAIN, {}, "pytree of floating-point arrays"),
        ((scores_of, {"w": jnp.asarray(W) * jnp.nan, "b": jnp.ones(3)}), TRAIN, {}, "not finite for training row"),
        (NET, TRAIN, {"test": (X[:, :2], Y)}, "give both alike"),
    ],
)
def test_what_does_not_fit_is_told_in_one_sentence(model, train, options, told):
    with pytest.raises(BadInput) as mistake:
        as_subject(model, train, **options)
    assert told in str(mistake.value)
    assert "\n" not in str(mistake.value)
