"""Every class of parsed node is either read in some accepted question or refused."""

import importlib
from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import UnsafeQuery
from discreet.query.parse import _query
from discreet.query.readers.aggregates import AGGREGATES
from discreet.query.statement.relations import Relation
from discreet.query.statement.scopes import ON_RESULTS, ON_ROWS, Results, Rows
from support.questions import TABLES, VISITS, ask

READ = {"Column", *ON_ROWS, *ON_RESULTS, *AGGREGATES}
# Classes that stand only in one place of a clause, and are read there.
PLACED = {
    "Alias", "CTE", "DataType", "Distinct", "Filter", "From", "Group", "Having", "Identifier",
    "Join", "Limit", "Order", "Ordered", "Select", "Star", "Subquery", "Table", "TableAlias", "Var",
    "Where", "With",
}  # fmt: skip

ROWS = Rows(Relation.of(VISITS, "visits"))
QUESTIONS = [
    "SELECT region AS r, COUNT(*), COUNT(DISTINCT patient_id), SUM(age), AVG(age), VARIANCE(age), "
    "VAR_POP(age), STDDEV(age), STDDEV_SAMP(age), STDDEV_POP(age), MIN(age), MAX(age), "
    "MEDIAN(LEAST(age, GREATEST(income, 1))), QUANTILE(age, 0.1), PERCENTILE_CONT(age, 0.1), "
    "PERCENTILE_DISC(age, 0.1), PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY age), MODE(region), "
    "CORR(age, income), COVAR_POP(age, income), COVAR_SAMP(age, income), REGR_SLOPE(age, income), "
    "REGR_INTERCEPT(age, income) FROM visits AS v "
    "WHERE age = 1 AND age <> 2 OR NOT (age < 3 AND age <= 3 AND age > 4 AND age >= -5) "
    "AND age IN (1) AND age BETWEEN 1 AND 2 AND region LIKE 'a' AND region ILIKE 'a' "
    "AND age IS NULL AND CAST(age AS INT) + 1 - 2 * 3 / 4 = 1 AND FLOOR(income) = 1 "
    "AND WIDTH_BUCKET(age, 0, 1, 2) = 1 AND CASE WHEN TRUE THEN 1 ELSE NULL END = 1 "
    "AND EXTRACT(YEAR FROM day) = 1 AND DATE_PART('year', day) = 1 "
    "AND DATE_TRUNC('year', day) = '2024-01-01' AND YEAR(day) = 1 AND QUARTER(day) = 1 "
    "AND MONTH(day) = 1 AND WEEK(day) = 1 AND WEEKOFYEAR(day) = 1 AND DAY(day) = 1 "
    "AND DAYOFMONTH(day) = 1 AND DAYOFWEEK(day) = 1 AND DAYOFYEAR(day) = 1 "
    "GROUP BY region HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 2",
    "SELECT SUM(age) FILTER (WHERE smoker), COUNT_IF(smoker), SUM(COALESCE(age, 1)), "
    "SUM(NULLIF(age, 2)), SUM(IF(smoker, 1, 2)), SUM(ABS(age)), SUM(SIGN(income)), "
    "SUM(CEIL(income)), SUM(ROUND(income, 1)), SUM(TRUNC(income)), SUM(age % 2), SUM(age DIV 2), "
    "SUM(LENGTH(region)) FROM main.visits WHERE age IS DISTINCT FROM 2 OR age IS NOT DISTINCT "
    "FROM 3 OR day < DATE '2024-03-01' + INTERVAL 1 DAY - INTERVAL 1 DAY OR DATE(day) = "
    "'2024-03-01' OR ISODOW(day) = 1 OR UPPER(region) = 'NORTH' OR LOWER(region) = 'north' OR "
    "SUBSTRING(region, 1, 1) = 'n' OR LEFT(region, 1) = 'n' OR RIGHT(region, 1) = 'h' OR "
    "TRIM(region) = 'north' OR REPLACE(region, 'n', 'm') = 'morth' OR CONCAT(region, 'a') = "
    "'northa' OR region || 'a' = 'northa' OR STARTS_WITH(region, 'n') OR ENDS_WITH(region, 'h') "
    "OR CONTAINS(region, 'o')",
    "SELECT COUNT(*) FROM events WHERE HOUR(seen) = 1 AND MINUTE(seen) = 2 AND SECOND(seen) = 3",
    "SELECT COUNT(*) FROM visits AS v JOIN stays AS s ON v.patient_id = s.patient_id AND "
    "(v.age = s.age) LEFT JOIN codes USING (code)",
    "WITH p AS (SELECT patient_id, SUM(age) AS s FROM visits GROUP BY patient_id) "
    "SELECT COUNT(*) FROM p JOIN (SELECT * FROM stays) AS q ON p.patient_id = q.patient_id",
]


