"""The stages of a synthesis replaced one by one: what each is handed, what it is charged, and what
is refused. No replaced stage but the mechanism that measures ever meets the data.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise import system
from discreet.rationals import sqrt_up
from discreet.release.synth.aim import run_aim
from discreet.release.synth.domain import Attribute
from discreet.release.synth.fitted import draw_evenly, draw_independently
from discreet.release.synth.model.fit import Fitted, combine, fit
from discreet.release.synth.model.rows import take_independently
from discreet.release.synth.rounds import Cells, Round
from discreet.release.synth.service import synthesize
from discreet.release.synth.spread import replicas
from discreet.release.synth.stages import Stages, gaussian, worst_missed
from support.vaults import copied_curator, people

ONE = Sensitivity.single(1)
ATTRIBUTES = tuple(
    Attribute(name, size, ordered=size == 4) for name, size in (("a", 2), ("b", 3), ("c", 4))
)


def table(count=2000):
    """Rows in which b follows a, and c is on its own; spread evenly, no chance in it."""
    x, y, z = (np.arange(1, count + 1) * root**0.5 % 1 for root in (2, 3, 5))
    first = (x < 0.3).astype(np.int64)
    second = np.where(y < 0.8, 2 * first, 1)
    third = np.minimum((4 * z**2).astype(np.int64), 3)
    return Cells(np.stack([first, second, third], axis=1), np.ones(count, dtype=np.int64))


class Memory:
    """Answers steps from rows in memory."""

    def __init__(self, exact=None):
        self.exact, self.steps = exact or table(), []

    @property
    def rounds(self):
        return [step for step in self.steps if isinstance(step, Round)]

    @property
    def spent(self):
        return sum((step.loss(ONE).zcdp().rho for step in self.steps), Fraction(0))

    def take(self, step):
        self.steps.append(step)
        return step.release(self.exact, system)


def made(source, rho=1, **replaced):
    return run_aim(ATTRIBUTES, source, rho=rho, sensitivity=ONE, stages=Stages(**replaced))


def laplace(*, rho, sensitivity):
    """Laplace noise of a scale that costs rho: (epsilon^2/2)-zCDP."""
    return DiscreteLaplace(scale=sensitivity.l1 * sqrt_up(1 / (2 * rho)))


def by_chance(offer):
    """Pairs without a look at how the model misses them."""
    return offer.candidates({clique: 0 for clique in offer.cliques if len(clique) == 2})


def with_b(offer):
    """Pairs of the column b only."""
    return offer.candidates(
        {c: 1 for c in offer.cliques if len(c) == 2 and "b" in offer.columns(c)}
    )


def proportional(network, measured, **_):
    """Iterative proportional fitting."""
    given = combine(measured)
    factors = {clique: np.zeros(each.noisy.shape) for clique, each in given.items()}
    for _ in range(8):
        for clique, each in given.items():
            wanted = np.maximum(each.noisy, 1e-6)
            found = network.propagate(factors).marginals[clique]
            factors[clique] = factors[clique] + np.log(wanted / wanted.sum() / found)
    return Fitted(network, factors, network.propagate(factors))


def first_values(model, rows, _):
    """Rows that all have the first value of every column."""
    return np.zeros((rows, len(model.attributes)), dtype=np.int64)


def test_a_selection_is_charged_by_the_exponential_mechanism():
    source = Memory()
    made(source, select=with_b)
    assert source.rounds
    for step in source.rounds:
        assert {len(each.clique) for each in step.candidates} == {2}
        choice = step.loss(ONE).rho - step.picks * step.noise.loss(ONE).rho
        assert choice > 0
    assert Fraction(1, 2) < source.spent <= 1


def test_a_selection_by_chance_is_free_and_leaves_more_for_measuring():
    source, usual = Memory(), Memory()
    made(source, select=by_chance)
    made(usual)
    for step in source.rounds:
        assert step.loss(ONE).rho == step.picks * step.noise.loss(ONE).rho
    assert source.rounds[0].noise.variance < usual.rounds[0].noise.variance
    assert source.spent <= 1


def test_heavier_weights_cost_what_they_may_move():
    """The same scale with twice the weight is four times as dear: no weight can be hidden."""
    source = Memory()
    made(source, select=with_b)
    step = source.rounds[0]
    heavy = dataclasses.replace(
        step, candidates=tuple(dataclasses.replace(each, weight=2) for each in step.candidates)
    )
    measuring = step.picks * step.noise.loss(ONE).rho
    assert heavy.loss(ONE).rho - measuring == 4 * (step.loss(ONE).rho - measuring)


def test_no_candidates_end_the_rounds():
    source = Memory()
    found = made(source, select=nothing)
    assert source.rounds == []
    assert abs(found.total - 2000) < 200  # a deviation is below 10


def nothing(_):
    """Nothing."""
    return ()


def test_a_mechanism_that_measures_is_charged_by_its_own_loss():
    source = Memory()
    found = made(source, measure=laplace)
    assert all(isinstance(step.noise, DiscreteLaplace) for step in source.rounds)
    assert source.spent <= 1
    exact = (source.exact.places[:, 0] == 1).sum()
    # Scales are below 60 rows, and a count is a sum of at most 12 cells.
    assert abs(found.count({0: np.array([0.0, 1.0])}) - exact) < 600


def test_a_mechanism_that_costs_too_much_is_not_run():
    source = Memory()
    with pytest.raises(InvalidValue, match="the measuring costs rho"):
        made(source, measure=dear)
    assert source.steps == []
    with pytest.raises(InvalidValue, match="must cost something"):
        made(source, measure=gratis)
    assert source.steps == []


def dear(*, rho, sensitivity):
    return gaussian(rho=2 * rho, sensitivity=sensitivity)


@dataclasses.dataclass(frozen=True)
class Gratis:
    """Says that it costs nothing."""

    variance: float = 1.0

    def loss(self, _):
        return ZCDP(rho=0)


def gratis(**_):
    return Gratis()


def test_a_fit_is_used_for_the_model_and_its_replicas():
    seen = []

    def counted(network, measured, **more):
        seen.append(len(tuple(measured)))
        return proportional(network, measured, **more)

    found = made(Memory(), fit=counted)
    before = len(seen)
    assert before >= 2
    assert replicas(found, 2).models[0].refit is counted
    assert len(seen) == before + 2
    exact = table().places
    share = ((exact[:, 0] == 1) & (exact[:, 1] == 2)).sum()
    assert abs(found.count({0: np.array([0.0, 1.0]), 1: np.array([0.0, 0.0, 1.0])}) - share) < 400


def test_a_fit_of_something_else_is_refused():
    def elsewhere(*_, **__):
        return None

    with pytest.raises(InvalidValue, match="the fit gave NoneType"):
        made(Memory(), fit=elsewhere)


def test_a_drawing_is_used_for_rows_and_marks():
    found = made(Memory(), draw=first_values)
    assert not found.codes(10).any()
    assert found.marks[0].distance > 0.3  # rows without variety are far from the data
    assert found.count({0: np.array([0.0, 1.0])}) > 100  # the model itself is as it was: 600


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows, width: np.zeros((rows, width + 1), dtype=np.int64),
        lambda rows, width: np.full((rows, width), 4),
        lambda rows, width: np.full((rows, width), -1),
        lambda rows, width: np.zeros((rows, width)),
    ],
)
def test_a_drawing_out_of_bounds_is_refused(wrong):
    def draw(model, rows, _):
        return wrong(rows, len(model.attributes))

    with pytest.raises(InvalidValue, match="the drawing gave"):
        made(Memory(), draw=draw)


def test_a_selection_cannot_leave_the_offer():
    def elsewhere(offer):
        first = worst_missed(offer)[0]
        return (dataclasses.replace(first, clique=(0, 9)),)

    with pytest.raises(InvalidValue, match="not on offer"):
        made(Memory(), select=elsewhere)


@pytest.mark.parametrize("weight", [-1, 1.5, True, np.nan])
def test_weights_are_whole_numbers(weight):
    def odd(offer):
        return offer.candidates({offer.cliques[0]: weight})

    with pytest.raises(InvalidValue, match="weights are integers"):
        made(Memory(), select=odd)


def test_a_candidate_has_its_table_s_cells():
    def short(offer):
        first = worst_missed(offer)[0]
        return (dataclasses.replace(first, expected=first.expected[1:]),)

    with pytest.raises(InvalidValue, match="its table has"):
        made(Memory(), select=short)


def reachable(value, seen=None):
    """Everything that can be reached from a value through fields, items and closures."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, str | int | float | Fraction | type | None):
        return seen
    seen[id(value)] = value
    if dataclasses.is_dataclass(value):
        parts = [getattr(value, each.name) for each in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    else:
        parts = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
        parts += list(vars(value).values()) if hasattr(value, "__dict__") else []
    for part in parts:
        reachable(part, seen)
    return seen


def leaks(handed, exact):
    arrays = [exact.places, exact.counts]
    return any(
        isinstance(each, Cells)
        or (isinstance(each, np.ndarray) and any(np.shares_memory(each, one) for one in arrays))
        for each in reachable(handed).values()
    )


def watched(name, handed):
    usual = {"select": worst_missed, "measure": gaussian, "fit": fit, "draw": draw_evenly}[name]

    def stage(*given, **more):
        handed.append((given, more))
        return usual(*given, **more)

    return stage


@pytest.mark.parametrize("name", ["select", "measure", "fit", "draw"])
def test_no_stage_is_handed_data(name):
    handed, source = [], Memory()
    made(source, **{name: watched(name, handed)})
    assert handed
    assert not leaks(handed, source.exact)
    assert leaks([*handed, {"planted": source}], source.exact)
    assert leaks([*handed, (source.exact.places[3:],)], source.exact)


def test_the_same_answers_hand_the_stages_the_same_whatever_the_data():
    """A course that is replayed over other data calls every stage with equal arguments."""
    answers, calls = [], ([], [])

    class Recording(Memory):
        def take(self, step):
            answers.append(super().take(step))
            return answers[-1]

    class Replaying(Memory):
        def take(self, step):
            self.steps.append(step)
            return answers[len(self.steps) - 1]

    for source, handed in zip((Recording(), Replaying(table(7))), calls, strict=True):
        stages = {name: watched(name, handed) for name in ("select", "measure", "fit")}
        made(source, **stages)
    first, second = (
        [x for x in reachable(handed).values() if isinstance(x, np.ndarray)] for handed in calls
    )
    assert len(first) == len(second) > 10
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_stages_have_names():
    with pytest.raises(InvalidValue, match="function with a name"):
        Stages(draw=lambda *_: None)
    with pytest.raises(InvalidValue, match="the stage fit is 3"):
        Stages(fit=3)
    assert Stages(select=with_b).said == f"select = {__name__}.with_b"


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path, people(300), budget="epsilon = 50\ndelta = 1e-6") as found:
        found.grant("ana", epsilon=40, delta=1e-6)
        yield found


