"""The attacks by name, each against exact answers, protections that fail and a curator. Owns how
much is asked of each, so that all of them together take about a minute.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from types import MappingProxyType

from discreet.attacks.curated import Curated
from discreet.attacks.float_bits import curator_bits, float_bits, whole_bits
from discreet.attacks.interfaces import (
    Interface,
    audited,
    exact,
    noisy,
    rounded,
    suppressed,
    swapped,
    thresholded,
)
from discreet.attacks.outcome import Outcome, Study
from discreet.attacks.people import People, made_up, people_like
from discreet.attacks.probes import curator_race, curator_timing, naive_race, naive_timing
from discreet.attacks.reconstruction import Solver, reconstruction, table_attack
from discreet.attacks.single import averaging, certain, differencing, linkage, lottery, refusals
from discreet.attacks.tracing import tracing, tracing_power
from discreet.errors import InvalidValue
from discreet.rationals import Number, positive
from discreet.schema.column import nearest
from discreet.schema.table import Table

__all__ = ["ATTACKS", "Setting", "study"]

Step = Callable[[float], None]

_TARGETS = 100


@dataclass(frozen=True, slots=True)
class Setting:
    """Whom to attack and what the curator may spend in all.

    >>> Setting(people=50, epsilon=1).crowd().handle
    'seat'
    """

    table: Table | None
    people: int
    epsilon: Fraction

    def __init__(self, *, people: int = 100, epsilon: Number = 1, table: Table | None = None):
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "people", people)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    def crowd(self) -> People:
        """New people, who fit the custodian's schema if there is one.

        >>> len(Setting(people=30).crowd())
        30
        """
        if self.table is None:
            return made_up(self.people)
        return people_like(self.table, self.people)

    @property
    def targets(self) -> int:
        """How many people are attacked one by one where answers are free.

        >>> Setting(people=30).targets, Setting(people=2000).targets
        (30, 100)
        """
        return min(self.people, _TARGETS)

    def curator(self, questions: int) -> Curated:
        """A curator that answers so many questions with the whole budget.

        Costs epsilon in all [DMNS06, Prop. 3.3].
        >>> Setting(epsilon=2).curator(10).epsilon
        Fraction(2, 1)
        """
        return Curated(epsilon=self.epsilon, questions=questions)


def _root(people: int, part: int) -> Fraction:
    """A part of the square root of the number of people, which decides how much noise protects."""
    return Fraction(max(1, round(people**0.5)), part)


def _list_failing(people: int) -> tuple[Interface, ...]:
    little = noisy(_root(people, 10))
    return (exact(), rounded(), suppressed(), thresholded(), swapped(), little)


def _differencing(setting: Setting, step: Step) -> Study:
    crowd, targets, few = setting.crowd(), min(20, setting.people), 4
    outcomes: list[Outcome] = [
        differencing(crowd, interface, targets=setting.targets, crowds=40)
        for interface in (*_list_failing(setting.people), audited())
    ]
    step(0.2)
    curator = setting.curator(2 * targets * few)
    outcomes.append(differencing(crowd, curator, targets=targets, crowds=few))
    step(0.8)
    curve = [
        differencing(crowd, interface, targets=setting.targets, crowds=crowds)
        for interface in (exact(), rounded(), noisy(2))
        for crowds in (1, 2, 5, 10, 20, 50, 100)
    ]
    return Study(
        name="differencing",
        title="Differencing",
        words="Count a crowd with the target and without; subtract. Over several crowds, average.",
        measure="secrets guessed",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title="crowds for each target",
        curve_words="Rounding and fresh noise vanish in the average.",
        lesson="Large groups protect nobody: two of them differ by one person.",
    )


def _averaging(setting: Setting, step: Step) -> Study:
    crowd, targets, most = setting.crowd(), min(10, setting.people), 30
    plain = (exact(), suppressed(), noisy(1), noisy(3))
    outcomes = [averaging(crowd, interface, targets=setting.targets) for interface in plain]
    outcomes.append(averaging(crowd, setting.curator(targets), targets=targets, repeats=most))
    step(0.8)
    curve = [
        averaging(crowd, noisy(scale), targets=setting.targets, repeats=repeats)
        for scale in (1, 3, 10)
        for repeats in (1, 3, 10, 30, 100, 300, 1000)
    ]
    return Study(
        name="averaging",
        title="Averaging",
        words="Ask the same question again and again; fresh noise goes away in the average.",
        measure="secrets guessed",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title="times each question is asked",
        curve_words="A curator gives the answer it has given before, free; new noise costs budget.",
        lesson="Noise without a budget is a delay, not a protection.",
    )


def _linkage(setting: Setting, step: Step) -> Study:
    crowd, targets = setting.crowd(), min(40, setting.people)
    outcomes = [
        linkage(crowd, interface, targets=setting.targets)
        for interface in _list_failing(setting.people)
    ]
    step(0.2)
    outcomes.append(linkage(crowd, setting.curator(2 * targets), targets=targets))
    step(0.4)
    curve = []
    for level in map(Fraction, ("0.5", "1", "2", "4", "8")):
        fresh = linkage(crowd, noisy(1 / level), targets=setting.targets)
        held = linkage(crowd, Curated(epsilon=level, questions=2 * targets), targets=targets)
        curve.append(replace(fresh, interface="fresh noise for each answer", at=float(level)))
        curve.append(replace(held, interface="a curator, in all", at=float(level)))
    return Study(
        name="linkage",
        title="Linkage",
        words=(
            f"Names are removed, but a second table says who has which {', '.join(crowd.known)}. "
            "Those who share a target's values share its secret."
        ),
        measure="secrets guessed",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title="epsilon",
        curve_words="Dashed: what epsilon in all admits; epsilon for each answer has no limit.",
        lesson="What is harmless alone names people in combination; no column is only a detail.",
    )


def _reconstruction(setting: Setting, step: Step) -> Study:
    crowd, count = setting.crowd(), setting.people
    failing = _list_failing(count)
    outcomes = [reconstruction(crowd, interface, questions=4 * count) for interface in failing]
    step(0.2)
    if find_spec("scipy") is not None:
        program = Solver.LINEAR_PROGRAM
        outcomes.append(reconstruction(crowd, failing[-1], questions=4 * count, solver=program))
    asked = min(2 * count, 400)
    outcomes.append(reconstruction(crowd, setting.curator(asked), questions=asked))
    step(0.8)
    outcomes.append(table_attack(crowd, setting.curator(1)))
    curve = [
        reconstruction(crowd, interface, questions=max(1, round(times * count)))
        for interface in (exact(), rounded(), noisy(_root(count, 10)), noisy(_root(count, 2)))
        for times in (0.5, 1, 2, 4, 8)
    ]
    return Study(
        name="reconstruction",
        title="Reconstruction",
        words="Count random halves of the people and solve the equations for everybody's secret.",
        measure="secrets recovered",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title=f"questions about {count} people",
        curve_words="Noise far below the square root of the number of people changes nothing.",
        lesson="Many harmless answers together are the table itself.",
    )


def _tracing(setting: Setting, step: Step) -> Study:
    candidates, traits = 100, 300
    plain = (exact(), rounded(), suppressed(), thresholded(), noisy(1))
    outcomes = [
        tracing_power(interface, candidates=candidates, traits=traits) for interface in plain
    ]
    step(0.1)
    outcomes.append(tracing_power(setting.curator(200), candidates=candidates, traits=200))
    step(0.9)
    curve = [
        tracing(interface, candidates=candidates, traits=many)
        for interface in (exact(), rounded(), noisy(10))
        for many in (10, 30, 100, 300, 1000, 3000)
    ]
    return Study(
        name="tracing",
        title="Tracing",
        words=(
            "Shares of many traits are published. Is a person, whose traits are known, one of "
            "those counted? The test accuses 5% of strangers."
        ),
        measure="members found",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title="traits published",
        curve_words="Here: the share of members and strangers told apart, half of each.",
        lesson="Averages are about somebody: enough of them say who was averaged.",
    )


def _budget(setting: Setting, step: Step) -> Study:
    crowd = made_up(max(1_000, setting.people)) if setting.table is None else setting.crowd()
    outcomes = []
    levels = tuple(map(Fraction, ("0.1", "0.5", "1", "2", "4", "8")))
    for place, epsilon in enumerate(levels):
        outcomes.append(table_attack(crowd, Curated(epsilon=epsilon)))
        step((place + 1) / len(levels))
    return Study(
        name="budget",
        title="What a budget buys an attacker",
        words="The whole budget goes into one table with a cell for every single person.",
        measure="secrets guessed",
        outcomes=tuple(outcomes),
        curve=tuple(replace(one, interface="a curator") for one in outcomes),
        curve_title="epsilon in all",
        curve_words="No attack whatsoever is above the dashed line, in expectation.",
        lesson="Epsilon is a choice: the curve says what it admits, whoever attacks.",
    )


def _bits(setting: Setting, step: Step) -> Study:
    levels = tuple(map(Fraction, ("0.001", "0.01", "0.1", "0.3", "1", "3")))
    curve = [attack(epsilon=level) for attack in (float_bits, curator_bits) for level in levels]
    step(1.0)
    return Study(
        name="bits",
        title="Low-order bits",
        words=(
            "The right formula for noise, computed in floats: many released numbers can come from "
            "one of two counts only."
        ),
        measure="counts told apart",
        outcomes=tuple(
            attack(epsilon=setting.epsilon) for attack in (float_bits, whole_bits, curator_bits)
        ),
        curve=tuple(curve),
        curve_title="epsilon that the noise was computed for",
        curve_words="Dashed: what noise of that epsilon admits.",
        lesson="Noise has to be exact, in whole numbers; a formula in floats is not the mechanism.",
    )


def _refusals(setting: Setting, step: Step) -> Study:
    crowd = setting.crowd()
    failing = (exact(), audited(), thresholded())
    outcomes = [refusals(crowd, interface) for interface in failing]
    step(0.2)
    outcomes.append(refusals(crowd, setting.curator(setting.people - 1)))
    step(0.6)
    most = min(setting.people - 1, 200)
    curve = [
        refusals(crowd, interface, questions=asked)
        for asked in sorted({max(1, most * part // 8) for part in (1, 2, 4, 8)})
        for interface in (*failing, setting.curator(asked))
    ]
    return Study(
        name="refusals",
        title="Refusals that disclose",
        words=(
            "The auditor refuses whatever would give a secret away. Pair everybody with the "
            "attacker: a refusal means that both are alike."
        ),
        measure="secrets guessed",
        outcomes=tuple(outcomes),
        curve=tuple(curve),
        curve_title="people asked about, one question each",
        curve_words="A curator shares its budget among the questions: more of them tell less each.",
        lesson="Whether an answer is given may not depend on data; here only the budget decides.",
    )


def _lottery(setting: Setting, step: Step) -> Study:
    crowd = setting.crowd()
    shares = (0.01, 0.05, 0.1, 0.5)
    drawn = [lottery(crowd, share=share) for share in shares]
    asked = certain(crowd, setting.curator(1))
    step(1.0)
    curve = [replace(one, interface="a published sample") for one in drawn]
    curve += [replace(asked, at=share) for share in shares]
    return Study(
        name="lottery",
        title="The lottery of a sample",
        words="Each row is published with a small probability; most people are safe.",
        measure="people given away for certain",
        outcomes=(*drawn, asked),
        curve=tuple(curve),
        curve_title="share of the rows in the sample",
        curve_words="Dashed: without false alarms, no epsilon finds anybody. The curator ran once.",
        lesson="Who is drawn is hurt for certain: no epsilon, only a delta that counts victims.",
    )


def _race(setting: Setting, step: Step) -> Study:
    del setting
    outcomes = (naive_race(), curator_race())
    step(0.4)
    races, crowds = (naive_race, curator_race), (2, 4, 8, 16)
    curve = [race(affordable=1, askers=askers) for race in races for askers in crowds]
    return Study(
        name="race",
        title="The race for a budget",
        words="Four askers at once want what is left of a budget for ten answers.",
        measure="answers beyond the budget",
        outcomes=outcomes,
        curve=tuple(curve),
        curve_title="askers at once for the last answer",
        curve_words="Check, then spend: everybody gets the last answer. A curator gives it once.",
        lesson="Check and charge are one step, before anything is read.",
    )


def _timing(setting: Setting, step: Step) -> Study:
    del setting
    calls = (20, 60, 120)
    naive = [naive_timing(probes=probes) for probes in calls]
    step(0.1)
    asked = [curator_timing(probes=probes) for probes in calls]
    return Study(
        name="timing",
        title="The time an answer takes",
        words="Is the target in the table? Guess from how long the answer took.",
        measure="tables told apart",
        outcomes=(naive[-1], asked[-1]),
        curve=(*naive, *asked),
        curve_title="answers timed, half of them to learn from",
        curve_words="Privacy gives no line here: epsilon says nothing about time.",
        lesson="Epsilon does not speak of time; what was measured here is all that is claimed.",
    )


ATTACKS: Mapping[str, Callable[[Setting, Step], Study]] = MappingProxyType(
    {
        "differencing": _differencing,
        "averaging": _averaging,
        "linkage": _linkage,
        "reconstruction": _reconstruction,
        "tracing": _tracing,
        "budget": _budget,
        "bits": _bits,
        "refusals": _refusals,
        "lottery": _lottery,
        "race": _race,
        "timing": _timing,
    }
)
"""Every attack by name."""


def study(name: str, setting: Setting, on_progress: Step) -> Study:
    """Run one attack against everything it is tried on.

    >>> study("lottery", Setting(people=50), print).title
    1.0
    'The lottery of a sample'
    """
    if name not in ATTACKS:
        raise InvalidValue(f"there is no attack {name!r}. {nearest(name, ATTACKS)}")
    return ATTACKS[name](setting, on_progress)
