"""For test suites: fail a test when a mechanism is not as private as it says."""

from collections.abc import Callable, Iterable
from typing import Any

from discreet.audit.blackbox import audit
from discreet.audit.pairs import Pair
from discreet.audit.verdict import Verdict
from discreet.loss import Approximate
from discreet.rationals import Number

__all__ = ["assert_private"]


def assert_private(
    mechanism: Callable[..., Any],
    *,
    epsilon: Number,
    delta: Number = 0,
    pairs: Iterable[Pair | tuple[Any, Any]] | None = None,
    samples: int = 20_000,
    false_alarm: Number = 1e-6,
) -> Verdict:
    """Fail, with the verdict as the message, when an audit contradicts (epsilon, delta)-DP.

    The inputs are numbers one apart unless `pairs` says otherwise.
    Privacy: passing is no proof; a correct mechanism fails with probability at most `false_alarm`.
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> right = DiscreteLaplace(scale=1).release
    >>> assert_private(right, epsilon=1, samples=1000, false_alarm=1e-9).violated
    False
    >>> assert_private(lambda exact: exact, epsilon=1, samples=1000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: The claim of epsilon 1, delta 0 is false...
    """
    verdict = audit(
        mechanism,
        Approximate(epsilon=epsilon, delta=delta),
        pairs=pairs,
        samples=samples,
        false_alarm=false_alarm,
    )
    if verdict.violated:
        raise AssertionError(str(verdict))
    return verdict