def test_a_synthesis_with_other_stages_is_another_one(curator):
    session = curator.session("ana")
    asked = {"epsilon": 5, "columns": ["age", "region"]}
    plain = synthesize(session, "visits", **asked)
    drawn = synthesize(session, "visits", stages=Stages(draw=draw_independently), **asked)
    again = synthesize(session, "visits", stages=Stages(draw=draw_independently), **asked)
    assert plain.receipt != drawn.receipt == again.receipt
    assert plain.method == "marginals"
    assert drawn.method.endswith("draw = discreet.release.synth_model.draw_independently")
    charged = [entry for entry in curator.ledger.entries() if entry.act == "charge"]
    assert len(charged) == 2
    assert charged[0].loss == charged[1].loss  # other stages, the same price


def test_multiplicative_weights_have_no_stages(curator):
    with pytest.raises(InvalidValue, match="no stages to replace"):
        synthesize(
            curator.session("ana"), "visits", epsilon=1, method="mwem", stages=Stages(), name="x"
        )
    assert [entry for entry in curator.ledger.entries() if entry.act == "charge"] == []


def test_independent_rows_are_as_far_off_as_chance_makes_them():
    """Evenly drawn rows meet a share to a few rows; independent ones miss it by their deviation.

    In 40 draws of 10,000 rows the mean square of the miss is above a twelfth of its expectation
    and below six times it (chi square of 40 degrees of freedom) but for probability 1e-13.
    """
    shares = np.array([[0.3, 0.7]])
    given = np.zeros(10_000, dtype=np.int64)
    misses = [7000 - int(take_independently(shares, given, given, system).sum()) for _ in range(40)]
    mean = np.mean(np.square(misses))
    assert 2100 / 12 < mean < 2100 * 6
    found = made(Memory())
    columns = [found.codes(10_000)[:, 0].sum() for _ in range(5)]
    assert max(columns) - min(columns) < 30


def test_cliques_are_named_by_their_columns():
    seen = []

    def looked(offer):
        seen.extend(offer.columns(clique) for clique in offer.cliques)
        return worst_missed(offer)

    made(Memory(), select=looked)
    assert {frozenset(each) for each in seen} == {
        frozenset(each) for k in (2, 3) for each in itertools.combinations("abc", k)
    }
