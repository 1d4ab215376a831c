"""The text of a value that is part of a durable identity, and the facts of one stored as JSON.
Every form is written out here or in a table of forms, so that no class may change a stored key by
being renamed, moved or printed differently. The texts never change; new values get new forms.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from discreet.errors import InvalidValue, with_article
from discreet.loss import ZCDP, Pure

__all__ = ["Form", "Forms", "LOSS_FORMS", "digest", "encode", "list_facts", "write_fraction"]


@dataclass(frozen=True, slots=True)
class Form:
    """How values of a class are written: under which name, with which fields as (name, attribute).

    `encode` writes `name(field=..., field=...)`, `list_facts` the fields alone.
    """

    name: str
    fields: tuple[tuple[str, str], ...]

    @staticmethod
    def of(name: str, *fields: str) -> "Form":
        """The form whose fields are called as the attributes are today."""
        return Form(name, tuple((field, field) for field in fields))


Forms = Mapping[type, Form | Mapping[str, str]]
"""The forms of some classes: of an enumeration, the text for each of its values."""

LOSS_FORMS: Forms = MappingProxyType(
    {Pure: Form.of("Pure", "epsilon"), ZCDP: Form.of("ZCDP", "rho", "delta")}
)
"""The forms of prices."""

# What Unicode gained from 14.0 to 15.1, as first and last: Pythons differ in what they call
# printable by this, and stored keys were made under 14.0.
_ADDED_HEX = """
CF3 ECE 2FFC-2FFF 31EF 10EFD-10EFF 1123F-11241 11B00-11B09 11F00-11F10 11F12-11F3A 11F3E-11F59
1342F 13440-13455 1B132 1B155 1D2C0-1D2D3 1DF25-1DF2A 1E030-1E06D 1E08F 1E4D0-1E4F9 1F6DC
1F774-1F776 1F77B-1F77F 1F7D9 1FA75-1FA77 1FA87-1FA88 1FAAD-1FAAF 1FABB-1FABD 1FABF 1FACE-1FACF
1FADA-1FADB 1FAE8 1FAF7-1FAF8 2B739 2EBF0-2EE5D 31350-323AF
"""
_ADDED = tuple(
    (int(first, 16), int(last or first, 16))
    for first, _, last in (part.partition("-") for part in _ADDED_HEX.split())
)
_FIRSTS = tuple(first for first, _ in _ADDED)
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}


def digest(value: object, forms: Forms = LOSS_FORMS) -> str:
    """The SHA-256 of a value's text, in hexadecimal digits.

    >>> digest(("SELECT 1", Fraction(1, 2)))[:16]
    'da65b52adfd0993b'
    """
    return sha256(encode(value, forms).encode()).hexdigest()


def encode(value: object, forms: Forms = LOSS_FORMS) -> str:
    """The text of a value made of the basic types and of classes that have a form.

    >>> encode((None, True, 1, "it's", Fraction(1, 2), [Pure(epsilon=1)]))
    '(None, True, 1, "it\\'s", Fraction(1, 2), [Pure(epsilon=Fraction(1, 1))])'
    """
    form = forms.get(type(value))
    if isinstance(form, Form):
        inside = (f"{name}={encode(getattr(value, place), forms)}" for name, place in form.fields)
        return f"{form.name}({', '.join(inside)})"
    if form is not None:
        return form[value.value]  # type: ignore[attr-defined]
    match value:
        case tuple():
            parts = [encode(part, forms) for part in value]
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        case list():
            return f"[{', '.join(encode(part, forms) for part in value)}]"
        case _:
            return _encode_basic(value)


def list_facts(value: object, forms: Forms) -> Any:
    """A value as JSON holds it: by the names and in the order of its form, fractions as texts.

    >>> list_facts((ZCDP(rho=0.5), "x"), LOSS_FORMS)
    [{'rho': '1/2', 'delta': '0'}, 'x']
    """
    form = forms.get(type(value))
    if isinstance(form, Form):
        return {name: list_facts(getattr(value, place), forms) for name, place in form.fields}
    if isinstance(value, tuple | list):
        return [list_facts(part, forms) for part in value]
    return write_fraction(value) if isinstance(value, Fraction) else value


def write_fraction(value: Fraction) -> str:
    """A fraction as it is stored: "-1/2", or "3" without a denominator."""
    over = "" if value.denominator == 1 else f"/{value.denominator:d}"
    return f"{value.numerator:d}{over}"


def _encode_basic(value: object) -> str:
    if value is None or value is True or value is False:
        return {None: "None", True: "True", False: "False"}[value]
    if type(value) is int:
        return f"{value:d}"
    if type(value) is str:
        return _quote(value)
    if type(value) is Fraction:
        return f"Fraction({value.numerator:d}, {value.denominator:d})"
    if type(value) is datetime and value.tzinfo is None:
        shown = [value.year, value.month, value.day, value.hour, value.minute]
        if value.second or value.microsecond:
            shown.append(value.second)
        if value.microsecond:
            shown.append(value.microsecond)
        return f"datetime.datetime({', '.join(f'{part:d}' for part in shown)})"
    if type(value) is date:
        return f"datetime.date({value.year:d}, {value.month:d}, {value.day:d})"
    raise InvalidValue(
        f"no lasting name can be made of {with_article(type(value).__name__)}; give plain texts, "
        "numbers and lists, or a name of your own. Nothing was run or charged."
    )


def _quote(text: str) -> str:
    """The text in single quotes, or in double ones where only single ones are inside."""
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + "".join(_escape(sign, quote) for sign in text) + quote


def _escape(sign: str, quote: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign == quote:
        return f"\\{sign}"
    code = ord(sign)
    if " " <= sign <= "~" or (code > 0x7F and sign.isprintable() and not _is_newer(code)):
        return sign
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _is_newer(code: int) -> bool:
    place = bisect_right(_FIRSTS, code) - 1
    return place >= 0 and code <= _ADDED[place][1]
