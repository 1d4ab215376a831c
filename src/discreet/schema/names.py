"""What tables and columns may be called, how SQL and TOML write such a name, and names that a
source's own headings suggest. Names are public facts; nothing here is read from data.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from discreet.errors import SchemaError

__all__ = [
    "any_name",
    "fold",
    "of_words",
    "population_name",
    "propose_names",
    "spelt_as",
    "sql_name",
    "text_literal",
    "toml_key",
]

_LONGEST_NAME = 63  # bytes, which is what PostgreSQL keeps of a name
_OF_WORDS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"})
_INVISIBLE = (
    (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
)  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def any_name(name: str, what: str) -> str:
    """Check that a table, a column or a unit can be called so in every engine, and hand it back.

    Letters of every script, spaces and signs are fine; SQL writes such a name in double quotes.
    >>> any_name("Net income (€)", "a column's name")
    'Net income (€)'
    """
    raw: object = name
    if not isinstance(raw, str) or not _can_be_quoted(raw):
        raise SchemaError(
            f"{what} is {name!r:.200}; a name has 1 to {_LONGEST_NAME} bytes of printable "
            "characters, one of them a letter or a digit, no quotation mark, backquote or "
            "backslash, no $ in front and no space at either end. Choose another; a column that "
            "is called so in the source keeps that as its source_name."
        )
    if unicodedata.normalize("NFC", name) != name:
        raise SchemaError(
            f"{what} is {name!r:.200}, with letters and accents apart. Write it as "
            f"{unicodedata.normalize('NFC', name)!r:.200}, which looks the same."
        )
    return name


def _can_be_quoted(name: str) -> bool:
    return (
        name.isprintable()
        and 1 <= len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
        and any(character.isalnum() or character == "_" for character in name)
        and not any(sign in '"`\\' for sign in name)
        and not name.startswith("$")
        and name.strip() == name
    )


def of_words(name: str, signs: str = "_") -> bool:
    """Whether a name has letters and digits of any script, with their marks, and these signs.

    >>> of_words("größe_2"), of_words("नाम"), of_words("a/b"), of_words("a.b", "_.")
    (True, True, False, True)
    """
    return all(
        sign in signs or (unicodedata.category(sign) in _OF_WORDS and not _is_invisible(sign))
        for sign in name
    )


def _is_invisible(sign: str) -> bool:
    """Whether a letter or mark is one that nobody sees (Unicode: default ignorable)."""
    return any(first <= ord(sign) <= last for first, last in _INVISIBLE)


def fold(name: str) -> str:
    """A name as the engines compare it: two names that one of them takes for the same are equal.

    >>> fold("Straße") == fold("STRASSE"), fold("ıd") == fold("ID")
    (True, True)
    """
    # Java, and so Spark, takes the Turkish letters i with and without a dot for one.
    return unicodedata.normalize("NFC", name.replace("İ", "i").upper().casefold())


def spelt_as(name: str, known: Iterable[str]) -> str | None:
    """Which of the known names is meant: this very one, else one of other capitals; else None.

    >>> spelt_as("Kg", ["kg"]), spelt_as("Kg", ["kg", "Kg"]), spelt_as("g", ["kg"])
    ('kg', 'Kg', None)
    """
    listed = list(known)
    if name in listed:
        return name
    return next((other for other in listed if fold(other) == fold(name)), None)


def population_name(name: str) -> str:
    """The population that a table has if none is named: its own name, as an account is written.

    >>> population_name("visits"), population_name("Umsätze 2024?")
    ('visits', 'Umsätze_2024_')
    """
    return re.sub(r"^(?=\W)", "_", re.sub(r"[^\w.@+-]", "_", name))[:64]


@lru_cache(maxsize=1024)
def sql_name(name: str) -> str:
    """A name as a question writes it: in double quotes where SQL would not take it without.

    >>> sql_name("age"), sql_name("select"), sql_name("Net income")
    ('age', '"select"', '"Net income"')
    """
    if _PLAIN.fullmatch(name) and _stands_alone(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def _stands_alone(name: str) -> bool:
    """Whether a word is read as a name wherever a question may have one."""
    import sqlglot
    from sqlglot import expressions
    from sqlglot.errors import SqlglotError

    try:
        text = f"SELECT {name}, SUM({name}) FROM {name} WHERE {name} = 1 GROUP BY {name}"
        statement = sqlglot.parse_one(text)
    except SqlglotError:
        return False
    names = [part.name for part in statement.find_all(expressions.Column, expressions.Table)]
    return names.count(name) == len(names) == 5


def text_literal(value: str) -> str:
    """Text as a TOML basic string; JSON's escapes are TOML's, but for DEL.

    >>> print(text_literal('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A name as the key of an entry in a schema file.

    >>> toml_key("age"), toml_key("Größe")
    ('age', '"Größe"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else text_literal(name)


def propose_names(headings: Sequence[str]) -> list[str]:
    """Names for the columns of a source, all different: its headings, where words can stand for
    them, and words made from them otherwise.

    >>> propose_names(["age", "Net income (€)", "2024", "net_income", "%"])
    ['age', 'Net_income_2', 'c_2024', 'net_income', 'column_5']
    """
    own = {fold(heading) for heading in headings if _is_word(heading)}
    used: set[str] = set()
    names = []
    for place, heading in enumerate(headings, 1):
        if _is_word(heading) and fold(heading) not in used:
            used.add(fold(heading))
            names.append(heading)
            continue
        words = re.sub(r"\W+", "_", unicodedata.normalize("NFC", heading))
        plain = _cut(words if words == heading else words.strip("_"))
        if not any(character.isalnum() for character in plain):
            plain = f"column_{place}"
        if plain[0].isdigit():
            plain = _cut(f"c_{plain}")
        name, number = plain, 1
        while fold(name) in used | own:
            number += 1
            name = f"{_cut(plain, 5 + len(str(number)))}_{number}"
        used.add(fold(name))
        names.append(name)
    return names


def _is_word(heading: str) -> bool:
    return (
        re.fullmatch(r"[^\W\d]\w*", heading) is not None
        and _cut(heading) == heading
        and any(character.isalnum() for character in heading)
    )


def _cut(name: str, room: int = 0) -> str:
    """The name without what is beyond the longest, and no letter cut in two."""
    prefix = name.encode("utf-8", "replace")[: _LONGEST_NAME - room]
    return unicodedata.normalize("NFC", prefix.decode("utf-8", "ignore"))
