"""Made-up people: they fit their schema, and a curator takes them."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import (
    EVERYBODY,
    Curated,
    Questions,
    exact,
    made_up,
    people_like,
    people_with_traits,
)
from discreet.demo.clinic import SCHEMA
from discreet.errors import InvalidValue
from discreet.schema.column import Column
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema_text

DAY = (date(2024, 1, 1) - date(1970, 1, 1)).days


def table(*columns, **facts):
    return Table("visits", columns=columns, **facts)


def test_people_of_the_clinic_fit_its_schema():
    clinic = read_schema_text(SCHEMA)
    crowd = people_like(clinic, 200)
    assert crowd.handle == "day"
    assert crowd.conditions == ("smoker",)
    assert len(set(crowd.values["day"].tolist())) == 200
    for column in clinic.columns:
        codes = crowd.values[column.name]
        assert column.lower <= codes.min()
        assert codes.max() <= column.upper
    assert set(crowd.known) & {"smoker", "day"} == set()


@pytest.mark.parametrize(
    ("secret", "condition"),
    [
        (Column("kind", "category", upper=3, keys=("a", "b", "it's", "d")), "IN ('it''s', 'd')"),
        (Column("day", "date", lower=DAY, upper=DAY + 9), ">= DATE '2024-01-06'"),
        (Column("size", "integer", lower=0, upper=9), ">= 5"),
    ],
)
def test_a_secret_can_be_hidden_in_any_column(secret, condition):
    crowd = people_like(table(Column("seat", "integer", upper=999), secret), 60)
    assert crowd.conditions == (f"{secret.name} {condition}",)
    codes = crowd.values[secret.name]
    upper = codes >= (secret.lower + secret.upper + 1) // 2
    assert np.array_equal(upper, crowd.secrets[:, 0])


@pytest.mark.parametrize(
    "schema",
    [
        table(Column("seat", "integer", upper=99), Column("ill", "boolean")),
        table(
            Column("paid", "number", upper=4000),
            Column("kind", "category", upper=1, keys=("a", "b")),
            unit="who",
            rows_per_unit=1,
        ),
        table(
            Column("day", "date", lower=DAY, upper=DAY + 300),
            Column("seen", "datetime", lower=0, upper=50),
        ),
    ],
)
def test_a_curator_counts_the_same_people(schema):
    """At a very large epsilon the noise is zero: the conditions say who the attacker means."""
    crowd = people_like(schema, 30)
    members = np.arange(30) % np.array([[2], [3]]) != 0
    members[0, :] = True
    asked = Questions(np.concatenate([members, members]), (0, 0, EVERYBODY, EVERYBODY))
    with exact().open(crowd) as answerer:
        wanted = answerer.counts(asked).tolist()
    with Curated(epsilon=4000, questions=4).open(crowd) as answerer:
        assert answerer.counts(asked).tolist() == wanted


def test_everybodys_own_cell_is_one_table():
    crowd = made_up(25)
    alone = Questions(np.eye(25, dtype=bool)[::-1])
    with Curated(epsilon=2000).open(crowd) as answerer:
        answers = answerer.counts(alone)
        assert answers.tolist() == crowd.secrets[::-1, 0].astype(float).tolist()
        again = answerer.counts(Questions(np.eye(25, dtype=bool)[:3]))
        assert np.isnan(again).all()  # the budget went into one table


@pytest.mark.parametrize(
    "handle",
    [
        Column("day", "date", lower=DAY, upper=DAY + 300),
        Column("paid", "number", step=Fraction(1, 4), upper=400),
        Column("seen", "datetime", step=Fraction(60), upper=90),
    ],
)
def test_a_table_of_cells_is_read_back_to_its_people(handle):
    crowd = people_like(table(handle, Column("ill", "boolean")), 40)
    with Curated(epsilon=2000).open(crowd) as answerer:
        answers = answerer.counts(Questions(np.eye(40, dtype=bool)))
    assert answers.tolist() == crowd.secrets[:, 0].astype(float).tolist()


def test_a_table_that_cannot_be_attacked_is_refused():
    with pytest.raises(InvalidValue, match="no column takes 50 different values; age takes 20"):
        people_like(table(Column("age", "integer", upper=19), Column("ill", "boolean")), 50)
    with pytest.raises(InvalidValue, match="two columns whose values are declared"):
        people_like(table(Column("ill", "boolean")), 2)


@pytest.mark.parametrize("count", [0, 1, 2001, True, 2.5])
def test_a_number_of_people_that_makes_no_sense_is_refused(count):
    with pytest.raises(InvalidValue, match="from 2 to 2000"):
        made_up(count)


def test_neighbouring_tables_differ_in_one_person():
    crowd = made_up(9)
    fewer = crowd.without(4)
    assert fewer.values["seat"].tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert len(fewer) == 8


def test_traits_are_counted_one_by_one():
    traits = np.array([[True, False], [True, True], [False, False]])
    crowd = people_with_traits(traits)
    with exact().open(crowd) as answerer:
        counts = answerer.counts(Questions(np.ones((2, 3), dtype=bool), (0, 1)))
    assert counts.tolist() == [2.0, 1.0]


def test_questions_and_secrets_must_match():
    with pytest.raises(InvalidValue, match="2 questions and 3 secrets"):
        Questions(np.ones((2, 3), dtype=bool), (0, 0, 0))
