"""Texts that are, or nearly are, days and moments, and what each of them says: nothing, or a moment
in UTC. The oracle reads sign by sign and shares nothing with the code that it judges.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from itertools import compress, product

EPOCH = date(1970, 1, 1).toordinal()
DAY_MICROSECONDS = 86_400_000_000
DIGITS = frozenset("0123456789")

DAYS = (
    "2024-02-29", "2023-12-31", "0001-01-01", "9999-12-31", "2024-02-30", "1900-02-29",
    "0000-01-01", "2024-00-10", "2024-13-01", "2024-1-5", "24-01-01", "12024-01-01",
    "2024/01/05", "20240105", "05.01.2024", "-2024-01-05",
)  # fmt: skip
GAPS = ("T", " ", "t", "  ", "", "_", "\n")
CLOCKS = (
    "10:00", "00:30:00", "23:59:59.999999", "23:59:59.9999999", "10:00:00.5", "10:00:00.123456789",
    "10:00:00.1234567890", "10:00:00.", "10:00:00,5", "9:30", "10", "1000", "24:00:00", "10:60",
    "10:00:60",
)  # fmt: skip
OFFSETS = (
    "", "Z", "z", "+02", "+0200", "+02:00", "-23:59", "-00:30", "+00:00", "-00", "+02:00:30", "+2",
    "+24:00", "+02:60", " +02:00", "\u221202:00", "ZZ",
)  # fmt: skip
WRAPS = (
    "{}", " {}  ", "\t{}", "\u00a0{}", "{}\n", "{} x", "x {}", "{} Europe/Berlin", "{} UTC",
    "{}[Europe/Berlin]", "{} PM", "{}am", "{} BC", "{} (BC)", "{};{}",
)  # fmt: skip
WORDS = (
    "epoch", "infinity", "-infinity", "+infinity", "inf", "now", "today", "tomorrow", "yesterday",
    "null", "NaT", "1704067200", "45292", "2024-W01-1", "2024-001", "2024-01", "2024", "T10:00",
    "10:00", "0", "\u0662\u0660\u0662\u0664-01-01", "", "  ",
)  # fmt: skip


def cells() -> Iterator[str]:
    """Every combination; each part alone with every other, and in every wrapping."""
    yield from WORDS
    for wrap in WRAPS:
        for day in DAYS:
            yield wrap.format(day, day)
            for offset in OFFSETS[1:]:
                yield wrap.format(day + offset, day)
    for wrap, (day, gap, clock, offset) in product(WRAPS, product(DAYS, GAPS, CLOCKS, OFFSETS)):
        yield wrap.format(day + gap + clock + offset, day)


@cache
def all_cells() -> list[str]:
    """All of them, without twins."""
    return list(dict.fromkeys(cells()))


def some_cells(every: int) -> list[str]:
    """All that say something, and a part of the others."""
    listed = all_cells()
    kept = (place < 600 or place % every == 0 or read(cell) for place, cell in enumerate(listed))
    return list(compress(listed, kept))


def _number(text: str) -> int | None:
    return int(text) if text and set(text) <= DIGITS else None


def _day(text: str) -> int | None:
    """Days after 1970-01-01."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    parts = [_number(part) for part in (text[:4], text[5:7], text[8:])]
    if None in parts:
        return None
    try:
        return date(*parts).toordinal() - EPOCH
    except ValueError:
        return None


def _clock(text: str) -> int | None:
    """Microseconds after midnight, further digits left out."""
    whole, point, digits = text.partition(".")
    if point and (not 1 <= len(digits) <= 9 or not set(digits) <= DIGITS or len(whole) != 8):
        return None
    if len(whole) not in (5, 8) or any(whole[place] != ":" for place in range(2, len(whole), 3)):
        return None
    parts = [_number(whole[place : place + 2]) for place in range(0, len(whole), 3)]
    if any(part is None for part in parts):
        return None
    hour, minute, second = (*parts, 0)[:3]
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(f"{digits:0<6}"[:6])


def _offset(text: str) -> int | None:
    """Minutes ahead of UTC."""
    if text == "Z":
        return 0
    digits = text[1:3] + text[4:] if len(text) == 6 and text[3] == ":" else text[1:]
    if text[0] not in "+-" or len(digits) not in (2, 4) or not set(digits) <= DIGITS:
        return None
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if text[0] == "-" else 1)


def read(cell: str) -> tuple[int, int | None] | None:
    """Microseconds of what is written after 1970, and minutes ahead of UTC; None for neither."""
    text = cell.strip(" ")
    day = _day(text[:10])
    if day is None or (text[10:] and text[10] not in "T "):
        return None
    behind = text[11:]
    if not text[10:]:
        return day * DAY_MICROSECONDS, None
    cut = next((place for place, sign in enumerate(behind) if sign in "+-Z"), len(behind))
    clock = _clock(behind[:cut])
    offset = _offset(behind[cut:]) if behind[cut:] else None
    if clock is None or (behind[cut:] and offset is None):
        return None
    return day * DAY_MICROSECONDS + clock, offset


def moment_code(cell: str) -> int | None:
    """Whole seconds in UTC after 1970, taken down."""
    found = read(cell)
    return None if found is None else (found[0] - 60_000_000 * (found[1] or 0)) // 1_000_000


def day_code(cell: str) -> int | None:
    """Days after 1970, of what is written without an offset or in UTC."""
    found = read(cell)
    return None if found is None or found[1] else found[0] // DAY_MICROSECONDS


def as_datetime(code: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=code)
