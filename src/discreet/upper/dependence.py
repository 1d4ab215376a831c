"""How the columns of an outer query hang on noise: not at all, as a sum with known factors, or in
another way; and whether which rows there are hangs on it too. From the checked tree alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.upper.reading.functions import AGGREGATES, RANKED
from discreet.upper.tree import (
    Apply,
    Ask,
    Block,
    Branches,
    Column,
    Combine,
    Common,
    Convert,
    Expression,
    Inside,
    Join,
    Listed,
    Literal,
    Nested,
    Number,
    Operate,
    Part,
    Query,
    Select,
    Sort,
    Source,
    Star,
    Text,
    parts_of,
)

__all__ = ["Dependence", "Shape", "Term", "shape_of"]

Term = tuple[int, str]
"""A noisy column of a block: the block's place in the statement, and the column's name."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """How one column hangs on noise.

    `terms` are known factors of noisy columns of one row of each block, None where it is no such
    sum; `obscure` says that some of it comes from a value whose error is no noise that was added.
    """

    noisy: bool = False
    obscure: bool = False
    terms: tuple[tuple[Term, Fraction], ...] | None = ()


_FIXED = Dependence()


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a query, and whether noise decides which rows it has."""

    columns: tuple[tuple[str, Dependence], ...]
    noisy_rows: bool = False
    noisy_order: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """What the names in an expression stand for: sources of this query, then those around it."""

    sources: tuple[tuple[str, Shape], ...]
    outer: "_Place | None" = None
    aliases: Mapping[str, Dependence] | None = None

    def find(self, column: Column) -> Dependence:
        """What a column hangs on; one that nobody knows hangs on everything."""
        for source, shape in self.sources:
            if column.table and source.casefold() != column.table.casefold():
                continue
            for called, dependence in shape.columns:
                if called.casefold() == column.name.casefold():
                    return dependence
        if not column.table and self.aliases and column.name.casefold() in self.aliases:
            return self.aliases[column.name.casefold()]
        if self.outer is not None:
            return self.outer.find(column)
        return Dependence(noisy=True, obscure=True, terms=None)

    @property
    def noisy_rows(self) -> bool:
        return any(shape.noisy_rows for _, shape in self.sources)

    @property
    def noisy_order(self) -> bool:
        return any(shape.noisy_order for _, shape in self.sources)


def shape_of(query: Query, blocks: Sequence[Shape]) -> Shape:
    """The columns of a query over blocks of these shapes.

    >>> from discreet.upper.tree import Item, Named
    >>> n = Dependence(noisy=True, terms=(((0, "n"), Fraction(1)),))
    >>> block = Named(Block(0), "q")
    >>> half = Operate("/", (Column("n"), Number("2")))
    >>> shape = shape_of(Select(items=(Item(half, "h"),), source=block), [Shape((("n", n),))])
    >>> shape.columns[0][1].terms
    (((0, 'n'), Fraction(1, 2)),)
    """
    return _Reading(blocks).query(query, {}, None)


_Commons = Mapping[str, Shape]


