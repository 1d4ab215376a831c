"""What an audit found, in numbers and in plain sentences: what was tried, the lower bound, the
claim, and what cannot be concluded. Draws nothing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.audit.claims import Claim, GaussianClaim
from discreet.audit.evidence.events import Direction
from discreet.audit.pairs import Pair
from discreet.errors import counted
from discreet.loss import Approximate, Currency
from discreet.rationals import exp_bounds, floor_float, log_bounds

__all__ = ["Evidence", "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One event for one pair of inputs: how often it was counted and what that proves.

    >>> from discreet.audit.blackbox import audit
    >>> from discreet.loss import Pure
    >>> audit(lambda exact: exact, Pure(epsilon=1), samples=400).evidence[0].rare
    0
    """

    pair: Pair
    direction: Direction
    event: str
    statement: Approximate
    """The (epsilon, delta) statement that the event was chosen to test."""
    likely: int
    rare: int
    trials: int
    likely_at_least: Fraction
    """Lower confidence bound for the input that makes the event likely."""
    rare_at_most: Fraction
    """Upper confidence bound for the other input."""

    @property
    def epsilon(self) -> float:
        """The lower bound on epsilon at the statement's delta, rounded down; at least 0.

        P(S) <= e^epsilon Q(S) + delta [DKMMN06, Def. 1], solved for epsilon.
        >>> from discreet.audit.blackbox import audit
        >>> from discreet.loss import Pure
        >>> audit(lambda exact: 7, Pure(epsilon=1), samples=400).evidence[0].epsilon
        0.0
        """
        above = self.likely_at_least - self.statement.delta
        if above <= self.rare_at_most:
            return 0.0
        return floor_float(log_bounds(above / self.rare_at_most)[0])

    @property
    def violated(self) -> bool:
        """Whether it contradicts the statement, with all roundings in the statement's favour.

        P(S) <= e^epsilon Q(S) + delta fails [DKMMN06, Def. 1].
        """
        allowed = exp_bounds(self.statement.epsilon)[1] * self.rare_at_most + self.statement.delta
        return self.likely_at_least > allowed

    def __str__(self) -> str:
        """One sentence."""
        likely, rare = (self.pair.left, self.pair.right)
        if self.direction is Direction.RIGHT:
            likely, rare = rare, likely
        return (
            f"Inputs {self.pair.name}: {self.event} ({self.likely} of {self.trials} times for "
            f"{_short(likely)}, {self.rare} of {self.trials} for {_short(rare)}), so epsilon is "
            f"at least {_down(self.epsilon)} at delta {_up(self.statement.delta)}, where "
            f"{_up(self.statement.epsilon)} is claimed."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of an audit. `violated` is wrong with probability at most `false_alarm`.

    >>> from discreet.audit.blackbox import audit
    >>> from discreet.loss import Pure
    >>> audit(lambda exact: 7, Pure(epsilon=1), samples=400).violated
    False
    """

    claim: Claim
    evidence: tuple[Evidence, ...]
    """What was counted on fresh outputs, the strongest first."""
    false_alarm: Fraction
    pairs_tried: int
    events_tried: int
    outputs_drawn: int

    @property
    def strongest(self) -> Evidence:
        """The evidence that exceeds its statement by most, or comes closest to it."""
        return self.evidence[0]

    @property
    def epsilon(self) -> float:
        """The proven lower bound on epsilon, at the delta of the strongest evidence.

        Holds with probability 1 - `false_alarm` over the audit's draws.
        """
        return self.strongest.epsilon

    @property
    def violated(self) -> bool:
        """Whether the claim was contradicted."""
        return any(one.violated for one in self.evidence)

    def __str__(self) -> str:
        """Plain sentences: the verdict, the strongest evidence, what was tried, what is open."""
        if self.violated:
            first = f"The claim of {_describe(self.claim)} is false."
            end = (
                f"A correct mechanism is called false with probability at most "
                f"{_up(self.false_alarm)}, if its outputs are independent and the inputs are "
                "neighbours."
            )
        else:
            first = f"Nothing was found against the claim of {_describe(self.claim)}."
            end = (
                "This is no proof: other inputs, rarer events, and what outputs do not show "
                "(time taken, errors, state kept between calls) were not tried. The lower bound "
                f"is wrong with probability at most {_up(self.false_alarm)}."
            )
        return "\n".join(
            [
                first,
                str(self.strongest),
                f"Tried: {counted(self.pairs_tried, 'pair')} of inputs, "
                f"{self.outputs_drawn} outputs, {self.events_tried} events; {len(self.evidence)} "
                "of them were counted on fresh outputs, and the bounds allow for all of these.",
                end,
            ]
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:28]} ... {text[-8:]}"


def _down(value: float) -> str:
    return f"{math.floor(value * 10**4) / 10**4:g}"


def _up(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _describe(claim: Claim) -> str:
    if isinstance(claim, GaussianClaim):
        return f"Gaussian noise of sigma {_up(claim.sigma)} at distance {_up(claim.sensitivity)}"
    if claim.currency is Currency.RHO:
        return f"zCDP with rho {_up(claim.rho)}, delta {_up(claim.delta)}"
    statement = claim.approximate()
    return f"epsilon {_up(statement.epsilon)}, delta {_up(statement.delta)}"
