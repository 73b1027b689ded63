"""Whether a set of transformations is a group on given images: closure, identity, inverses, associativity."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from .image_transformations import Images, Transformation


class GroupVerdict(NamedTuple):
    """Defects of the axioms relative to the norm of the images, 0 where they hold exactly.

    `closure`: the product of two that is farthest from every member. `identity`: distance of the nearest member to
    doing nothing. `inverse`: the member that none undoes best. `associativity`: the share of triples for which the
    table of products is not associative, among triples whose products are members within the tolerance (maps always
    are; their rounded table need not be). `table[i, j]` is the member nearest to i after j.
    """

    closure: float
    identity: float
    inverse: float
    associativity: float
    table: Int[np.ndarray, "m m"]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether every axiom holds within the tolerance."""
        return max(self.closure, self.identity, self.inverse) <= self.tolerance and self.associativity == 0

    @property
    def failed(self) -> tuple[str, ...]:
        """The axioms that do not hold within the tolerance."""
        sizes = {"closure": self.closure, "identity": self.identity, "inverse": self.inverse}
        failed = [name for name, size in sizes.items() if size > self.tolerance]
        return tuple(failed + ["associativity"] * (self.associativity > 0))


def group_test(transformations: Sequence[Transformation], images: Images, *, tolerance: float = 1e-9) -> GroupVerdict:
    """Test the axioms of a group for a set of transformations on sample images, as relative distances.

    The images must be general enough to tell the members apart; all of them are used together.

    >>> from leadline.convolution import quarter_turns
    >>> x = np.random.default_rng(0).normal(size=(3, 6, 6))
    >>> group_test(quarter_turns(), x).holds, group_test(quarter_turns()[1:], x).failed
    (True, ('closure', 'identity'))
    """
    if not transformations:
        raise ValueError("group_test got no transformations; give one or more.")
    images = np.asarray(images, float)
    norm = float(np.linalg.norm(images))
    if not norm:
        raise ValueError("All images are zero; give images that transformations change.")
    moved = [np.asarray(t(images)) for t in transformations]
    if any(m.shape != images.shape for m in moved):
        raise ValueError(
            "A transformation changes the shape of the images; a group maps images to images of one shape."
        )
    members = np.stack([m.ravel() for m in moved])  # (m, pixels)
    products = np.stack([[np.asarray(t(m)).ravel() for m in moved] for t in transformations])  # (m, m, pixels)
    apart = np.stack([np.linalg.norm(products - member, axis=2) for member in members], axis=2) / norm
    table = apart.argmin(2)
    undone = np.linalg.norm(products - images.ravel(), axis=2) / norm
    both = np.maximum(undone, undone.T)  # a two-sided inverse: g h = h g = e
    member = apart.min(2) <= tolerance
    known = member[:, :, None] & member[None]  # triples i, j, k with ij and jk in the set
    known &= member[table] & member[:, table]
    wrong = np.sum((table[table] != table[:, table]) & known) / max(np.sum(known), 1)  # (ij)k against i(jk)
    return GroupVerdict(
        float(apart.min(2).max()),
        float(np.linalg.norm(members - images.ravel(), axis=1).min() / norm),
        float(both.min(1).max()),
        float(wrong),
        table,
        tolerance,
    )
