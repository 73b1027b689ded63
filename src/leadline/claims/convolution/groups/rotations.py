"""What networks that saw upright images do with turned ones, and three routes to rotations."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution
from leadline.claims.scenarios.convolution.framed_digits import framed_digits
from leadline.claims.scenarios.convolution.rotated_digits import ANGLES, accuracies_by_angle
from leadline.claims.scenarios.convolution.turned_digits import ROUTES, right_at_turns, scores, trained
from leadline.convolution.symmetry.smooth_images import draw_blobs
from leadline.evidence import Int, at_least, at_most, claim, exactly
from leadline.presentation import figure


@claim(sources=("cam", "penn"), slow="a minute the first time, when four networks are trained")
def group_cnn_generalises_over_rotations(key, steps: Int(100, 2000) = 400):
    r"""A group network generalises over turns it never saw.

    Trained on upright images alone, a network that is invariant to quarter turns has the same accuracy at all of them.
    An ordinary convolutional network and a dense one of equal size do not; turned copies in training teach it nearly.
    The price: a 9 that is a turned 6 is a 6 to it.

    $$\Phi(gX) = \Phi(X) \;\Rightarrow\; \mathrm{acc}(g \cdot \mathrm{test}) = \mathrm{acc}(\mathrm{test})$$

    Assumes: quarter turns of square images.

    Check: 1297 digits to learn and 500 to test, four networks of about 14 100 weights, Adam.
    """
    _, _, test, labels = framed_digits()
    nets = {route: trained(route, steps) for route in ROUTES}
    right = {route: right_at_turns(net, test, labels) for route, net in nets.items()}
    share = {route: counts / len(labels) for route, counts in right.items()}
    yield exactly(right["p4"], right["p4"][0], "p4: right decisions at 0°, 90°, 180°, 270°")
    yield at_least(share["p4"], 0.94, "p4: accuracy at every turn").as_empirical()
    yield at_most(share["plain"][1], 0.25, "ordinary network: accuracy at 90°").as_empirical()
    yield at_most(share["dense"][1], 0.25, "dense network: accuracy at 90°").as_empirical()
    yield at_least(share["augmented"], 0.85, "trained on turned copies: accuracy at every turn").as_empirical()
    what = "upright: accuracy of the ordinary network, of the p4 network"
    yield at_least(share["plain"][0], share["p4"][0], what).as_empirical()
    what = "mean over turns: accuracy of p4, of the augmented network less a point"
    yield at_least(share["p4"].mean(), share["augmented"].mean() - 0.01, what).as_empirical()
    decided = {route: np.asarray(scores(nets[route], test)).argmax(1) for route in ("p4", "plain")}
    swapped = {
        route: int(np.sum((labels == 6) & (d == 9)) + np.sum((labels == 9) & (d == 6))) for route, d in decided.items()
    }
    others = np.array([[np.sum((labels == a) & (decided["p4"] == b)) for b in range(10)] for a in range(10)])
    np.fill_diagonal(others, 0)
    what = "upright: 6 and 9 taken for each other by p4, by the ordinary network"
    yield at_least(swapped["p4"], swapped["plain"], what).as_empirical()
    turned = np.asarray(scores(nets["plain"], np.rot90(test, 2, axes=(1, 2)))).argmax(1)
    sixes = float(np.mean(turned[labels == 6] == 9))
    yield at_least(sixes, 0.5, "half turn: share of sixes that the ordinary network calls nine").as_empirical()
    angle = np.radians([0, 90, 180, 270, 360])
    around = np.stack([np.cos(angle), np.sin(angle)], 1)
    lines = {name: tuple((np.append(s, s[0])[:, None] * around).T) for name, s in share.items()}
    polar = figure.plane(
        "Accuracy at each turn, as distance from the centre",
        "accuracy · cos(angle)",
        "accuracy · sin(angle)",
        points={name: s[:, None] * around[:4] for name, s in share.items()},
        lines=lines,
        domain=((-1.05, 1.05), (-1.05, 1.05)),
    )
    errors = figure.heatmap("Errors of the p4 network, upright", "decision", "digit", values=others, text=True)
    title = f"p4 is right on {share['p4'][0]:.3g} at every turn, an ordinary network on {share['plain'][1]:.2g} at 90°"
    yield figure.beside(title, polar, errors)


@claim(sources=("penn",), empirical=True, slow="two minutes the first time, when twelve networks are trained")
def rotation_invariance_routes(key, seeds: Int(1, 5) = 3, steps: Int(50, 1000) = 400, side: Int(24, 48) = 32):
    r"""Three routes to rotations.

    Log-polar sampling makes a rotation a shift, which convolution and pooling do not see; filters in four turns with a
    maximum over them are exact at quarter turns; rotated copies in training teach what they show. Each is better than
    an ordinary network on average over all angles. On a grid only quarter turns are exact: at other angles all pay for
    interpolation.

    $$X(r, \varphi) \mapsto X(r, \varphi - \alpha) \;\text{ in log-polar coordinates}$$

    Assumes: digits enlarged to 20 × 20; test angles every 15°.

    Check: four networks of similar size, each from several seeds, trained on upright digits (one of them on rotated
    ones too); a smooth scene rotated by 30° against its log-polar image shifted.
    """
    scenes = draw_blobs(4, side, key=key)
    rotated = convolution.rotations([30], order=3)[0](scenes)
    polar, turned = (np.asarray(convolution.log_polar(jnp.asarray(x), 48, 24)) for x in (scenes, rotated))
    shifted = np.roll(polar, 4, axis=2)
    off = np.linalg.norm(turned - shifted) / np.linalg.norm(polar)
    unmoved = np.linalg.norm(turned - polar) / np.linalg.norm(polar)
    yield at_most(off, 0.1, "log-polar image of a scene turned by 30°, off the shifted one, relative")
    yield at_least(
        unmoved / off, 5.0, "log-polar image of a scene turned by 30°: off the unshifted one, over off the shifted one"
    )
    found = {route: accuracies_by_angle(route, seeds, steps) for route in ("plain", "log-polar", "p4", "augmented")}
    means = {route: rows.mean(1) for route, rows in found.items()}  # of each seed
    for route in ("log-polar", "p4", "augmented"):
        yield at_least(means[route], means["plain"], f"{route}: accuracy over all angles of each seed, plain network's")
    quarter = found["p4"][:, ::6]
    yield at_most(np.ptp(quarter, axis=1), 0.0, "p4: spread of accuracy over 0°, 90°, 180°, 270°")
    points = {route: (ANGLES, rows.mean(0), rows.min(0), rows.max(0)) for route, rows in found.items()}
    said = ", ".join(f"{route} {m.mean():.2f}" for route, m in means.items())
    title = f"Accuracy over all angles: {said}"
    yield figure.curves(title, "test angle (degrees)", "accuracy", points=points)