class _Reading:
    """Follows noise through one statement."""

    __slots__ = ("_blocks",)

    def __init__(self, blocks: Sequence[Shape]) -> None:
        self._blocks = blocks

    def query(self, query: Query, commons: _Commons, outer: _Place | None) -> Shape:
        known = dict(commons)
        for called, names, inner in query.commons:
            known[called.casefold()] = _rename(self.query(inner, known, outer), names)
        if isinstance(query, Combine):
            return self._combine(query, known, outer)
        return self._select(query, known, outer)

    def _combine(self, query: Combine, commons: _Commons, outer: _Place | None) -> Shape:
        left, right = (self.query(side, commons, outer) for side in (query.left, query.right))
        columns = tuple(
            (name, one if one == other else _mix((one, other)))
            for (name, one), (_, other) in zip(left.columns, right.columns, strict=False)
        )
        compared = query.operator != "UNION ALL" and any(part.noisy for _, part in columns)
        place = _Place((("", Shape(columns)),), outer)
        order = left.noisy_order or right.noisy_order
        order = order or self._sorts(query.order, place, commons)
        cut = (query.limit is not None or query.offset is not None) and order
        return Shape(columns, left.noisy_rows or right.noisy_rows or compared or cut, order)

    def _select(self, query: Select, commons: _Commons, outer: _Place | None) -> Shape:
        sources: tuple[tuple[str, Shape], ...] = ()
        joined = False
        if query.source is not None:
            sources, joined = self._source(query.source, commons, outer)
        place = _Place(sources, outer)

        def hangs(expression: Expression | None) -> bool:
            return expression is not None and self._read(expression, place, commons).noisy

        rows = joined or place.noisy_rows or hangs(query.where)
        grouped = bool(query.group or query.sets) or _has_aggregate(query)
        keys = _group_keys(query)
        below = rows or any(map(hangs, keys))  # whether noise decides which rows are together
        rows = rows if keys or not grouped else False
        rows = rows or any(map(hangs, keys))
        columns: list[tuple[str, Dependence]] = []
        for item in query.items:
            if isinstance(item.expression, Star):
                columns += _spread(item.expression, sources)
                continue
            found = self._read(item.expression, place, commons, below)
            columns.append((item.alias, found))
        aliases = {called.casefold(): found for called, found in columns}
        place = _Place(sources, outer, aliases)
        late = (query.having, query.qualify)
        rows = rows or any(
            part is not None and self._read(part, place, commons, below).noisy for part in late
        )
        rows = rows or (query.distinct and any(found.noisy for _, found in columns))
        sorts = self._sorts(query.order, place, commons)
        cut = query.limit is not None or query.offset is not None or bool(query.distinct_on)
        order = sorts or place.noisy_order  # which decides between equal rows
        lost = (cut and order) or any(map(hangs, query.distinct_on))
        return Shape(tuple(columns), rows or lost, order)

    def _sorts(self, order: tuple[Sort, ...], place: _Place, commons: _Commons) -> bool:
        """Whether noise decides an order; a bare number stands for a column of the result."""
        for sort in order:
            if isinstance(sort.expression, Number | Literal):  # a column of the result, or ALL
                return True
            named = sort.expression
            if isinstance(named, Column) and not named.table and place.aliases:
                shown = place.aliases.get(named.name.casefold())  # before columns of that name
                if shown is not None and shown.noisy:
                    return True
            if self._read(named, place, commons).noisy:
                return True
        return False

    def _source(
        self, source: Source, commons: _Commons, outer: _Place | None
    ) -> tuple[tuple[tuple[str, Shape], ...], bool]:
        if isinstance(source, Join):
            left, one = self._source(source.left, commons, outer)
            right, other = self._source(source.right, commons, outer)
            place = _Place((*left, *right), outer)
            matched = [place.find(Column(called)).noisy for called in source.using] + [
                self._read(source.on, place, commons).noisy if source.on is not None else False
            ]
            unsure = any(matched) or place.noisy_rows
            if unsure and source.kind in ("LEFT", "FULL"):
                right = _make_noisy(right)
            if unsure and source.kind in ("RIGHT", "FULL"):
                left = _make_noisy(left)
            if source.using:
                left, right = _merge_using(source, left, right)
            shown = left if source.kind in ("SEMI", "ANTI") else (*left, *right)
            return shown, one or other or any(matched)
        match source.source:
            case Block(at):
                shape = self._blocks[at]
            case Common(called):
                shape = commons[called.casefold()]
            case Nested(inner):
                shape = self.query(inner, commons, outer)
            case Listed(rows):
                place = _Place((), outer)
                read = [[self._read(cell, place, commons) for cell in row] for row in rows]
                columns = enumerate(zip(*read, strict=True))
                shape = Shape(tuple((f"col{at}", _mix(cells)) for at, cells in columns))
        return ((source.alias, _rename(shape, source.columns)),), False

    def _read(  # noqa: C901 (one line for each class)
        self, expression: Expression, place: _Place, commons: _Commons, below: bool = False
    ) -> Dependence:
        def read(part: Expression) -> Dependence:
            return self._read(part, place, commons, below)

        match expression:
            case Column():
                return place.find(expression)
            case Number() | Text() | Literal():
                return _FIXED
            case Star():
                return Dependence(noisy=True, terms=None)
            case Operate(operator, operands):
                return _operate(operator, operands, read)
            case Convert(_, operand, "DOUBLE"):
                return read(operand)
            case Convert(_, operand) | Part(_, operand):
                return _mix((read(operand),))
            case Branches(operand, arms, otherwise):
                inner = [part for arm in arms for part in arm]
                inner += [part for part in (operand, otherwise) if part is not None]
                return _mix(tuple(map(read, inner)))
            case Inside(operand, tuple() as values):
                return _mix(tuple(map(read, (operand, *values))))
            case Inside(operand, Select() | Combine() as query):
                return _mix((read(operand), self._ask(query, place, commons)))
            case Ask(word, query):
                return self._ask(query, place, commons, word)
            case Apply():
                return self._apply(expression, place, read, below)
        raise TypeError(f"{type(expression).__name__} is no expression")

    def _ask(self, query: Query, place: _Place, commons: _Commons, word: str = "") -> Dependence:
        shape = self.query(query, commons, place)
        parts = tuple(found for _, found in shape.columns)
        if word == "EXISTS":
            return _mix((Dependence(noisy=shape.noisy_rows),))
        if len(parts) == 1 and not shape.noisy_rows:
            return parts[0]
        return _mix((*parts, Dependence(noisy=shape.noisy_rows)))

    def _apply(
        self,
        applied: Apply,
        place: _Place,
        read: Callable[[Expression], Dependence],
        below: bool,
    ) -> Dependence:
        parts = [read(part) for part in applied.arguments]
        parts += [read(sort.expression) for sort in applied.within]
        if applied.where is not None:
            parts.append(read(applied.where))
        if applied.over is not None:
            parts += [read(part) for part in applied.over.partition]
            parts += [read(sort.expression) for sort in applied.over.order]
        several = applied.over is not None or applied.function in AGGREGATES | RANKED
        if several and (below or place.noisy_rows or place.noisy_order):
            parts.append(Dependence(noisy=True))
        return _mix(tuple(parts))


