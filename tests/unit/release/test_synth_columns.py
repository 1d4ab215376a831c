"""Columns as attributes: SQL, sizes, labels and back."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.release.synth.columns import CodedColumn, fields_of
from discreet.release.synth.domain import Attribute
from discreet.release.synth.state import Spec, SynthesisState
from discreet.schema.column import Column
from discreet.schema.table import Table

DAYS = (date(2024, 1, 1) - date(1970, 1, 1)).days


@given(
    st.integers(-50, 50),
    st.integers(0, 1200),
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 100), Fraction(10)]),
)
def test_every_lattice_value_has_a_code_that_reads_as_its_bucket(lower, span, step):
    column = Column("x", "number", step=step, lower=lower, upper=lower + span)
    made = CodedColumn.of(column)
    labels = made.labels()
    assert len(labels) == made.attribute.size
    assert labels[0] == [None]
    known = [label for bucket in labels[1:] for label in bucket]
    lattice = [column.decode(k) for k in range(lower, lower + span + 1)]
    assert sorted(set(known)) == pytest.approx(sorted(lattice))
    assert all(len(bucket) == made.width for bucket in labels[1:])


def test_wide_columns_are_cut_into_buckets():
    made = CodedColumn.of(Column("x", "integer", lower=0, upper=10**6))
    assert made.attribute.size <= 258
    drawn = made.read(np.full(400, 7))
    assert all(6 * made.width <= value < 7 * made.width for value in drawn)
    assert len(set(drawn)) > 100


def test_what_cannot_be_missing_is_never_missing():
    for column in (
        Column("x", "integer", upper=9, null=0),
        Column("x", "boolean", null="error"),
        Column("x", "date", lower=DAYS, upper=DAYS + 9, null=DAYS),
    ):
        made = CodedColumn.of(column)
        assert not made.optional
        assert [None] not in made.labels()
        assert "NULL" not in made.sql


def test_dates_are_days_of_the_calendar():
    made = CodedColumn.of(Column("d", "date", lower=DAYS + 31, upper=DAYS + 90))
    read = {day for bucket in made.labels() for day in bucket}
    assert date(2024, 2, 29) in read
    assert min(read - {None}) == date(2024, 2, 1)
    assert max(read - {None}) == date(2024, 3, 31)


def test_long_spans_of_dates_are_months():
    made = CodedColumn.of(Column("d", "date", lower=0, upper=DAYS))
    assert made.width == 31
    assert made.attribute.size == 55 * 12 + 1
    assert made.read(np.array([1]))[0] <= date(1970, 1, 31)


def test_categories_and_booleans():
    made = CodedColumn.of(Column("c", "category", upper=2, keys=("x", "y"), other=True))
    assert made.read(np.array([0, 1, 2])) == ["x", "y", "other"]
    assert made.attribute == Attribute("c", 3)
    assert CodedColumn.of(Column("b", "boolean", null="error")).labels() == [[False], [True]]


def test_private_keys_are_left_out_unless_asked_for():
    table = Table(
        "t",
        columns=(
            Column("city", "category", lower=0, upper=0, private_keys=True),
            Column("vip", "boolean"),
        ),
    )
    assert [each.column.name for each in fields_of(table, None)] == ["vip"]
    with pytest.raises(InvalidValue, match="private keys"):
        fields_of(table, ["city"])


def test_attributes_are_checked():
    with pytest.raises(InvalidValue, match="4,096"):
        Attribute("x", 5000)


def test_a_course_goes_through_its_bytes():
    course = SynthesisState(Spec("SELECT", "1/3", "marginals", (2, 3)), "abc")
    for _ in range(2):
        course = course.begin(Fraction(1, 7))
    assert SynthesisState.from_bytes(course.to_bytes()) == course
    assert course.begun == 2
    assert course.answers == (None,)
