"""Reports as the bytes that travel: each question's report in its bits, one after the other.
Least bit first, filled up with zeros to whole bytes; anything else is malformed and refused.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.protocol import Randomizer
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.rappor import Rappor
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.survey.definition import Survey

__all__ = ["check", "length", "pack", "unpack"]

_WORD = 31  # bits of a part of a hash function
_ROWS = (UnaryEncoding, SubsetSelection, Rappor)


def length(survey: Survey) -> int:
    """The bytes of a respondent's report on the whole survey, the same for everybody.

    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> length(read_survey_text(SKELETON))
    2
    """
    return -(-sum(question.randomizer.report_bits for question in survey.questions) // 8)


def pack(survey: Survey, reports: dict[str, Any]) -> NDArray[np.uint8]:
    """The bytes of many respondents: a row each, from the piles of reports on each question.

    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> packed = pack(read_survey_text(SKELETON), {"smokes": [1], "diet": [3], "sleep": [5]})
    >>> packed.tolist()
    [[47, 0]]
    """
    columns = [
        _to_bits(question.randomizer, np.asarray(reports[question.name]))
        for question in survey.questions
    ]
    bits = np.concatenate(columns, axis=1)
    filled = np.zeros((len(bits), 8 * length(survey)), dtype=np.uint8)
    filled[:, : bits.shape[1]] = bits
    return np.packbits(filled, axis=1, bitorder="little")


def unpack(survey: Survey, bodies: NDArray[np.uint8]) -> dict[str, Any]:
    """The piles of reports that rows of bytes hold, by question; a malformed row refuses them all.

    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> columns = unpack(read_survey_text(SKELETON), np.array([[47, 0]], dtype=np.uint8))
    >>> {name: reports.tolist() for name, reports in columns.items()}
    {'smokes': [1], 'diet': [3], 'sleep': [5]}
    """
    if bodies.ndim != 2 or bodies.dtype != np.uint8 or bodies.shape[1] != length(survey):
        raise InvalidValue(f"a report is malformed; each has {length(survey)} bytes.")
    bits = np.unpackbits(bodies, axis=1, bitorder="little")
    values: dict[str, Any] = {}
    start = 0
    for question in survey.questions:
        end = start + question.randomizer.report_bits
        values[question.name] = _from_bits(question.randomizer, bits[:, start:end])
        start = end
    if bits[:, start:].any():
        raise InvalidValue("a report is malformed; the bits after its last question are zeros.")
    return values


def check(survey: Survey, body: bytes) -> None:
    """Refuse bytes that no respondent's browser would send.

    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> check(read_survey_text(SKELETON), b"no")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: a report is malformed; the bits after its last question are zeros.
    """
    values = unpack(survey, np.frombuffer(body, dtype=np.uint8).reshape(1, -1))
    for question in survey.questions:
        question.randomizer.count(values[question.name])


def _widths(randomizer: Randomizer) -> list[int]:
    """The bits of the numbers that a report consists of."""
    if isinstance(randomizer, _ROWS):
        return [1] * randomizer.categories
    if isinstance(randomizer, LocalHashing):
        parts = randomizer.family()["limbs"] + 1
        return [_WORD] * parts + [randomizer.report_bits - _WORD * parts]
    return [randomizer.report_bits]


def _to_bits(randomizer: Randomizer, reports: NDArray[Any]) -> NDArray[np.uint8]:
    numbers = reports.reshape(len(reports), -1).astype(np.int64)
    columns = [
        (numbers[:, [place]] >> np.arange(width)) & 1
        for place, width in enumerate(_widths(randomizer))
    ]
    return np.concatenate(columns, axis=1).astype(np.uint8)


def _from_bits(randomizer: Randomizer, bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    widths = _widths(randomizer)
    columns, start = [], 0
    for width in widths:
        powers = np.int64(1) << np.arange(width, dtype=np.int64)
        columns.append(bits[:, start : start + width].astype(np.int64) @ powers)
        start += width
    numbers = np.stack(columns, axis=1)
    return numbers if len(widths) > 1 else numbers[:, 0]
