"""What mechanisms put out, in columns: numbers to compare and labels to count. Reads arrays,
numbers, tuples and any hashable value. Knows nothing of privacy or of events.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, with_article

__all__ = ["Floats", "Labels", "Mask", "Table", "tabulate", "to_batch"]

Floats = NDArray[np.float64]
"""One number for every output; NaN where there is none."""

Labels = NDArray[np.int64]
"""One small integer for every output; equal labels, equal outputs (or parts of them)."""

Mask = NDArray[np.bool_]
"""One truth value for every output."""

Batch = Callable[[Any, int], Sequence[Any]]

_MOST_COLUMNS = 64  # looked at one by one; sums and extremes cover the rest
_FEW_VALUES = 64  # a column of so few values is a label
_WITHOUT_MANTISSA = 1100.0  # above the exponent of every float: zero is on every lattice


@dataclass(frozen=True, slots=True)
class Table:
    """Outputs in columns: `numbers` by name, and `labels` by name.

    >>> sorted(tabulate([(0, None), (1, 2.25)]).labels)
    ['the whole output', 'which parts are missing']
    """

    outputs: Sequence[Any]
    numbers: dict[str, Floats]
    labels: dict[str, Labels]

    def shown(self, place: int) -> str:
        """One output, short enough for a sentence.

        >>> tabulate([1, 2]).shown(1)
        '2'
        """
        output = self.outputs[place]
        text = repr(output.tolist() if isinstance(output, np.ndarray | np.generic) else output)
        return text if len(text) <= 60 else f"{text[:48]} ... {text[-8:]}"


def to_batch(mechanism: Callable[..., Any]) -> Batch:
    """The mechanism as a function of an input and a count.

    One that needs two positional arguments is taken to be such a function already; any other is
    called once for each output.
    >>> to_batch(lambda exact: exact + 1)(1, 3)
    [2, 2, 2]
    >>> to_batch(lambda exact, count: [exact] * count)(1, 3)
    [1, 1, 1]
    """
    if not callable(mechanism):
        raise InvalidValue(f"{mechanism!r} cannot be called; give a function, or `value.release`.")
    if _count_required(mechanism) >= 2:
        return mechanism
    return lambda exact, count: [mechanism(exact) for _ in range(count)]


def _count_required(mechanism: Callable[..., Any]) -> int:
    try:
        parameters = signature(mechanism).parameters.values()
    except (TypeError, ValueError):  # built in, without a signature
        return 1
    places = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    return sum(one.kind in places and one.default is Parameter.empty for one in parameters)


def tabulate(outputs: Sequence[Any], first: Mask | None = None) -> Table:
    """Outputs as columns. Numbers and tuples of numbers are compared; all else is only counted.

    Which columns there are is decided by the outputs that `first` marks (all, by default), so
    that the others can serve as fresh evidence about whatever is chosen from these.
    >>> tabulate([3, 4]).numbers["the output"].tolist()
    [3.0, 4.0]
    """
    chosen = np.ones(len(outputs), dtype=np.bool_) if first is None else first
    columns = _columns(outputs, chosen)
    if columns is None:
        return _count_only(outputs)
    coded = [_codes(column) for column in columns]
    labels = {"the whole output": _join(coded)}
    few = [code for code in coded if len(np.unique(code[chosen])) <= _FEW_VALUES]
    if len(columns) > 1 and 0 < len(few) < len(columns):
        labels["the parts that take few values"] = _join(few)
    missing = [np.isnan(column.astype(np.float64)) for column in columns]
    if any(mask[chosen].any() for mask in missing):
        labels["which parts are missing"] = _join([_codes(mask) for mask in missing])
    return Table(outputs=outputs, numbers=_numbers(columns, chosen), labels=labels)


def _columns(outputs: Sequence[Any], chosen: Mask) -> list[NDArray[Any]] | None:
    values: object = outputs
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        flat = values.reshape(len(values), -1)
        columns = [np.ascontiguousarray(flat[:, place]) for place in range(flat.shape[1])]
        return columns or None
    rows = [_row(one) for one in outputs]
    if any(row is None and looked for row, looked in zip(rows, chosen, strict=True)):
        return None
    wide = max((len(row) for row in rows if row is not None), default=0)
    if wide == 0:
        return None
    padded = [(row or []) + [np.nan] * (wide - len(row or [])) for row in rows]
    return [np.ascontiguousarray(column) for column in np.array(padded, dtype=np.float64).T]


def _row(output: Any) -> list[float] | None:
    """The numbers of one output; None for anything that is not made of numbers."""
    parts = list(output) if isinstance(output, tuple | list | np.ndarray) else [output]
    row = []
    for part in parts:
        if part is None:
            row.append(np.nan)
        elif isinstance(part, int | float | Fraction | Decimal | np.number | np.bool_):
            row.append(_to_float(part))
        else:
            return None
    return row


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the floats
        return float("inf") if value > 0 else float("-inf")


def _count_only(outputs: Sequence[Any]) -> Table:
    known: dict[Any, int] = {}
    codes = [known.setdefault(_hashable(one), len(known)) for one in outputs]
    labels = {"the whole output": np.array(codes, dtype=np.int64)}
    sizes = [float(len(one)) if hasattr(one, "__len__") else np.nan for one in outputs]
    return Table(outputs=outputs, numbers={"the length": np.array(sizes)}, labels=labels)


def _hashable(output: Any) -> Any:
    if isinstance(output, np.ndarray):
        return (output.shape, output.tobytes())
    if isinstance(output, list | tuple):
        return tuple(_hashable(part) for part in output)
    try:
        hash(output)
    except TypeError:
        raise InvalidValue(
            f"an output is {with_article(type(output).__name__)}, which is not hashable; "
            "return numbers, tuples, strings or arrays."
        ) from None
    return output


def _numbers(columns: list[NDArray[Any]], chosen: Mask) -> dict[str, Floats]:
    numeric = [column.astype(np.float64) for column in columns[:_MOST_COLUMNS]]
    if len(columns) == 1:
        numbers = {"the output": numeric[0]}
    else:
        numbers = {f"part {place}": column for place, column in enumerate(numeric)}
        everything = np.stack([column.astype(np.float64) for column in columns])
        numbers["the sum"] = np.nansum(everything, axis=0)
        numbers["the largest part"] = np.fmax.reduce(everything)
        numbers["the smallest part"] = np.fmin.reduce(everything)
    for name, column in list(numbers.items())[: len(numeric)]:
        finite = np.where(np.isfinite(column), column, np.nan)
        fractions = finite - np.floor(finite)
        if np.any(fractions[chosen] > 0):
            numbers[f"the lowest set bit of {name}"] = _lowest_bit(column)
            numbers[f"the fractional part of {name}"] = fractions
    return numbers


def _lowest_bit(column: Floats) -> Floats:
    """The exponent of the largest power of two that divides each float: which lattice it is on.

    Noise that is added in floats cannot hide it [Mir12, Sec. 4].
    """
    mantissas, exponents = np.frexp(np.where(np.isfinite(column), column, np.nan))
    whole = np.abs(np.nan_to_num(mantissas) * 2.0**53).astype(np.int64)
    _, zeros = np.frexp((whole & -whole).astype(np.float64))
    bits = exponents + zeros - 54.0
    bits[whole == 0] = _WITHOUT_MANTISSA
    bits[~np.isfinite(column)] = np.nan
    return bits


def _codes(column: NDArray[Any]) -> Labels:
    return np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _join(columns: list[Labels]) -> Labels:
    """One label for every combination of labels."""
    joined = columns[0]
    for column in columns[1:]:
        joined = joined * (int(column.max(initial=0)) + 1) + column
        if joined.max(initial=0) > 2**40:
            joined = _codes(joined)
    return _codes(joined)
