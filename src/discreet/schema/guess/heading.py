"""Guesses where a table begins in a text or a sheet, and whether its first line holds names. For
the custodian, who checks the guess; nothing here is kept.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from discreet.schema.guess.cells import MISSING, is_truth, is_typed, is_whole

__all__ = ["Heading", "guess_header", "guess_heading"]

_MOST_TITLES = 50
_ENOUGH = 0.8  # of the rows below that are as wide as the table
_COMMENTS = ("#", "//")
_LEAST_SERIES = 2
_LONG_NUMBER = 20  # digits: no year, and beyond some length no number that Python reads

_Row = tuple[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Heading:
    """The line on which a table begins, whether it holds the names of columns, what of this
    the custodian should check, and how many cells most of its lines have.

    Made from rows, so for the custodian to check.
    """

    first_line: int = 1
    header: bool = True
    doubts: tuple[str, ...] = ()
    width: int = 1

    def only_titles(self) -> "Heading":
        """The same with what is to be checked about titles alone, where the custodian has said
        whether there are names.

        >>> Heading(3, False, ("a title", "a row")).only_titles().doubts
        ('a title',)
        """
        return replace(self, doubts=self.doubts[:1] if self.first_line > 1 else ())


def guess_heading(rows: Sequence[_Row]) -> Heading:
    """Where a table begins, from its first lines that are not blank, with their numbers.

    >>> rows = [(1, ["Patients 2024"]), (3, ["id", "age"]), (4, ["a", "39"]), (5, ["b", "40"])]
    >>> guess_heading(rows).first_line
    3
    >>> guess_heading([(1, ["a", "39"]), (2, ["b", "40"])]).header
    False
    """
    start = _titles(rows)
    heading = guess_header(rows[start:])
    if not start or start >= len(rows):
        return heading
    first = rows[start][0]
    above = (
        "line 1 is a title and is" if first == 2 else f"lines 1 to {first - 1} are titles and are"
    )
    doubt = (
        f"{above} left out (first_line = {first} in [format]); if the table begins on another "
        "line, write its number there (`discreet init` takes --first-line)"
    )
    return replace(heading, first_line=first, doubts=(doubt, *heading.doubts))


def guess_header(rows: Sequence[_Row]) -> Heading:
    """Whether the first of some lines holds the names of columns.

    >>> guess_header([(7, ["id", "age"]), (8, ["a", "39"])])
    Heading(first_line=1, header=True, doubts=(), width=2)
    """
    if not rows:
        return Heading()
    line, names = rows[0]
    votes = _votes(names, [cells for _, cells in rows[1:]])
    header = votes.names > 0 or votes.row == 0
    doubts: tuple[str, ...] = ()
    if not header:
        doubts = (
            f"line {line} looks like a row, not like the names of columns, which are therefore "
            "called column_1, column_2 and so on (header = false and columns in [format]); if it "
            "holds their "
            "names, say so (`discreet init` takes --header)",
        )
    elif votes.names == 0 and votes.series:
        doubts = (
            f"the names of columns on line {line} are numbers; if that line is a row, write "
            "header = false and columns in [format] (`discreet init` takes --no-header)",
        )
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    return Heading(header=header, doubts=doubts, width=max(1, width))


def _width(cells: Sequence[str]) -> int:
    return max((place for place, cell in enumerate(cells, 1) if cell.strip()), default=0)


def _titles(rows: Sequence[_Row]) -> int:
    """How many of the first lines are titles or comments above a wider table."""
    widths = [_width(cells) for _, cells in rows]
    if not widths:
        return 0
    usual = Counter(widths).most_common(1)[0][0]
    most = max(1, (usual - 1) // 2)
    count = 0
    for _, cells in rows[:_MOST_TITLES]:
        comment = bool(cells) and cells[0].lstrip().startswith(_COMMENTS) and _width(cells) < usual
        if not comment and sum(bool(cell.strip()) for cell in cells) > most:
            break
        count += 1
    below = widths[count:]
    wide = sum(width > 1 for width in below)
    is_table = usual > 1 and below and wide >= _ENOUGH * len(below)
    return count if count and is_table else 0


@dataclass(frozen=True, slots=True)
class _Votes:
    """How many columns say that their first cell is a name, or one of a row."""

    names: int
    row: int
    series: bool


def _votes(first: Sequence[str], below: Sequence[Sequence[str]]) -> _Votes:
    names = row = 0
    series = _is_series([cell.strip() for cell in first if is_whole(cell.strip())])
    # Names may come again where files were put together; a row's cells come in other rows too.
    below = [cells for cells in below if [*cells] != [*first]]
    for place, first_cell in enumerate(first):
        cell = first_cell.strip()
        if not cell or cell in MISSING:
            continue
        cells = [row[place].strip() for row in below if place < len(row)]
        cells = [cell for cell in cells if cell and cell not in MISSING]
        if cells and is_truth(cells):
            names += not is_truth([cell])
            row += len(cell) > 1 and is_truth([cell])
        elif is_typed(cells):
            typed = is_typed([cell]) and not cell.isalpha()  # t and n are words for a truth too
            names += not typed
            row += typed and not (series and is_whole(cell))
        elif cells:
            row += cell in cells
        else:
            row += is_typed([cell]) and not is_truth([cell]) and not is_whole(cell)
    return _Votes(names, row, series)


def _is_series(cells: Sequence[str]) -> bool:
    """Whether whole numbers follow each other, as years over columns do."""
    numbers = [int(cell) for cell in cells if len(cell) < _LONG_NUMBER]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) >= _LEAST_SERIES and len(steps) == 1 and steps != {0}
