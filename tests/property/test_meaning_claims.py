"""Every sentence about a guarantee, read as printed and evaluated by brute force: over all events,
tests, guesses, priors and families of related people of finite mechanisms whose (epsilon, delta)
is known exactly. A sentence that no evaluator knows is a failure.
"""

import math
import re
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import explain, gaussian_sigma
from discreet.accounting.meaning import report_text
from discreet.loss import Relation
from discreet.rationals import log_bounds
from support.finite import (
    World,
    best_guess,
    best_power,
    beyond,
    delta_of,
    events,
    excess,
    law,
    mass,
    mixed,
    worst_ratio,
)

NUMBER = r"([\d.,]+\d(?:e[+-]?\d+)?|\d)"
PERCENT = r"([\d.]+)%"
CHANGE = rf"{NUMBER}(?:, except with probability {NUMBER})?"
BELIEFS = r"\(((?:[\d.]+% becomes at most [\d.]+%(?:; )?)+)\)"
FIXED = "with everybody else's data fixed, the odds of"
PRIORS = [Fraction(0), Fraction(1, 1000), *(Fraction(each, 8) for each in range(1, 9))]


def read(text: str | None) -> Fraction:
    return Fraction((text or "0").replace(",", ""))


# ------------------------------------------------------------------ what each sentence claims


def says_budget(_world, meaning, epsilon, delta):
    assert read(epsilon) >= meaning.epsilon
    assert read(delta) >= meaning.delta


def says_outcomes(world, _meaning, factor, plus):
    for left, right in world.neighbours():
        for event in events(len(left)):
            a, b = mass(left, event), mass(right, event)
            assert a <= read(factor) * b + read(plus)
            assert b <= read(factor) * a + read(plus)


def says_simulated(world, meaning):
    """The simulator runs the mechanism without the person: the claim is that of the outcomes."""
    ratio = Fraction(meaning.harm_factor)
    for data in world.data_sets:
        for person in range(world.people):
            made_up = world.answer(world.without(data, person))
            for pair in ((world.answer(data), made_up), (made_up, world.answer(data))):
                assert excess(*pair, ratio) <= meaning.delta


def check_change(pairs, factor, exception, beliefs=()):
    limit, most = read(factor), read(exception)
    for left, right in pairs:
        bad = beyond(left, right, limit)
        assert mass(left, bad) <= most
        assert mass(right, bad) <= most
        for place in set(range(len(left))) - set(bad):
            for one, other in ((left[place], right[place]), (right[place], left[place])):
                for before, after in beliefs:
                    told = before * one + (1 - before) * other
                    assert not told or before * one / told <= after


def family_of(world, topic):
    return list(world.cases(1) if topic.startswith("Whether") else world.shared(1))


def says_beliefs(world, meaning, topic, factor, exception, beliefs):
    read_beliefs = [
        (Fraction(a) / 100, Fraction(b) / 100)
        for a, b in re.findall(rf"{PERCENT} becomes at most {PERCENT}", beliefs)
    ]
    statement = meaning.membership if topic.startswith("Whether") else meaning.value
    methods = [(prior, Fraction(statement.posterior(prior))) for prior in PRIORS]
    family = family_of(world, topic)
    check_change(family, factor, exception, read_beliefs + methods)
    for other in {right for _, right in family}:  # a belief may be about more than two cases
        laws = [left for left, right in family if right == other]
        weights = [Fraction(place + 1) for place in range(len(laws))]
        spread = [weight / sum(weights) for weight in weights]
        check_change([(mixed(laws, spread), other)], factor, exception, read_beliefs)


def says_power(world, meaning, topic, alarms, power):
    statement = meaning.membership if topic.startswith("Whether") else meaning.value
    levels = [(Fraction(alarms) / 100, Fraction(power) / 100)]
    levels += [(each, Fraction(statement.power_at(each))) for each in PRIORS]
    for left, right in family_of(world, topic):
        for alpha, most in levels:
            assert best_power(left, right, alpha) <= most
            assert best_power(right, left, alpha) <= most


def says_guess(world, _meaning, topic, most):
    for left, right in family_of(world, topic):
        assert best_guess(left, right) <= Fraction(most) / 100


