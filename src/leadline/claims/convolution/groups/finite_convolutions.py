"""Convolution on any finite group, its matrix, and why nothing else commutes with the group."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, geometry
from leadline.evidence import Int, at_least, at_most, claim, close, exactly, model
from leadline.presentation import figure


@model(sources=("cam",), shows=("geometry.group_convolution", "geometry.group_convolution_matrix"))
def finite_group_convolution(key, order: Int(3, 32) = 12, side: Int(3, 4) = 4, into: Int(1, 3) = 2, out: Int(1, 3) = 2):
    r"""Convolution on a finite group.

    A kernel on the group, with values that are matrices from input to output channels, is moved over the signal by the
    group. Its matrix repeats the kernel's values where g⁻¹h is the same. On a cyclic group it is circular correlation,
    a product of Fourier transforms; on shifts and quarter turns of a grid it is the layer of a p4 network.

    $$(\kappa X)(g) = \sum_{h \in G} \kappa(g^{-1}h)\, X(h), \qquad W_{g,h} = \kappa(g^{-1}h)$$

    Assumes: the group is finite.

    Check: from the table against the fast Fourier transform, and against the layer on a torus; gradients against the
    transposed matrix.
    """
    rng = data.generator(key)
    cyclic = geometry.cyclic_group(order)
    kernel, signal = rng.normal(size=(order, out, into)), rng.normal(size=(order, into))
    found = geometry.group_convolution(cyclic, kernel, signal)
    spectrum = np.einsum("foi,fi->fo", np.fft.fft(kernel, axis=0).conj(), np.fft.fft(signal, axis=0))
    yield close(found, np.fft.ifft(spectrum, axis=0).real, "C_n: from the table, by Fourier transform", atol=1e-12)
    plane = geometry.plane_group("p4", side)
    layer = convolution.GroupConvolution(into, out, 3, wrap=True, dtype=jnp.float64, key=key)
    maps = jax.random.normal(jax.random.fold_in(key, 1), (into, 4, side, side), jnp.float64)
    at = (np.indices((3, 3)) - 1) % side  # where the taps of the kernel lie on the torus
    taps = np.zeros((side, side, 4, out, into))
    taps[at[0], at[1]] = np.transpose(layer.weight, (3, 4, 2, 0, 1))
    flat = np.transpose(maps, (2, 3, 1, 0)).reshape(-1, into)
    table = geometry.group_convolution(plane, taps.reshape(-1, out, into), flat).reshape(side, side, 4, out)
    layered = np.transpose(jax.jit(lambda y: layer(y))(maps), (2, 3, 1, 0))
    what = f"p4 layer on a {side}×{side} torus, from the table of {plane.order} elements"
    yield close(layered, table, what, atol=1e-12)
    d4 = geometry.dihedral_group(4)
    kernel, signal = rng.normal(size=(8, out, into)), rng.normal(size=(8, into))
    weight = rng.normal(size=(8, out))

    def score(kernel, signal):
        return jnp.sum(weight * geometry.group_convolution(d4, kernel, signal))

    by_kernel, by_signal = jax.jit(jax.grad(score, (0, 1)))(kernel, signal)
    matrix = np.asarray(geometry.group_convolution_matrix(d4, kernel))
    yield close(by_signal, (matrix.T @ weight.ravel()).reshape(8, into), "D₄: gradient by the signal, Wᵀv", atol=1e-12)
    step = 1e-5
    nudge = rng.normal(size=kernel.shape)
    slope = (score(kernel + step * nudge, signal) - score(kernel - step * nudge, signal)) / (2 * step)
    what = "D₄: slope along a kernel, by finite differences"
    yield close(np.sum(by_kernel * nudge), slope, what, rtol=1e-8, atol=1e-8)
    panels = []
    for name, group in (("Z₆", geometry.cyclic_group(6)), ("S₃", geometry.symmetric_group(3)), ("D₄", d4)):
        matrix = np.asarray(geometry.group_convolution_matrix(group, np.arange(group.order)[:, None, None]))
        panels.append(figure.heatmap(name, "h", "g", values=matrix, colour="g⁻¹h"))
    yield figure.beside("The matrix of a convolution has one number for each g⁻¹h", *panels, columns=3)


@claim(sources=("cam",), shows=("geometry.group_convolution", "geometry.equivariant_basis"))
def group_convolution_equivariance(key, order: Int(2, 12) = 6, into: Int(1, 3) = 2, out: Int(1, 3) = 2):
    r"""Convolutions are all that commutes with the group.

    Moving the signal by a group element and then convolving is the same as convolving and then moving. Conversely every
    linear map between signals on the group that commutes with all elements is a convolution: the maps that do have the
    dimension of the kernels.

    $$g(W_\kappa X) = W_\kappa(gX), \qquad \dim \{W : W\rho(g) = \rho(g)W\} = |G|\,c_1 c_2$$

    Assumes: the group is finite and acts on signals by (gX)(z) = X(g⁻¹z).

    Check: all elements on random integers, exactly; the dimension by a null space; a dense matrix, which does not
    commute.
    """
    rng = data.generator(key)
    groups = [
        geometry.cyclic_group(order),
        geometry.product_group(geometry.cyclic_group(order), geometry.cyclic_group(order)),
        geometry.dihedral_group(4),
        geometry.symmetric_group(3),
        geometry.symmetric_group(4),
    ]
    for group in groups:
        kernel, signal = rng.integers(-9, 9, (group.order, out, into)), rng.integers(-9, 9, (group.order, into))
        matrix = np.asarray(geometry.group_convolution_matrix(group, kernel))
        inverse = group.table[group.inverses]  # [g, z] = g⁻¹z
        convolved = (matrix @ signal.ravel()).reshape(group.order, out)
        moved = signal[inverse].reshape(group.order, -1) @ matrix.T  # W(gX) for every g
        apart = np.abs(moved.reshape(group.order, group.order, out) - convolved[inverse]).max()
        yield exactly(apart, 0, f"{group.name}: largest |W(gX) − g(WX)| over g, in integers")
    dims = {"Z_6": geometry.cyclic_group(6), "S_3": groups[3], "D_4": groups[2], "S_4": groups[4]}
    for name, group in dims.items():
        regular = geometry.regular_representation(group)
        basis = geometry.equivariant_basis(regular, regular)
        yield exactly(len(basis), group.order, f"{name}: dimension of the maps that commute, |G|")
        kernels = np.eye(group.order)[:, :, None, None]
        spanned = np.stack([np.asarray(geometry.group_convolution_matrix(group, k)) for k in kernels])
        apart = geometry.span_distance(basis, spanned)
        yield at_most(apart, 1e-10, f"{name}: distance of their span from convolutions")
    several = geometry.regular_representation(groups[3])
    ins, outs = (np.kron(several.generators, np.eye(c)) for c in (into, out))
    count = len(geometry.equivariant_basis(ins, outs))
    yield exactly(count, 6 * into * out, f"S_3 with {into} to {out} channels: dimension, |G| c₁ c₂")
    dense, d4 = rng.integers(-9, 9, (8, 8)), groups[2]
    signal = rng.integers(-9, 9, 8)
    inverse = d4.table[d4.inverses]
    spoilt = np.abs(signal[inverse] @ dense.T - (dense @ signal)[inverse]).max()
    yield at_least(spoilt, 1, "D₄, a dense matrix: largest |W(gX) − g(WX)|")
    kernel, signal = rng.integers(0, 4, (8, 1, 1)), rng.integers(0, 5, (8, 1))
    square = {"X": signal, "gX": geometry.translate(d4, 5, signal)}
    square |= {"κX": geometry.group_convolution(d4, kernel, signal)}
    square |= {"κ(gX)": geometry.group_convolution(d4, kernel, square["gX"])}
    square |= {"g(κX)": geometry.translate(d4, 5, square["κX"])}
    values = np.stack([np.asarray(row)[:, 0] for row in square.values()])
    title = "On D₄ both ways round the square give the same integers (g = rs)"
    yield figure.heatmap(title, "element of D₄", "signal", values=values, xs=d4.names, ys=list(square), text=True)
