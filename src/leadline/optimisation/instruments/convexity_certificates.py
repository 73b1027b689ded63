"""A certificate of convexity that is refused with counterexample points."""

from collections.abc import Sequence

from jaxtyping import PRNGKeyArray

from .convexity_tests import Bound, ConvexitySearch, Function, Test, refute_convexity


class NotConvex(ValueError):
    """A function that was to be convex is not; `search.witness` holds the counterexample points."""

    def __init__(self, message: str, *, search: ConvexitySearch):
        super().__init__(message)
        self.search = search


def certify_convex(
    function: Function,
    low: Bound,
    high: Bound,
    *,
    key: PRNGKeyArray,
    dimension: int = 1,
    tests: Sequence[Test] = ("chord", "bregman"),
    pairs: int = 1000,
) -> tuple[ConvexitySearch, ...]:
    """The searches of several tests if none finds a violation; else NotConvex, with the counterexample points.

    >>> import jax
    >>> try:
    ...     certify_convex(lambda w: -w @ w, -1.0, 1.0, key=jax.random.key(0), tests=("hessian",))
    ... except NotConvex as error:
    ...     print(str(error).split(",")[0])
    The function is not convex: the curvature at w along w′ − w is −2
    """
    searches = []
    for test in tests:
        found = refute_convexity(function, low, high, key=key, dimension=dimension, test=test, pairs=pairs)
        if found.refuted:
            raise NotConvex(
                f"The function is not convex: {found.witness}; no bound for convex functions applies.", search=found
            )
        searches.append(found)
    return tuple(searches)