def says_conclusions(world, _meaning, factor):
    """Priors over whole data sets, among them such that make relatives all alike."""
    sets, limit = world.data_sets, read(factor)
    alike = [data for data in sets if len(set(data)) == 1]
    shapes = [
        dict.fromkeys(sets, Fraction(1, len(sets))),
        dict.fromkeys(alike, Fraction(1, len(alike))),
        {data: Fraction(3 * place + 1) for place, data in enumerate(sets)},
    ]
    for prior in shapes:
        for person in range(world.people):
            real = world.conclusions(prior, person, lambda data, _: data)
            other = world.conclusions(prior, person, world.without)
            for one, two in zip(real, other, strict=True):
                assert (one is None) == (two is None)
                for data in one or ():
                    assert one[data] <= limit * two[data]
                    assert two[data] <= limit * one[data]


def says_harm(world, meaning, factor, extra):
    largest = Fraction(7)
    for left, right in world.neighbours():
        for event in events(len(left)):  # the extreme harms; all others are averages of them
            for one, other in ((left, right), (right, left)):
                expected = largest * mass(other, event)
                assert largest * mass(one, event) <= read(factor) * expected + read(extra) * largest
                limit = Fraction(meaning.harm(without=expected, largest=largest))
                assert largest * mass(one, event) <= limit


def says_together(world, meaning, size, epsilon, delta, factor, exception, shared, other):
    size = int(size)
    assert read(epsilon) >= meaning.group(size).epsilon
    assert read(delta) >= meaning.group(size).delta
    if size <= world.people:
        check_change(world.cases(size), factor, exception)
        check_change(world.shared(size), shared, other)


def says_bits(_world, _meaning):
    """An assumption, not a number."""


TOPIC = r"(Whether [^:]+|A person's value[^:]*)"
CLAIMS = (
    (
        rf"The budget: epsilon {NUMBER}, delta {NUMBER}, for [a-z ]+ one person's data\.",
        says_budget,
    ),
    (
        "With a person's data, the probability of any outcome of all releases together is at most "
        rf"{NUMBER} times that (?:without|with others in their place)(?:, plus {NUMBER})?; and the "
        r"other way round\.",
        says_outcomes,
    ),
    (
        "Somebody who has everybody else's data and nothing of that person's could make up "
        r"releases as near as that to the real ones\.",
        says_simulated,
    ),
    (
        rf"{TOPIC}: {FIXED} a belief change by a factor of at most {CHANGE} {BELIEFS}\.",
        says_beliefs,
    ),
    (
        rf"{TOPIC}:  A test with {PERCENT} false alarms detects it with probability at most "
        rf"{PERCENT}\.",
        says_power,
    ),
    (
        rf"{TOPIC}:  A guess, where both cases are equally likely beforehand, is right with "
        rf"probability at most {PERCENT}\.",
        says_guess,
    ),
    (
        "Whatever somebody believes beforehand, also about relatives: a conclusion from the "
        rf"releases is at most {NUMBER} times as likely as after releases made without that "
        r"person, and the other way round\.",
        says_conclusions,
    ),
    (
        rf"Taking part multiplies the expected harm to a person by at most {NUMBER}"
        rf"(?: and adds at most {NUMBER} of the largest harm)?\.",
        says_harm,
    ),
    (
        rf"(\d+) people whose data go together \(relatives\) have epsilon {NUMBER}, delta "
        rf"{NUMBER}: {FIXED} whether (?:all are in the data|the data are theirs) change by a "
        rf"factor of at most {CHANGE}; those of a value that they share by at most {CHANGE}\.",
        says_together,
    ),
    (
        r"All this is for noise from perfectly random bits\. They are the stream of a cipher "
        r"\(AES-256\) under a key of the operating system, so it holds against everybody who "
        r"cannot break it\.",
        says_bits,
    ),
)


def check_claims(world: World, ratio: Fraction) -> None:
    """Read and evaluate every sentence on the budget that the world attains at this ratio."""
    delta = delta_of(world.neighbours(), ratio)
    meaning = explain(epsilon=log_bounds(ratio)[1], delta=delta, relation=world.relation)
    topic, used = "", set()
    for sentence in meaning.sentences():
        topic = sentence.split(":")[0] if not sentence.startswith(" ") else topic
        text = f"{topic}:{sentence}" if sentence.startswith(" ") else sentence
        fitting = [(re.fullmatch(form, text), check) for form, check in CLAIMS]
        known = [(found, check) for found, check in fitting if found]
        assert len(known) == 1, f"nobody evaluates: {sentence}"
        found, check = known[0]
        check(world, meaning, *found.groups())
        used.add(check)
    unused = {check for _, check in CLAIMS} - used
    assert unused == (set() if not delta else {says_conclusions})


