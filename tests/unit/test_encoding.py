"""The encoder of durable identities: the texts that Python printed when the first keys were made,
no class without a form, and a form with all fields for everything that a question is made of.
"""

import sys
import unicodedata
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.encoding import LOSS_FORMS, Form, encode, list_facts, write_fraction
from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Pure
from discreet.query import algebra, expression
from discreet.query.identity import QUERY_FORMS
from discreet.schema import format as schema_format
from discreet.schema import table
from discreet.streams.synopsis import state

# Later versions of Unicode call more characters printable than the one of the first keys.
SAME_UNICODE = unicodedata.unidata_version == "14.0.0"
SIGNS = st.characters(max_codepoint=sys.maxunicode if SAME_UNICODE else 0x24F)
BASIC = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(SIGNS)
    | st.text("'\"\\\n\t\r\0\x7f\x80\xa0\xad\u200b\u2028\ud800\ue000\U0001f600\U0010ffff ab")
    | st.fractions()
    | st.dates()
    | st.datetimes().map(lambda time: time.replace(fold=0))  # no text of a question has a fold
)
PRICES = st.builds(lambda epsilon: Pure(epsilon=epsilon), st.fractions(min_value=0)) | st.builds(
    lambda rho, delta: ZCDP(rho=rho, delta=delta),
    st.fractions(min_value=0),
    st.fractions(min_value=0, max_value=1),
)
NESTED = st.recursive(
    BASIC | PRICES, lambda inner: st.lists(inner) | st.lists(inner).map(tuple), max_leaves=16
)


@given(NESTED)
def test_a_text_is_what_python_printed(value):
    assert encode(value) == repr(value)


@pytest.mark.skipif(not SAME_UNICODE, reason="prints by another Unicode")
def test_every_character_is_written_as_python_printed_it():
    """Signs are written one by one, but for quotes: those are among the texts of one sign."""
    blocks = range(0, sys.maxunicode + 1, 256)
    texts = [chr(code) for code in range(256)]
    texts += ["".join(map(chr, range(first, first + 256))) for first in blocks]
    assert sum(map(len, texts)) == 256 + sys.maxunicode + 1
    assert [text for text in texts if encode(text) != repr(text)] == []


@dataclass(frozen=True)
class Unknown:
    """A class without a form."""

    value: int = 1


@pytest.mark.parametrize(
    "value",
    [
        Unknown(),
        Decimal(1),
        1.5,
        b"bytes",
        {"a": 1},
        {1},
        datetime(2024, 1, 1, tzinfo=UTC),
        expression.Statistic.SUM,
        expression.Field("age"),
        (1, [Unknown()]),
    ],
)
def test_what_has_no_form_is_refused(value):
    with pytest.raises(InvalidValue, match="no lasting name"):
        encode(value)


def test_a_form_gives_names_that_do_not_hang_on_the_class():
    forms = {Unknown: Form("Known", (("number", "value"),))}
    assert encode([Unknown(7)], forms) == "[Known(number=7)]"
    assert list_facts(([Unknown(7)], None), forms) == [[{"number": 7}], None]


@given(st.fractions())
def test_a_fraction_is_stored_as_python_printed_it(value):
    assert write_fraction(value) == str(value) == list_facts(value, {})


def test_what_is_stored_has_a_form_with_all_fields():
    """What a form leaves out would be lost, and would not count in the version of a schema."""
    forms = {**table._FORMS, **state._FORMS, schema_format.Format: schema_format._FORM}
    written = {part: sorted(place for _, place in form.fields) for part, form in forms.items()}
    assert written == {part: sorted(field.name for field in fields(part)) for part in forms}


def _parts(module):
    """The classes of a module whose values stand in questions."""
    return {
        each
        for name, each in vars(module).items()
        if isinstance(each, type)
        and each.__module__ == module.__name__
        and (is_dataclass(each) or issubclass(each, Enum))
    }


def test_everything_in_a_question_has_a_form_with_all_its_fields():
    parts = _parts(algebra) | _parts(expression)
    assert parts | set(LOSS_FORMS) == set(QUERY_FORMS)
    missing = []
    for part, form in QUERY_FORMS.items():
        if issubclass(part, Enum):
            missing += [f"{part}: {each}" for each in {one.value for one in part} ^ set(form)]
        else:
            written = [place for _, place in form.fields]
            known = [each.name for each in fields(part)]
            missing += [f"{part}: {name}" for name in set(written) ^ set(known)]
            assert len(set(written)) == len(written)
    assert missing == []


def test_texts_of_questions_are_what_python_printed():
    """The fields in their order: a form's text is the text of the first version's class."""
    day = expression.Literal(date(2024, 2, 29))
    age = expression.Field("age")
    query = algebra.Query(
        source=algebra.Join("inner", algebra.Scan("a"), algebra.Scan("b"), (("k", "k"),)),
        where=expression.Junction("and", (expression.Compare("<", age, day),)),
        keys=(algebra.Key("k", expression.DateTrunc("month", age)),),
        outputs=(
            algebra.Output(
                "q", expression.Aggregate(expression.Statistic.QUANTILE, age, None, Fraction(1, 3))
            ),
        ),
        columns=("k", "q"),
        order=(algebra.Order(expression.Field("q"), "descending"),),
        limit=3,
    )
    assert encode(query, QUERY_FORMS) == repr(query)
    for statistic in expression.Statistic:
        assert encode(statistic, QUERY_FORMS) == repr(statistic)
