"""Finite mechanisms with rational probabilities, and what can be done with two of their laws: the
oracle for every sentence about a guarantee.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from discreet.loss import Relation

Law = tuple[Fraction, ...]
Pair = tuple[Law, Law]


def law(weights) -> Law:
    total = sum(weights)
    return tuple(Fraction(weight, total) for weight in weights)


def excess(left: Law, right: Law, ratio: Fraction) -> Fraction:
    """max over events S of left(S) - ratio right(S): the least delta one way."""
    return sum((max(Fraction(0), a - ratio * b) for a, b in zip(left, right, strict=True)))


def delta_of(pairs, ratio: Fraction) -> Fraction:
    return max(excess(*pair, ratio) for a, b in pairs for pair in ((a, b), (b, a)))


def worst_ratio(pairs) -> Fraction:
    """The largest ratio of two probabilities; every one must be positive."""
    return max(
        ratio
        for left, right in pairs
        for a, b in zip(left, right, strict=True)
        for ratio in (a / b, b / a)
    )


def events(size: int) -> Iterator[tuple[int, ...]]:
    for count in range(size + 1):
        yield from combinations(range(size), count)


def mass(one: Law, event) -> Fraction:
    return sum((one[place] for place in event), Fraction(0))


def mixed(laws, weights) -> Law:
    """One law drawn at random, by weights that add up to 1."""
    return tuple(
        sum((weight * one[place] for one, weight in zip(laws, weights, strict=True)), Fraction(0))
        for place in range(len(laws[0]))
    )


def best_power(alternative: Law, null: Law, alpha: Fraction) -> Fraction:
    """Of all randomized tests with this rate of false alarms, by the lemma of Neyman, Pearson."""
    power, left = Fraction(0), alpha
    ranked = sorted(
        zip(alternative, null, strict=True), key=lambda one: (one[1] == 0, one[0] / (one[1] or 1))
    )
    for gain, price in reversed(ranked):
        share = Fraction(1) if price <= left else left / price
        power, left = power + share * gain, left - share * price
    return power


def best_guess(left: Law, right: Law) -> Fraction:
    """How often the best rule names the right one of two laws that are equally likely."""
    return sum((max(a, b) for a, b in zip(left, right, strict=True)), Fraction(0)) / 2


def beyond(left: Law, right: Law, factor: Fraction) -> tuple[int, ...]:
    """The outcomes that change odds between the two by more than a factor."""
    return tuple(
        place
        for place, (a, b) in enumerate(zip(left, right, strict=True))
        if a > factor * b or b > factor * a
    )


@dataclass(frozen=True)
class World:
    """A mechanism on small data sets: each person is absent (None) or has a value."""

    relation: Relation
    people: int
    values: tuple
    answer: Callable[[tuple], Law]

    @property
    def states(self) -> tuple:
        return self.values if self.relation is Relation.REPLACE else (None, *self.values)

    @property
    def data_sets(self) -> list[tuple]:
        return list(product(self.states, repeat=self.people))

    def changed(self, data: tuple, who, state) -> tuple:
        return tuple(state if place in who else held for place, held in enumerate(data))

    def neighbours(self) -> Iterator[Pair]:
        for data in self.data_sets:
            for person in range(self.people):
                for state in self.values:
                    away = data[person] is None
                    if (away or self.relation is Relation.REPLACE) and state != data[person]:
                        yield self.answer(data), self.answer(self.changed(data, (person,), state))

    def cases(self, size: int) -> Iterator[Pair]:
        """Some people's data there or not (or other people's), everybody else's fixed."""
        for who in combinations(range(self.people), size):
            for data in self.data_sets:
                if self.relation is Relation.REPLACE:
                    for other in self.data_sets:
                        moved = [p for p in range(self.people) if data[p] != other[p]]
                        if set(moved) <= set(who) and moved:
                            yield self.answer(data), self.answer(other)
                elif all(data[person] is not None for person in who):
                    yield self.answer(data), self.answer(self.changed(data, who, None))

    def shared(self, size: int) -> Iterator[Pair]:
        """Some people all have one value, or all another, everybody else's fixed."""
        for who in combinations(range(self.people), size):
            for data in self.data_sets:
                if data[who[0]] != self.values[0]:
                    continue
                for one, two in combinations(self.values, 2):
                    yield (
                        self.answer(self.changed(data, who, one)),
                        self.answer(self.changed(data, who, two)),
                    )

    def without(self, data: tuple, person: int) -> tuple:
        gone = None if self.relation is Relation.ADD_REMOVE else self.values[0]
        return self.changed(data, (person,), gone)

    def conclusions(self, prior: Mapping[tuple, Fraction], person: int, made: Callable) -> list:
        """For every outcome, what is believed of every data set after `made` of the data."""
        found = []
        for outcome in range(len(self.answer(self.data_sets[0]))):
            joint = {data: prior[data] * self.answer(made(data, person))[outcome] for data in prior}
            total = sum(joint.values(), Fraction(0))
            found.append(None if not total else {d: p / total for d, p in joint.items()})
        return found
