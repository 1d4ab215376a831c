"""What a budget means, in words and numbers: how far outcomes, beliefs, tests and harm can move
because of one person's data. The one place that words a guarantee; every other page takes its
sentences from here. All numbers are upper bounds, rounded up. Decides nothing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.loss import Approximate, Relation, group
from discreet.rationals import (
    Number,
    ceil_decimal,
    ceil_float,
    exp_bounds,
    nonnegative,
    probability,
)

__all__ = ["Meaning", "Statement", "explain", "report_text"]

_PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_FALSE_ALARMS = Fraction(1, 20)
_GROUPS = (2, 5, 10)
_LARGEST = 700  # e^epsilon beyond this is no float; every bound is void there
_SLACK = Fraction(10, 9)
"""With a delta the loss exceeds epsilon + ln(10/9) with probability at most 10 delta, one way."""

_BITS = (
    "All this is for noise from perfectly random bits. They are the stream of a cipher (AES-256) "
    "under a key of the operating system, so it holds against everybody who cannot break it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What all releases can teach about which of two cases holds, everybody else's data fixed.

    `steps` is how many neighbouring steps apart the cases are; the loss is for all of them.
    >>> explain(epsilon=1).membership.odds_factor
    2.7182818284590455
    """

    steps: int
    epsilon: Fraction
    delta: Fraction

    def _odds(self) -> Fraction | None:
        if not self.epsilon:
            return Fraction(1)
        return None if self.epsilon > _LARGEST else exp_bounds(self.epsilon)[1]

    def _limit(self) -> Fraction | None:
        odds = self._odds()
        return odds * _SLACK if odds is not None and self.delta else odds

    @property
    def odds_factor(self) -> float:
        """The most by which the odds of a belief change, but for `exception`.

        e^epsilon without a delta [DMNS06, Prop. A-5], 10/9 of that with one
        (docs/proofs/meaning.md).
        >>> explain(epsilon=1, delta=1e-6).membership.odds_factor
        3.020313142732273
        """
        limit = self._limit()
        return math.inf if limit is None else ceil_float(limit)

    @property
    def exception(self) -> float:
        """The most probable that a change of the odds beyond `odds_factor` can be; 0 without delta.

        10 delta one way, 10 delta/odds_factor the other (docs/proofs/meaning.md).
        >>> explain(epsilon=1, delta=1e-6).membership.exception
        1.3310914970542982e-05
        """
        return ceil_float(self._exception())

    def _exception(self) -> Fraction:
        limit = self._limit()
        if not self.delta or limit is None:
            return Fraction(0)  # without a finite factor nothing is claimed, so nothing excepted
        least = (exp_bounds(self.epsilon)[0] if self.epsilon else 1) * _SLACK
        return min(Fraction(1), self.delta / (1 - 1 / _SLACK) * (1 + 1 / least))

    def posterior(self, prior: Number) -> float:
        """The highest belief after all releases, of one that was `prior`, but for `exception`.

        Bayes' rule at `odds_factor` [DMNS06, Prop. A-5].
        >>> explain(epsilon=1).membership.posterior(0.5)
        0.7310585786300049
        """
        return ceil_float(self._posterior(probability(prior, "prior")))

    def _posterior(self, prior: Fraction) -> Fraction:
        limit = self._limit()
        if limit is None:
            return Fraction(1 if prior else 0)
        return prior * limit / (1 - prior + prior * limit)

    @property
    def posteriors(self) -> tuple[tuple[float, float], ...]:
        """Pairs of a belief before and the highest belief after.

        >>> explain(epsilon=1).membership.posteriors[2]
        (0.5, 0.7310585786300049)
        """
        return tuple((float(prior), self.posterior(prior)) for prior in _PRIORS)

    def power_at(self, false_alarms: Number) -> float:
        """The highest power of any test between the cases with this rate of false alarms.

        At most min(e^epsilon alpha + delta, 1 - (1 - delta - alpha)/e^epsilon) [KOV15, Thm. 2.1];
        without a delta the first is [DMNS06, Sec. 2.2].
        """
        return ceil_float(self._power(probability(false_alarms, "false_alarms")))

    def _power(self, alpha: Fraction) -> Fraction:
        odds = self._odds()
        if odds is None or self.delta + alpha >= 1:
            return Fraction(1)
        return min(odds * alpha + self.delta, 1 - (1 - self.delta - alpha) / odds, Fraction(1))

    @property
    def power(self) -> float:
        """The highest power of any test with 5% false alarms.

        >>> round(explain(epsilon=1).membership.power, 4)
        0.1359
        """
        return self.power_at(_FALSE_ALARMS)

    @property
    def guess(self) -> float:
        """The most probable that a right guess can be, of cases that are equally likely before.

        (e^epsilon + delta)/(1 + e^epsilon), the corner of the region of tests [KOV15, Thm. 2.1].
        >>> explain(epsilon=1).membership.guess
        0.7310585786300049
        """
        return ceil_float(self._guess())

    def _guess(self) -> Fraction:
        odds = self._odds()
        return Fraction(1) if odds is None else (odds + self.delta) / (1 + odds)

    def _change(self) -> str:
        but = f", except with probability {_short(self._exception())}" if self.delta else ""
        return _number(self._limit()) + but

    def sentences(self, topic: str) -> tuple[str, ...]:
        """The numbers in plain sentences about a topic.

        >>> explain(epsilon=0).membership.sentences("It")[2]
        '  A guess, where both cases are equally likely beforehand, is right with probability at \
most 50%.'
        """
        beliefs = "; ".join(
            f"{_percent(prior)} becomes at most {_percent(self._posterior(prior))}"
            for prior in _PRIORS
        )
        return (
            f"{topic}: with everybody else's data fixed, the odds of a belief change by a factor "
            f"of at most {self._change()} ({beliefs}).",
            f"  A test with {_percent(_FALSE_ALARMS)} false alarms detects it with probability at "
            f"most {_percent(self._power(_FALSE_ALARMS))}.",
            "  A guess, where both cases are equally likely beforehand, is right with probability "
            f"at most {_percent(self._guess())}.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """An (epsilon, delta) budget under a neighbouring relation, explained.

    >>> print(explain(epsilon=0.1))  # doctest: +ELLIPSIS
    The budget: epsilon 0.1, delta 0, for adding or removing one person's data.
    ...
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation

    def group(self, steps: int) -> Statement:
        """What is taught about cases so many steps apart: people whose data go together.

        (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)) [DR14, Thm. 2.2], [DR14, Sec. 2.3].
        >>> explain(epsilon=0.5).group(10).epsilon
        Fraction(5, 1)
        """
        many = group(Approximate(epsilon=self.epsilon, delta=self.delta), steps)
        assert isinstance(many, Approximate)
        return Statement(steps=steps, epsilon=many.epsilon, delta=many.delta)

    @property
    def membership(self) -> Statement:
        """Whether a person's data are there; under replace, or somebody else's in their place."""
        return self.group(1)

    @property
    def value(self) -> Statement:
        """Which of two values a person has: under add/remove one is removed and another added.

        >>> [explain(epsilon=1, relation=relation).value.steps for relation in Relation]
        [2, 1]
        """
        return self.shared(1)

    def shared(self, people: int) -> Statement:
        """Which of two values so many people have in common.

        >>> explain(epsilon=0.1).shared(10).steps
        20
        """
        return self.group(people if self.relation is Relation.REPLACE else 2 * people)

    @property
    def groups(self) -> tuple[Statement, ...]:
        """The statements about 2, 5 and 10 people whose data come and go together.

        >>> [statement.steps for statement in explain(epsilon=1).groups]
        [2, 5, 10]
        """
        return tuple(self.group(size) for size in _GROUPS)

    @property
    def harm_factor(self) -> float:
        """The most by which the expected harm to a person grows by taking part, but for `harm`.

        >>> explain(epsilon=1).harm_factor
        2.7182818284590455
        """
        odds = self.membership._odds()
        return math.inf if odds is None else ceil_float(odds)

    def harm(self, *, without: Number, largest: Number) -> float:
        """The most harm expected by taking part, of that expected without and the largest there is.

        e^epsilon without + delta largest, and never above the largest: without a delta [DR14, Sec.
        2.3.1], with one by docs/proofs/meaning.md.
        >>> round(explain(epsilon=0, delta=0.1).harm(without=1, largest=20), 9)
        3.0
        """
        least, most = nonnegative(without, "without"), nonnegative(largest, "largest")
        if least > most:
            raise InvalidValue(f"without is {without}, above the largest harm of {largest}.")
        odds = self.membership._odds()
        return ceil_float(most if odds is None else min(most, odds * least + self.delta * most))

    def sentences(self) -> tuple[str, ...]:
        """Everything that is claimed, one claim each.

        >>> len(explain(epsilon=1).sentences())
        15
        """
        replaced = self.relation is Relation.REPLACE
        other = "with others in their place" if replaced else "without"
        odds, plus = self.membership._odds(), f", plus {_short(self.delta)}" if self.delta else ""
        return (
            self._budget(),
            "With a person's data, the probability of any outcome of all releases together is at "
            f"most {_number(odds)} times that {other}{plus}; and the other way round.",
            "Somebody who has everybody else's data and nothing of that person's could make up "
            "releases as near as that to the real ones.",
            *self.membership.sentences(
                "Whether the data are a person's or somebody else's in their place"
                if replaced
                else "Whether a person is in the data"
            ),
            *self.value.sentences(
                "A person's value"
                if replaced
                else "A person's value (two such steps, so twice the epsilon)"
            ),
            *self._conclusions(),
            f"Taking part multiplies the expected harm to a person by at most {_number(odds)}"
            + (
                f" and adds at most {_short(self.delta)} of the largest harm."
                if self.delta
                else "."
            ),
            *(self._together(size) for size in _GROUPS),
            _BITS,
        )

    def _budget(self) -> str:
        how = "replacing" if self.relation is Relation.REPLACE else "adding or removing"
        return (
            f"The budget: epsilon {_short(self.epsilon)}, delta {_short(self.delta)}, for {how} "
            "one person's data."
        )

    def _conclusions(self) -> tuple[str, ...]:
        if self.delta:  # [Tut16, Prop. 6] is for a delta of 0
            return ()
        return (
            "Whatever somebody believes beforehand, also about relatives: a conclusion from the "
            f"releases is at most {_number(self.group(2)._odds())} times as likely as after "
            "releases made without that person, and the other way round.",
        )

    def _together(self, size: int) -> str:
        """What is claimed about people whose data are related, such as a family."""
        them, both = self.group(size), self.shared(size)
        what = "the data are theirs" if self.relation is Relation.REPLACE else "all are in the data"
        return (
            f"{size} people whose data go together (relatives) have epsilon "
            f"{_short(them.epsilon)}, delta {_short(them.delta)}: with everybody else's data "
            f"fixed, the odds of whether {what} change by a factor of at most {them._change()}; "
            f"those of a value that they share by at most {both._change()}."
        )

    def __str__(self) -> str:
        """Plain sentences, one fact a line."""
        return "\n".join(self.sentences())


def explain(
    *, epsilon: Number, delta: Number = 0, relation: Relation = Relation.ADD_REMOVE
) -> Meaning:
    """What a budget means: outcomes, beliefs, tests, guesses, harm and groups.

    Privacy: P(S) <= e^epsilon P'(S) + delta for neighbours and all events S [DR14, Def. 2.4]; so
    releases can be simulated without the person [DMNS06, Lemma A-3], and the odds of a belief about
    one person move by e^epsilon when everybody else's data are fixed [DMNS06, Prop. A-5]. Two
    values of one entry are two add/remove steps [DMNS06, Rem. 2.1]. Without that condition
    conclusions are compared with those drawn without the person [Tut16, Prop. 6]. A delta is not
    the probability that the loss exceeds epsilon; docs/proofs/meaning.md has what it gives.
    >>> explain(epsilon=1).membership.posteriors[2]
    (0.5, 0.7310585786300049)
    >>> explain(epsilon=1).value.posteriors[2]
    (0.5, 0.8807970779778825)
    """
    budget = Approximate(epsilon=epsilon, delta=delta)
    return Meaning(epsilon=budget.epsilon, delta=budget.delta, relation=Relation(relation))


def report_text(*, epsilon: Number, reports: str = "any report is") -> str:
    """What a randomized report, or all of a person's, mean to the person who sends them.

    >>> report_text(epsilon=1.5)
    'whatever you answer, any report is at most 4.482 times as likely as with other answers'
    """
    one = Statement(steps=1, epsilon=nonnegative(epsilon, "epsilon"), delta=Fraction(0))
    return (
        f"whatever you answer, {reports} at most {_number(one._odds())} times as likely as with "
        "other answers"
    )


def _short(value: Fraction) -> str:
    return f"{float(ceil_decimal(value, 6)):.6g}"


def _number(value: Fraction | None) -> str:
    if value is None:
        return "inf"
    shown = ceil_decimal(value, 4)
    return f"{int(shown):,}" if 1000 <= shown < 10**12 else f"{float(shown):.4g}"


def _percent(value: Fraction) -> str:
    return f"{math.ceil(value * 10**4) / 100:g}%"
