"""From a wanted error to a price: it is reached, and nearly as cheap as can be."""

from fractions import Fraction
from itertools import product

import pytest

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import ZCDP, Pure, Relation
from discreet.plan.parts.price import smallest_price
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.explain import error_of
from discreet.plan.target import price_for_error
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

COLUMNS = (
    Column("x", "integer", upper=100, null=0),
    Column("y", "number", step=Fraction(1, 2), lower=-40, upper=400, null=0),
    Column("g", "category", keys=("a", "b"), upper=1),
    Column("city", "category", private_keys=True, upper=0),
)
TABLE = Table("t", unit="who", rows_per_unit=2, neighbours=Relation.REPLACE, columns=COLUMNS)
COUNT = 10_000
KINDS = [Pure, ZCDP]
MIXED = "SELECT COUNT(*) AS n, AVG(x) AS a, MEDIAN(y) AS m FROM t"
TARGETS = [
    (MIXED, {"n": 40, "a": 1, "m": 200}),
    (MIXED, {"n": 400, "a": 1, "m": 20}),
    (MIXED, {"a": Fraction(1, 2)}),
    (MIXED, {"m": 50}),
    (MIXED, 60),
    ("SELECT MEDIAN(x) AS m FROM t", 30),
    ("SELECT MIN(x) AS l, MAX(x) AS h, MEDIAN(x) AS m FROM t", 300),
    ("SELECT g, MODE(x) AS o, SUM(y) AS s FROM t GROUP BY g", {"o": 30, "s": 5000}),
    ("SELECT g, MODE(x) AS o, SUM(y) AS s FROM t GROUP BY g", {"s": 900}),
]
KEYED = [
    ("SELECT city, COUNT(DISTINCT who) AS n FROM t GROUP BY city", 20),
    ("SELECT city, SUM(y) AS s, MEDIAN(x) AS m FROM t GROUP BY city", {"s": 3000, "m": 50}),
    ("SELECT city, SUM(y) AS s, MEDIAN(x) AS m FROM t GROUP BY city", {"m": 50}),
]
CASES = [
    *((text, error, kind) for text, error in TARGETS for kind in KINDS),
    *((text, error, ZCDP) for text, error in KEYED),
]


def draft_of(text, kind):
    return Draft(
        query=parse(text, {"t": TABLE}),
        table=TABLE,
        price=Pure(epsilon=1) if kind is Pure else ZCDP(rho=1),
        delta=None if kind is Pure else Fraction(1, 10**6),
        question=text,
    )


def number(price):
    return float(price.epsilon if isinstance(price, Pure) else price.rho)


def targets_of(made, error):
    names = [output.name for output in made.query.outputs]
    return error if isinstance(error, dict) else dict.fromkeys(names, error)


def reaches(made, targets):
    found = error_of(made, COUNT)
    return all(found[name] <= width for name, width in targets.items())


@pytest.mark.parametrize(("text", "error", "kind"), CASES)
def test_the_error_is_reached_and_a_little_less_does_not_reach_it(text, error, kind):
    draft = draft_of(text, kind)
    made = price_for_error(draft, error, kind, COUNT)
    targets = targets_of(made, error)
    assert reaches(made, targets)
    assert number(made.cost) <= sum(map(number, made.prices)) * (1 + 1e-12)
    less = tuple(price.share(Fraction(97, 100)) for price in made.prices)
    worse = plan(Draft(**{**fields_of(draft), "price": less}))
    assert not reaches(worse, targets)


def fields_of(draft):
    names = ("query", "table", "delta", "question")
    return {name: getattr(draft, name) for name in names}


@pytest.mark.parametrize(("text", "error", "kind"), CASES)
def test_no_other_split_on_a_grid_is_much_cheaper(text, error, kind):
    """Every split of what the targets need into tenths, at 6% less."""
    draft = draft_of(text, kind)
    made = price_for_error(draft, error, kind, COUNT)
    targets = targets_of(made, error)
    parts = len(made.prices)
    needed = needed_parts(made, targets)
    own = sum(number(made.prices[place]) for place in needed)
    for tenths in product(range(1, 10), repeat=len(needed) - 1):
        if sum(tenths) >= 10:
            continue
        split = dict(zip(needed, [*tenths, 10 - sum(tenths)], strict=True))
        shares = [Fraction(split.get(place, 5), 10) for place in range(parts)]

        cheap = price_of(Fraction(0.94 * own), kind)
        tried = tuple(cheap.share(each) for each in shares)
        assert not reaches(plan(Draft(**fields_of(draft), price=tried)), targets), tenths


def price_of(amount, kind):
    return Pure(epsilon=amount) if kind is Pure else ZCDP(rho=amount)


def needed_parts(made, targets):
    """The parts on which the errors of the targets depend."""
    named = {output.name: output.expression for output in made.query.outputs}
    estimators = dict(made.estimators)
    found = set()
    for name in targets:
        each = estimators[named[name]]
        if hasattr(each, "pick"):
            found.add(len(made.measures) + each.pick)
        else:
            found.update(each.positions)
    return sorted(found)


def test_columns_without_a_wanted_error_get_their_share():
    made = price_for_error(draft_of(MIXED, ZCDP), {"m": 50}, ZCDP, COUNT)
    rest = [number(price) for price in made.prices[:-1]]
    assert all(price == pytest.approx(number(made.prices[-1]), rel=0.01) for price in rest)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (MIXED, {"z": 1}, "error names the column 'z'"),
        (MIXED, {}, "names no column"),
        (MIXED, {"m": 0}, "above 0"),
        ("SELECT MIN(x) AS m FROM t", 0.5, "no price up to"),
    ],
)
def test_errors_that_make_no_sense_are_refused(text, error, words):
    with pytest.raises(InvalidValue, match=words):
        price_for_error(draft_of(text, ZCDP), error, ZCDP, COUNT)


def test_an_average_needs_a_count_and_a_median_does_not():
    with pytest.raises(UnprovableRequest, match="secret count"):
        price_for_error(draft_of(MIXED, ZCDP), {"a": 1, "m": 9}, ZCDP, None)
    assert price_for_error(draft_of(MIXED, ZCDP), {"m": 9}, ZCDP, None).error["m"] <= 9


def test_a_difference_of_quantiles_has_no_error_in_advance():
    text = "SELECT MAX(x) - MIN(x) AS span FROM t"
    with pytest.raises(UnprovableRequest, match="cannot be known in advance"):
        price_for_error(draft_of(text, ZCDP), 10, ZCDP, COUNT)


def test_the_search_for_a_price_is_exact_to_four_digits():
    found = smallest_price(lambda price: price.rho >= Fraction(1, 7), ZCDP)
    assert Fraction(1, 7) <= found.rho < Fraction(1, 7) * Fraction(1001, 1000)