def _operate(
    operator: str, operands: tuple[Expression, ...], read: Callable[[Expression], Dependence]
) -> Dependence:
    parts = tuple(map(read, operands))
    if operator == "NEGATE":
        return _scale(parts[0], Fraction(-1))
    if operator in ("+", "-") and all(part.terms is not None for part in parts):
        sign = Fraction(1 if operator == "+" else -1)
        return _add(parts[0], _scale(parts[1], sign))
    constants = [_constant(part) for part in operands]
    if operator == "*" and constants[1] is not None:
        return _scale(parts[0], constants[1])
    if operator == "*" and constants[0] is not None:
        return _scale(parts[1], constants[0])
    if operator == "/" and constants[1]:
        return _scale(parts[0], 1 / constants[1])
    return _mix(parts)


def _constant(expression: Expression) -> Fraction | None:
    match expression:
        case Number(digits):
            return Fraction(digits)
        case Operate("NEGATE", (Number(digits),)):
            return -Fraction(digits)
    return None


def _scale(part: Dependence, factor: Fraction) -> Dependence:
    if part.terms is None:
        return part
    return Dependence(
        part.noisy, part.obscure, tuple((term, factor * value) for term, value in part.terms)
    )


def _add(one: Dependence, other: Dependence) -> Dependence:
    sums: dict[Term, Fraction] = {}
    for term, value in (*(one.terms or ()), *(other.terms or ())):
        sums[term] = sums.get(term, Fraction(0)) + value
    return Dependence(one.noisy or other.noisy, one.obscure or other.obscure, tuple(sums.items()))