def _classes() -> Iterator[type[exp.Expr]]:
    waiting: list[type[exp.Expr]] = [exp.Expr]
    while waiting:
        current = waiting.pop()
        waiting += current.__subclasses__()
        if _can_be_made(current):
            yield current


def _can_be_made(kind: type[exp.Expr]) -> bool:
    try:  # traits such as Binary or Predicate cannot hold anything
        kind(this=exp.column("age"))
    except NotImplementedError:
        return False
    return True


CLASSES = sorted(set(_classes()), key=lambda each: (each.__name__, each.__module__))
REFUSED = [each for each in CLASSES if each.__name__ not in READ]


def _column() -> exp.Expr:
    return exp.column("age")


def _instances(kind: type[exp.Expr]) -> list[exp.Expr]:
    filled = {
        name: [_column()] if name in ("expressions", "ifs") else _column()
        for name in kind.arg_types
    }
    return [kind(), kind(this=_column()), kind(**filled)]


def test_there_are_many_classes_and_their_names_are_unique() -> None:
    importlib.import_module("sqlglot.expressions")
    assert len(CLASSES) > 900
    read = [each.__name__ for each in CLASSES if each.__name__ in READ]
    assert sorted(read) == sorted(READ)


def test_a_class_that_is_not_listed_is_refused_as_an_expression() -> None:
    for node in (each for kind in REFUSED for each in _instances(kind)):
        with pytest.raises(UnsafeQuery):
            ROWS.read(node)
        with pytest.raises(UnsafeQuery):
            Results(ROWS).read(node)


def _replaced(place: str, node: exp.Expr) -> exp.Expr:
    select = sqlglot.parse_one(
        "SELECT region, COUNT(*) FROM visits AS v WHERE age > 1 GROUP BY region "
        "HAVING COUNT(*) > 1 ORDER BY region LIMIT 1"
    )
    select.set(place, [node] if place in ("expressions", "joins") else node)
    return select


@pytest.mark.parametrize(
    "place",
    ["expressions", "from_", "where", "group", "having", "order", "limit", "with_", "joins"],
)
def test_a_class_that_is_not_listed_is_refused_as_a_clause(place: str) -> None:
    for kind in REFUSED:
        if kind.__name__ in PLACED:
            continue
        with pytest.raises(UnsafeQuery):
            _query(_replaced(place, kind(this=_column())), TABLES, [])


def test_no_class_is_a_whole_question_but_select() -> None:
    for kind in CLASSES:
        if kind.__name__ != "Select":
            with pytest.raises(UnsafeQuery):
                _query(kind(this=_column()), TABLES, [])


def _nodes(text: str) -> list[exp.Expr]:
    ask(text)
    return list(sqlglot.parse_one(text).walk())


def test_every_listed_class_is_read_in_an_accepted_question() -> None:
    seen = {type(node).__name__ for text in QUESTIONS for node in _nodes(text)}
    assert seen >= READ | PLACED
    assert seen <= READ | PLACED


# Parts that a node may carry without changing what it means, or that are read.
CARRIED = {
    ("Case", "this"), ("Case", "default"), ("Cast", "_type"), ("Count", "big_int"),
    ("Distinct", "expressions"), ("ILike", "negate"), ("Like", "negate"), ("Ordered", "desc"),
    ("Ordered", "nulls_first"), ("Table", "alias"), ("TableAlias", "this"), ("Column", "table"),
    ("Identifier", "quoted"), ("DataType", "nested"), ("Var", "this"),
    ("Greatest", "ignore_nulls"), ("Least", "ignore_nulls"), ("Join", "using"), ("Join", "on"),
    ("Select", "joins"), ("Select", "where"), ("Select", "group"), ("Select", "having"),
    ("Select", "order"), ("Select", "limit"),
}  # fmt: skip


def test_a_listed_class_with_a_part_that_is_not_read_is_refused() -> None:
    tried = 0
    for text in QUESTIONS:
        for place, node in enumerate(_nodes(text)):
            if type(node).__name__ in ("Identifier", "Var", "If"):
                continue
            for part in set(node.arg_types) - set(node.args):
                if (type(node).__name__, part) in CARRIED:
                    continue
                tree = sqlglot.parse_one(text)
                changed = list(tree.walk())[place]
                assert type(changed) is type(node)
                changed.set(part, exp.Var(this="x"))
                tried += 1
                with pytest.raises(UnsafeQuery):
                    _query(tree, TABLES, [])
    assert tried > 100