# ------------------------------------------------------------------ mechanisms


@st.composite
def worlds(draw, least):
    """Two people, each with two or three values; any stochastic matrix at all."""
    relation = draw(st.sampled_from(list(Relation)))
    values = tuple(range(draw(st.integers(2, 3)))) if relation is Relation.REPLACE else (0, 1)
    states = len(values) + (relation is Relation.ADD_REMOVE)
    row = st.lists(st.integers(least, 9), min_size=3, max_size=3).filter(any)
    rows = draw(st.lists(row, min_size=states**2, max_size=states**2))
    names = values if relation is Relation.REPLACE else (None, *values)
    laws = {
        (one, two): law(rows[states * names.index(one) + names.index(two)])
        for one in names
        for two in names
    }
    return World(relation, 2, values, laws.__getitem__)


@settings(max_examples=30, deadline=None)
@given(worlds(0), st.sampled_from([1, Fraction(11, 10), Fraction(3, 2), 3, 20]))
def test_claims_hold_for_every_mechanism_with_a_delta(world, ratio):
    check_claims(world, Fraction(ratio))


@settings(max_examples=30, deadline=None)
@given(worlds(1))
def test_claims_hold_for_every_pure_mechanism(world):
    check_claims(world, worst_ratio(list(world.neighbours())))


def family(relation: Relation, laws: list) -> World:
    """Ten siblings whose sum is all that the mechanism sees."""

    def answer(data):
        return laws[10 + sum(0 if state is None else state for state in data)]

    return World(relation, 10, (-1, 1), answer)


def ends(world: World) -> World:
    """The same with the data sets that matter: nobody there, all there and all alike."""

    class Ends(World):
        @property
        def data_sets(self):
            return [(state,) * 10 for state in self.states]

        def neighbours(self):
            step = 2 if self.relation is Relation.REPLACE else 1
            rows = [self.answer((place,) + (0,) * 9) for place in range(-10, 11)]
            yield from zip(rows, rows[step:], strict=False)

        def cases(self, size):
            start = -size if self.relation is Relation.REPLACE else 0
            yield from ((self.answer((start,)), self.answer((end,))) for end in (-size, size))

        def shared(self, size):
            yield self.answer((-size,)), self.answer((size,))

    return Ends(world.relation, 10, world.values, world.answer)


def clamped_geometric(ratio: Fraction, length: int = 21) -> list:
    """The law of a place plus geometric noise, clamped to the line: steps of exactly this ratio."""
    fall, rows = 1 / ratio, []
    for place in range(length):
        rows.append(
            tuple(
                fall ** abs(place - out) / (1 + fall) * (1 if out in (0, length - 1) else 1 - fall)
                for out in range(length)
            )
        )
    return rows


def test_ten_siblings_move_odds_as_far_as_is_said_and_not_as_far_as_one():
    """The reviewers' family: the odds move by e^5 where one person's move by e^0.5."""
    ratio = Fraction(1649, 1000)
    world = ends(family(Relation.ADD_REMOVE, clamped_geometric(ratio)))
    assert all(sum(row) == 1 for row in clamped_geometric(ratio))
    assert delta_of(world.neighbours(), ratio) == 0
    nobody, everybody = next(iter(world.cases(10)))
    assert worst_ratio([(nobody, everybody)]) == ratio**10 > 140
    small, large = next(iter(world.shared(10)))
    assert worst_ratio([(small, large)]) == ratio**20
    meaning = explain(epsilon=log_bounds(ratio)[1])
    assert meaning.group(10).odds_factor >= ratio**10
    assert meaning.group(10).odds_factor < float(ratio**10) * (1 + 1e-9)
    assert "10 people whose data go together" in str(meaning)
    assert "with everybody else's data fixed" in str(meaning)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(list(Relation)),
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=21, max_size=21),
    st.sampled_from([1, Fraction(11, 10), 2]),
)
def test_claims_hold_for_families_of_every_mechanism(relation, rows, ratio):
    laws = [law([weight + 20 for weight in row]) for row in rows]
    check_groups(ends(family(relation, laws)), Fraction(ratio))
    check_groups(ends(family(relation, clamped_geometric(Fraction(3, 2)))), Fraction(ratio))


def check_groups(world, ratio):
    delta = delta_of(world.neighbours(), ratio)
    meaning = explain(epsilon=log_bounds(ratio)[1], delta=delta, relation=world.relation)
    form = next(form for form, check in CLAIMS if check is says_together)
    told = [re.fullmatch(form, each) for each in meaning.sentences()]
    assert sum(found is not None for found in told) == 3
    for found in told:
        if found:
            says_together(world, meaning, *found.groups())


