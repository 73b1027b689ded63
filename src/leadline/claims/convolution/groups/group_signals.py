"""Signals on groups: how elements move them, and measures that do not see it."""

import jax.numpy as jnp
import numpy as np

from leadline import data, geometry
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, model
from leadline.geometry.groups.haar_measures import affine_product, modular_factor
from leadline.presentation import figure


@model(sources=("cam",), shows=("geometry.translate", "geometry.plane_group"))
def finite_group_signals(key, order: Int(3, 12) = 6, side: Int(2, 3) = 2, channels: Int(1, 4) = 3):
    r"""Signals on a finite group.

    An image is a function on a group of shifts, and features of a group network are functions on a larger group. An
    element moves a signal by its inverse, which makes products of elements act one after the other. With X(gz) in place
    of it the order is reversed, and the law of an action fails for just the pairs that do not commute.

    $$(gX)(z) = X(g^{-1}z), \qquad (gh)X = g(hX)$$

    Assumes: the group is finite; its table is verified when it is made.

    Check: all pairs of elements of cyclic, dihedral, symmetric and plane groups on random integers; the failing pairs
    against |G|² − |G| · (number of conjugacy classes).
    """
    rng = data.generator(key)
    groups = [
        geometry.cyclic_group(order),
        geometry.product_group(geometry.cyclic_group(order), geometry.cyclic_group(2)),
        geometry.symmetric_group(3),
        geometry.dihedral_group(4),
        geometry.symmetric_group(4),
        geometry.plane_group("p4", side),
        geometry.plane_group("p4m", 2),
    ]
    for group in groups:
        signal = rng.integers(-99, 99, (group.order, channels))
        every = range(group.order)
        moved = np.stack([geometry.translate(group, g, signal) for g in every])
        twice = np.stack([geometry.translate(group, g, np.moveaxis(moved, 0, 1)) for g in every])
        twice = np.moveaxis(twice, 2, 1)  # [g, h] = g(hX)
        broken = np.sum((moved[group.table] != twice).any((2, 3)))
        yield exactly(broken, 0, f"{group.name}: pairs with (gh)X ≠ g(hX), of {group.order**2}")
        careless = signal[group.table]  # [g]: z ↦ X(gz)
        both = np.stack([careless[:, group.table[g]] for g in range(group.order)])  # [g, h]: z ↦ (hX)(gz)
        reversed_order = np.sum((careless[group.table] != both).any((2, 3)))
        commuting = group.order * (int(group.classes.max()) + 1)
        what = f"{group.name}: pairs that fail with X(gz) in place of X(g⁻¹z)"
        yield exactly(reversed_order, group.order**2 - commuting, what)
    d4 = geometry.dihedral_group(4)
    signal = np.arange(8)
    rows = np.stack([np.asarray(geometry.translate(d4, g, signal)) for g in range(8)])
    table = figure.heatmap("Cayley table of D₄", "h", "g", values=d4.table, xs=d4.names, ys=d4.names, text=True)
    options = {"xs": d4.names, "ys": d4.names, "text": True}
    orbit = figure.heatmap("The signal 0, …, 7 moved by g", "z", "g", values=rows, **options)
    yield figure.beside("Each element of D₄ permutes the values of a signal on D₄", table, orbit)


@claim(sources=("cam",), shows=("geometry.affine_integral", "geometry.circle_mean"))
def haar_invariance(key, order: Int(3, 12) = 6, frequency: Int(1, 8) = 3, scale: Real(0.4, 2.5, log=True) = 1.6):
    r"""Haar measure and its invariance.

    A left Haar measure gives a function and its left translates the same integral. On a finite group the integral is a
    sum and translation a permutation of its terms. Right translates have it too on unimodular groups; on the group of
    maps x ↦ ax + b with measure da db/a² they are off by the modular factor.

    $$\int X(gh)\, dh = \int X(h)\, dh, \qquad \int X(hg)\, d\mu(h) = \Delta(g)^{-1} \int X\, d\mu, \quad \Delta(a, b)
    = 1/a$$

    Assumes: X is integrable; on the affine group it decays in log a and b.

    Check: sums of integers on finite groups; the trapezoidal rule on the circle and on the affine group.
    """
    rng = data.generator(key)
    for group in (geometry.cyclic_group(order), geometry.dihedral_group(order), geometry.symmetric_group(4)):
        signal = rng.integers(-99, 99, group.order)
        yield exactly(signal[group.table].sum(1), signal.sum(), f"{group.name}: sum of X(gh) over h, for every g")
        yield exactly(signal[group.table].sum(0), signal.sum(), f"{group.name}: sum of X(hg) over h, for every g")
    shift = jnp.asarray(rng.uniform(0, 2 * np.pi, 5))
    means = [geometry.circle_mean(lambda t, s=s: jnp.exp(jnp.sin(frequency * t + s))) for s in shift]
    yield close(means, np.i0(1.0), "circle: mean of exp(sin(mθ + s)) for five s, against I₀(1)", atol=1e-12)
    centre, b = rng.uniform(-0.5, 0.5), float(rng.normal())

    def bump(a, b):
        return jnp.exp(-(jnp.log(a) ** 2) - (b - centre) ** 2)

    g = (scale, b)
    left = float(geometry.affine_integral(bump))
    closed = float(np.pi * np.exp(0.25))  # ∫ e^(-u² - u) du ∫ e^(-b²) db
    yield close(left, closed, "affine group: integral of a bump, against π e^(1/4)", rtol=1e-9)
    moved = float(geometry.affine_integral(lambda a, b: bump(*affine_product(g, (a, b)))))
    yield close(moved, left, "affine group: integral of X(gh), of X", rtol=1e-6)
    other = float(geometry.affine_integral(lambda a, b: bump(*affine_product((a, b), g))))
    what = "affine group: integral of X(hg), of X over the modular factor"
    yield close(other, left / modular_factor(g), what, rtol=1e-6)
    right = float(geometry.affine_integral(lambda a, b: bump(*affine_product((a, b), g)), "right"))
    whole = float(geometry.affine_integral(bump, "right"))
    yield close(right, whole, "affine group with da db/a: integral of X(hg), of X", rtol=1e-6)
    scales = np.geomspace(0.4, 2.5, 9)
    sides = [
        [float(geometry.affine_integral(lambda a, b, s=s: bump(*affine_product((s, 0.5), (a, b))))) for s in scales],
        [float(geometry.affine_integral(lambda a, b, s=s: bump(*affine_product((a, b), (s, 0.5))))) for s in scales],
    ]
    yield at_least(np.ptp(sides[1]) / left, 1.0, "affine group: spread of right translates over a from 0.4 to 2.5")
    yield at_most(np.ptp(sides[0]) / left, 1e-6, "affine group: spread of left translates over the same a")
    yield figure.curves(
        "Left translates keep the integral over the affine group; right ones multiply it by a",
        "a of the group element",
        "integral with da db/a²",
        lines={"X(gh)": (scales, np.full(9, closed)), "X(hg)": (scales, closed * scales)},
        points={"X(gh)": (scales, sides[0]), "X(hg)": (scales, sides[1])},
    )