def _mix(parts: tuple[Dependence, ...]) -> Dependence:
    """Something made of several in a way that is not known."""
    noisy = any(part.noisy for part in parts)
    obscure = any(part.obscure for part in parts)
    return Dependence(noisy, obscure, None) if noisy else _FIXED


def _group_keys(query: Select) -> tuple[Expression, ...]:
    """What a SELECT groups by: positions, names of its columns and ALL are resolved."""
    listed = (*query.group, *(term for _, lists in query.sets for part in lists for term in part))
    keys: list[Expression] = []
    for term in listed:
        if isinstance(term, Literal) and term.word == "ALL":
            keys += [item.expression for item in query.items if not _aggregates(item.expression)]
        elif isinstance(term, Number) and term.digits.isdigit():
            keys += [item.expression for item in query.items[int(term.digits) - 1 :][:1]]
        elif isinstance(term, Column) and not term.table:
            named = [
                i.expression for i in query.items if i.alias.casefold() == term.name.casefold()
            ]
            keys += [term, *(one for one in named if not _aggregates(one))]
        else:
            keys.append(term)
    return tuple(keys)


_Sources = tuple[tuple[str, Shape], ...]


def _make_noisy(sources: _Sources) -> _Sources:
    """The sources whose columns are there or missing as noise decides."""
    return tuple(
        (
            source,
            replace(
                shape,
                columns=tuple(
                    (name, _mix((one, Dependence(noisy=True)))) for name, one in shape.columns
                ),
            ),
        )
        for source, shape in sources
    )


def _merge_using(join: Join, left: _Sources, right: _Sources) -> tuple[_Sources, _Sources]:
    """Both sides with each column of USING once, on the left."""
    folded = {name.casefold() for name in join.using}
    found = {name: _Place(right).find(Column(name)) for name in join.using}

    def merge(name: str, dependence: Dependence) -> Dependence:
        if name.casefold() not in folded or join.kind not in ("RIGHT", "FULL"):
            return dependence
        other = next(each for key, each in found.items() if key.casefold() == name.casefold())
        return _mix((dependence, other))

    merged = tuple(
        (
            source,
            replace(shape, columns=tuple((name, merge(name, one)) for name, one in shape.columns)),
        )
        for source, shape in left
    )
    rest = tuple(
        (
            source,
            replace(
                shape,
                columns=tuple(
                    (name, one) for name, one in shape.columns if name.casefold() not in folded
                ),
            ),
        )
        for source, shape in right
    )
    return merged, rest


def _rename(shape: Shape, names: tuple[str, ...]) -> Shape:
    changed = [*names, *(called for called, _ in shape.columns[len(names) :])]
    columns = tuple(
        (called, found) for called, (_, found) in zip(changed, shape.columns, strict=False)
    )
    return replace(shape, columns=columns)


def _spread(star: Star, sources: tuple[tuple[str, Shape], ...]) -> list[tuple[str, Dependence]]:
    left_out = {called.casefold() for called in star.without}
    return [
        (called, found)
        for source, shape in sources
        if not star.table or source.casefold() == star.table.casefold()
        for called, found in shape.columns
        if called.casefold() not in left_out
    ]


def _has_aggregate(query: Select) -> bool:
    places: list[object] = [item.expression for item in query.items]
    return any(map(_aggregates, (*places, query.having)))


def _aggregates(part: object) -> bool:
    """Whether an expression has an aggregate of the SELECT it stands in."""
    if isinstance(part, Select | Combine):
        return False
    if isinstance(part, Apply) and part.over is None and part.function in AGGREGATES | RANKED:
        return True
    return any(map(_aggregates, parts_of(part)))