# ------------------------------------------------------------------ bounds that are attained


def test_the_worst_pair_attains_tests_and_guesses():
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(20)):
        for delta in (Fraction(0), Fraction(1, 10**6), Fraction(1, 5)):
            rest = (1 - delta) / (1 + ratio)
            left, right = (delta, rest * ratio, rest, 0), (0, rest, rest * ratio, delta)
            assert delta_of([(left, right)], ratio) == delta
            one = explain(epsilon=log_bounds(ratio)[1], delta=delta).membership
            assert math.isclose(one.guess, best_guess(left, right), rel_tol=1e-12)
            for alpha in (Fraction(0), Fraction(1, 20), Fraction(1, 3), Fraction(1)):
                found = best_power(left, right, alpha)
                assert math.isclose(one.power_at(alpha), found, rel_tol=1e-12)
            if not delta:
                top = ratio / (ratio + 1)
                assert math.isclose(one.posterior(Fraction(1, 2)), top, rel_tol=1e-12)


def test_the_exception_is_attained_and_delta_is_not_enough():
    """The old words were that no limit need hold with probability delta: here it is ten times."""
    ratio, beyond_it = Fraction(3), 1 + Fraction(1, 10**9)
    factor, beta = ratio * Fraction(10, 9) * beyond_it, Fraction(1, 100)
    rest = 1 - beta - beta / factor
    left, right = (beta, beta / factor, rest), (beta / factor, beta, rest)
    delta = delta_of([(left, right)], ratio)
    one = explain(epsilon=log_bounds(ratio)[1], delta=delta).membership
    outside = beyond(left, right, Fraction(one.odds_factor))
    assert outside == (0, 1)
    assert mass(left, beyond(left, right, ratio)) > 10 * delta
    assert mass(left, outside) <= one.exception < float(mass(left, outside)) * (1 + 1e-6)


def test_a_gaussian_exceeds_epsilon_more_often_than_delta():
    """At (1, 1e-6) the loss of Gaussian noise is above 1 with probability 2e-5."""
    sigma = float(gaussian_sigma(epsilon=1, delta=Fraction(1, 10**6), sensitivity=1))
    shift = 1 / sigma  # the loss is normal with mean shift^2/2 and deviation shift

    def above(loss):
        return math.erfc((loss / shift - shift / 2) / math.sqrt(2)) / 2

    def below(loss):
        return math.erfc((loss / shift + shift / 2) / math.sqrt(2)) / 2

    assert 1.5e-5 < above(1) < 3e-5
    one = explain(epsilon=1, delta=1e-6).membership
    reach = math.log(one.odds_factor)
    assert above(reach) + below(reach) < one.exception
    assert "none of these limits" not in str(explain(epsilon=1, delta=1e-6))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_reports_are_as_likely_as_is_said(rows):
    laws = [law(row) for row in rows]
    ratio = worst_ratio([(one, two) for one in laws for two in laws])
    told = re.search(rf"at most {NUMBER} times", report_text(epsilon=log_bounds(ratio)[1]))
    assert ratio <= read(told[1])


@settings(max_examples=50, deadline=None)
@given(
    st.fractions(0, 20, max_denominator=1000),
    st.integers(2, 12).map(lambda power: Fraction(1, 10**power)),
)
def test_the_formulas_of_the_readme_are_those_of_the_sentences(epsilon, delta):
    """README.md and the page of attacks say in formulas what is printed in numbers."""
    meaning, pure = explain(epsilon=epsilon, delta=delta), explain(epsilon=epsilon)
    grown, hair = math.exp(epsilon), 1 + 1e-12
    for one, factor in ((meaning.membership, grown), (meaning.value, grown**2)):
        assert one.odds_factor <= factor * 10 / 9 * hair
    assert meaning.membership.exception <= 19 * delta * Fraction(hair)
    assert meaning.value.exception <= 38 * delta * Fraction(grown * hair)
    assert pure.membership.odds_factor <= grown * hair
    assert pure.value.odds_factor <= grown**2 * hair
    assert pure.value.guess <= grown**2 / (1 + grown**2) * hair
    assert pure.membership.power <= grown * 0.05 * hair
    assert meaning.harm(without=1, largest=9**9) <= (grown + delta * 9**9) * hair
