"""One column as the public knows it: its kind, the lattice of its values, what NULL becomes.
Also the names a schema may use. Declared by the custodian; nothing here is read from data.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from discreet.encoding import Form
from discreet.errors import SchemaError, with_article
from discreet.schema.names import any_name, of_words

__all__ = [
    "AS_NULL",
    "COLUMN_FORM",
    "Column",
    "EPOCH",
    "INFINITY",
    "KINDS",
    "LARGEST",
    "MIDNIGHT",
    "OTHER",
    "check_description",
    "identifier",
    "nearest",
    "whole",
]

AS_NULL = "null"
"""The rule for NaN that treats it as NULL, whatever the rule for that is."""

COLUMN_FORM = Form.of(
    "Column",
    *("name", "kind", "step", "lower", "upper", "keys", "other", "null", "private_keys"),
    *("nan", "infinity", "source_name", "description"),
)
"""How a column is stored and published; versions of schemas hang on the order."""

EPOCH = date(1970, 1, 1)
"""Day 0 of the date lattice."""

INFINITY = ("clamp", "drop", "error")
"""The rules for infinities: the bound on their side, left out like NULL, or refused."""

KINDS = ("integer", "number", "category", "boolean", "date", "datetime")
"""What a column can be."""

LARGEST = 2**53
"""The largest lattice integer, in absolute value: every engine holds it exactly."""

MIDNIGHT = datetime(1970, 1, 1)
"""Second 0 of the datetime lattice; a datetime has no zone."""

OTHER = "other"
"""The public name of the group of undeclared category values."""

_LONGEST = 63  # bytes of a name
_LONGEST_SOURCE_NAME = 1000
_LONGEST_DESCRIPTION = 1000
_MOST_KEYS = 100_000
_STEP_DIGITS = 10**18  # numerator and denominator of a step fit a 64-bit integer


def nearest(
    word: str, known: Iterable[str], *, spelt: Callable[[str], str] = lambda name: name
) -> str:
    """A hint that ends a message: the known word nearest to an unknown one, or all of them.

    `spelt` says how a word is written where the hint is followed.
    >>> nearest("regoin", ["age", "region"])
    "Did you mean 'region'?"
    >>> print(nearest("slect", ["select"], spelt='"{}"'.format))
    Did you mean '"select"'?
    """
    folded = {name.casefold(): name for name in known}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1)
    if matches:
        return f"Did you mean {spelt(folded[matches[0]])!r}?"
    listed = ", ".join(map(spelt, sorted(folded.values())[:20]))
    return f"Known: {listed}." if listed else "There are none."


def identifier(name: str, what: str) -> str:
    """Check that a name is made of letters, digits and underscores, and hand it back.

    Letters of every script are; such a name can also be that of a file.
    >>> identifier("patient_id", "unit"), identifier("Größe", "unit")
    ('patient_id', 'Größe')
    """
    raw: object = name
    begins = isinstance(raw, str) and (raw[:1].isalpha() or raw[:1] == "_")
    if not begins or not of_words(name) or len(name.encode()) > _LONGEST:
        raise SchemaError(
            f"{what} is {name!r:.200}; a name has 1 to {_LONGEST} bytes of letters, digits and "
            "underscores and does not begin with a digit."
        )
    return any_name(name, what)


def check_description(text: str, what: str) -> str:
    """Check that a description is one line of text, and hand it back."""
    raw: object = text
    if not isinstance(raw, str) or not raw.isprintable() or len(raw) > _LONGEST_DESCRIPTION:
        raise SchemaError(
            f"{what} is {text!r:.100}; write one line of at most {_LONGEST_DESCRIPTION} characters."
        )
    return text


def whole(value: int, what: str, least: int, most: int) -> int:
    """Check that a value is an integer between two limits, and hand it back."""
    raw: object = value
    if isinstance(raw, bool) or not isinstance(raw, int) or not least <= raw <= most:
        raise SchemaError(f"{what} is {value!r}; it must be an integer from {least} to {most}.")
    return value


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its kind, and the public lattice its values are clamped and rounded to.

    A value is k * step for an integer k between lower and upper. Dates are days and datetimes
    seconds since 1970-01-01, booleans 0 and 1, categories the index of their key; where `other`
    is set, a last code stands for undeclared values and NULL. A category with `private_keys` has
    no codes: its values are texts nobody declared, distinguished byte by byte. `null` is drop,
    error, or the k that replaces NULL; `nan` the same for NaN, or null to follow that rule;
    `infinity` is clamp, drop or error. `source_name` is what the source calls the column, where
    that is another name; `description` says what it means.
    >>> Column("income", "number", step=Fraction(1, 2), lower=0, upper=400).decode(3)
    1.5
    """

    name: str
    kind: str
    step: Fraction = Fraction(1)
    lower: int = 0
    upper: int = 1
    keys: tuple[str, ...] = ()
    other: bool = False
    null: str | int = "drop"
    private_keys: bool = False
    nan: str | int = AS_NULL
    infinity: str = "clamp"
    source_name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        any_name(self.name, "a column's name")
        check_description(self.description, f"{self.name}: description")
        called: object = self.source_name
        if not isinstance(called, str) or "\0" in called or len(called) > _LONGEST_SOURCE_NAME:
            raise SchemaError(
                f"{self.name}: source_name is {called!r:.200}; write the column's name in the "
                f"source, a text of at most {_LONGEST_SOURCE_NAME} characters."
            )
        if self.kind not in KINDS:
            raise SchemaError(f"{self.name}: type is {self.kind!r}. {nearest(self.kind, KINDS)}")
        if self.kind == "category":
            self._check_private_keys() if self.private_keys else self._check_keys()
        elif self.keys or self.other or self.private_keys:
            raise SchemaError(f"{self.name}: only a category has keys and other.")
        self._check_lattice()
        self._check_rule("null", self.null, ("drop", "error"))
        self._check_rule("nan", self.nan, (AS_NULL, "drop", "error"))
        if self.nan != AS_NULL and self.kind not in ("integer", "number"):
            raise SchemaError(f"{self.name}: only an integer or a number has a rule for nan.")
        if self.infinity not in INFINITY:
            raise SchemaError(
                f"{self.name}: infinity is {self.infinity!r}; write clamp, drop or error."
            )
        if self.infinity != "clamp" and self.kind in ("category", "boolean"):
            raise SchemaError(f"{self.name}: {with_article(self.kind)} has no rule for infinity.")

    def _check_rule(self, what: str, rule: str | int, words: tuple[str, ...]) -> None:
        if isinstance(rule, str):
            if rule not in words:
                listed = " or ".join((", ".join(words[:-1]), words[-1]))
                raise SchemaError(f"{self.name}: {what} is {rule!r}; write {listed}.")
        else:
            whole(rule, f"{self.name}: {what}", self.lower, self.upper)

    def _check_lattice(self) -> None:
        step: object = self.step
        if not isinstance(step, Fraction) or step <= 0:
            raise SchemaError(f"{self.name}: step is {step!r}; it must be a Fraction above 0.")
        if max(step.numerator, step.denominator) > _STEP_DIGITS:
            raise SchemaError(f"{self.name}: step {step} needs more than 18 digits.")
        whole(self.lower, f"{self.name}: lower in steps", -LARGEST, LARGEST)
        whole(self.upper, f"{self.name}: upper in steps", -LARGEST, LARGEST)
        if self.lower > self.upper:
            raise SchemaError(f"{self.name}: lower {self.lower} is above upper {self.upper}.")
        if self.kind != "number" and step.denominator != 1:
            raise SchemaError(f"{self.name}: step is {step}; of this type it is an integer.")
        if self.kind in ("category", "boolean", "date") and step != 1:
            raise SchemaError(f"{self.name}: step is {step}; of this type it is 1.")
        if self.kind == "boolean" and (self.lower, self.upper) != (0, 1):
            raise SchemaError(f"{self.name}: a boolean lies between 0 and 1.")
        if self.kind in ("date", "datetime"):
            self.decode(self.lower)
            self.decode(self.upper)

    def _check_private_keys(self) -> None:
        if self.private_keys is not True:
            raise SchemaError(f"{self.name}: private_keys is {self.private_keys!r}, not a bool.")
        if self.keys or self.other or (self.lower, self.upper) != (0, 0):
            raise SchemaError(
                f"{self.name}: private keys are not known in advance, so there are no keys, no "
                "other and no codes. Leave them out."
            )
        if self.null != "drop":
            raise SchemaError(
                f"{self.name}: null is {self.null!r}; with private keys NULL is in no group. "
                "Leave null out."
            )

    def _check_keys(self) -> None:
        if not 1 <= len(self.keys) <= _MOST_KEYS:
            raise SchemaError(
                f"{self.name}: {len(self.keys)} keys; a category has 1 to {_MOST_KEYS}."
            )
        seen = set()
        for key in self.keys:
            raw: object = key
            if not isinstance(raw, str):
                raise SchemaError(f"{self.name}: the key {key!r} is not text; put it in quotes.")
            if not key or "\0" in key:
                raise SchemaError(f"{self.name}: the key {key!r} is empty or holds a zero byte.")
            if key in seen:
                raise SchemaError(f"{self.name}: the key {key!r} is there twice. Remove one.")
            seen.add(key)
        if self.other and OTHER in seen:
            raise SchemaError(
                f"{self.name}: {OTHER!r} is a declared key and other = true adds a group of "
                "that name. Remove one of the two."
            )
        if (self.lower, self.upper) != (0, len(self.keys) - 1 + self.other):
            raise SchemaError(f"{self.name}: the codes of a category are those of its keys.")

    def decode(self, k: int) -> int | float | str | bool | date:
        """The public value of a lattice integer: what a result's key or bound shows.

        >>> Column("region", "category", upper=1, keys=("north", "south")).decode(1)
        'south'
        >>> Column("day", "date", lower=19723, upper=20453).decode(19723)
        datetime.date(2024, 1, 1)
        """
        if self.kind == "number":
            return float(k * self.step)
        if self.kind == "integer":
            return int(k * self.step)
        if self.kind in ("date", "datetime"):
            return self._moment(k)
        if self.private_keys or not self.lower <= k <= self.upper:
            raise SchemaError(f"{self.name}: a code without a key.")
        if self.kind == "boolean":
            return bool(k)
        return self.keys[k] if k < len(self.keys) else OTHER

    def _moment(self, k: int) -> date:
        try:
            if self.kind == "date":
                return EPOCH + timedelta(days=k)
            return MIDNIGHT + timedelta(seconds=int(k * self.step))
        except OverflowError:
            raise SchemaError(
                f"{self.name}: {with_article(self.kind)} outside the years 1 to 9999."
            ) from None

    @property
    def nullable(self) -> bool:
        """Whether a value on the lattice can be missing, by the rules and whatever the data.

        >>> Column("age", "integer", null=0).nullable
        False
        >>> Column("age", "integer", null=0, nan="drop").nullable
        True
        """
        if self.other:
            return False
        # A refusal happens once, at registration; a value that comes later is left out.
        replaced = self.nan not in ("drop", "error") and self.infinity == "clamp"
        return isinstance(self.null, str) or not replaced

    @property
    def accepted(self) -> "Column":
        """The same column as a source that was accepted has it: what a rule refuses is not there.

        >>> Column("age", "integer", null="error").accepted.nullable
        False
        >>> Column("age", "integer", null="error", nan="drop").accepted.nullable
        True
        """
        return replace(
            self,
            null=self.lower if self.null == "error" else self.null,
            nan=AS_NULL if self.nan == "error" else self.nan,
            infinity="clamp" if self.infinity == "error" else self.infinity,
        )
