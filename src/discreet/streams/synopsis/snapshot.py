"""A synopsis as everybody may have it: released measurements, a hypothesis that fits them, and the
answers they give. Never holds a noisy threshold, a counter of a run or a key; needs no curator.
"""

import hashlib
import io
import json
import math
import zipfile
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.encoding import Form, encode, list_facts
from discreet.errors import InvalidValue
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights
from discreet.loss import Relation
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.plan.parts.remarks import Note
from discreet.plan.results.notes import table_notes
from discreet.schema.column import COLUMN_FORM, Column
from discreet.schema.table import Table
from discreet.streams.hypothesis.fitting import fit_counts
from discreet.streams.hypothesis.parities import Measured, Parities
from discreet.streams.synopsis.questions import Questions

__all__ = ["Estimate", "Snapshot", "UPDATE_FORM", "Update"]

UPDATE_FORM = Form.of("Update", "question", "noisy", "deviation")
"""How a round is stored and published."""

_CONFIDENCE = Fraction(95, 100)
_FORMAT = "discreet synopsis 1"
_LARGE = 2  # a sigma from which on it is the deviation, but for less than a float tells
_MOST_FITTED = 4  # hypotheses that are kept in memory, of up to 32 MB each
_PASSES = 3  # over the measurements of rounds, since each moves what the others say


@dataclass(frozen=True, slots=True)
class Estimate:
    """A synopsis' answer: how many rows, out of how many, how far off at 95%, and where from.

    `source` is "measured" for what contrasts span, "round" for what a round measured, "near" for
    what a threshold run found near enough, and "hypothesis" for what nothing has checked: then
    there is no half-width.
    >>> Estimate(250.0, 1000.0, 20.0, "measured").share
    0.25
    """

    value: float
    total: float
    half_width: float | None
    source: str

    @property
    def share(self) -> float:
        """The answer as a share of all rows.

        >>> Estimate(1.0, 4.0, None, "hypothesis").share
        0.25
        """
        return self.value / self.total


@dataclass(frozen=True, slots=True)
class Update:
    """What a round measured: a question, its noisy count and the deviation of the noise."""

    question: str
    noisy: int
    deviation: float

    @property
    def half_width(self) -> float:
        """How far off the noisy count is at most, with at least 95%.

        Above 2 the deviation of discrete Gaussian noise is its sigma; a smaller one is bounded by
        the inequality of Chebyshev.
        >>> Update("SELECT COUNT(*) FROM visits", 40, 10.0).half_width
        20.0
        """
        if self.deviation > _LARGE:
            return DiscreteGaussian(sigma=self.deviation).error(_CONFIDENCE)
        return self.deviation / math.sqrt(1 - _CONFIDENCE)


class Snapshot:
    """The public part of a synopsis: answers COUNT(*) questions over its columns, free of charge.

    >>> table = Table("visits", columns=(Column("f", "boolean", null=0),))
    >>> questions = Questions(table)
    >>> parities = Parities.of(questions.domain, order=1, rho=10**6)
    >>> measured = parities.release(np.array([[0], [1]]), np.array([30, 70]))
    >>> round(Snapshot(questions, measured).query("SELECT COUNT(*) FROM visits WHERE f").value)
    70
    """

    __slots__ = ("_questions", "data_versions", "measured", "updates", "weights")

    def __init__(
        self,
        questions: Questions,
        measured: Measured,
        *,
        updates: tuple[Update, ...] = (),
        weights: Weights | None = None,
        data_versions: tuple[int, ...] = (),
    ) -> None:
        self._questions = questions
        self.measured = measured
        self.updates = updates
        self.data_versions = data_versions
        self.weights = weights or self._fit_weights()

    def _fit_weights(self) -> Weights:
        weights = Weights.of(self._questions.domain, _fit_released(_Released.of(self.measured)))
        for _ in range(_PASSES):
            for update in self.updates:
                self._move(weights, update)
        return weights

    def _move(self, weights: Weights, update: Update) -> None:
        predicate = self._questions.read(update.question)
        weights.move(predicate, update.noisy / self.measured.total)

    def with_update(self, update: Update) -> "Snapshot":
        """The same with one more measurement, and a hypothesis moved to agree with it."""
        weights = Weights.of(self._questions.domain, self.weights.cells())
        self._move(weights, update)
        return Snapshot(
            self._questions,
            self.measured,
            updates=(*self.updates, update),
            weights=weights,
            data_versions=self.data_versions,
        )

    @property
    def table(self) -> Table:
        """The public facts of the table and of the columns that can be asked about."""
        return self._questions.table

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is left out of all answers, and bounded."""
        notes = table_notes(self.table, tuple(column.name for column in self.table.columns))
        if any(column.accepted.nullable for column in self.table.columns):
            gone = "Rows whose value in one of the columns is missing or not declared do not count."
            notes = (*notes, Note(gone))
        return notes

    @property
    def total(self) -> float:
        """The noisy number of rows; those with a missing value in one of the columns do not
        count.
        """
        return self.measured.total

    def query(self, sql: str) -> Estimate:
        """How many rows a condition holds for: SELECT COUNT(*) FROM table WHERE ..."""
        return self.answer(self._questions.read(sql))

    def answer(self, predicate: Predicate) -> Estimate:
        """The answer to a predicate over the columns.

        What the contrasts span is known to within its half-width of an unbiased estimate; the
        hypothesis' answer is held there, and the half-width reaches as far as the estimate's.
        """
        guess = self.weights.share(predicate) * self.total
        if self.measured.parities.spans(predicate):
            reach = self.measured.parities.half_width_of(predicate)
            return self._hold_within(guess, self.measured.answer(predicate), reach, "measured")
        for update in self.updates:
            known = self._questions.read(update.question)
            if known.axes == predicate.axes and (known.mask == predicate.mask).all():
                return self._hold_within(guess, update.noisy, update.half_width, "round")
        return Estimate(guess, self.total, None, "hypothesis")

    def _hold_within(self, guess: float, centre: float, reach: float, source: str) -> Estimate:
        value = max(0.0, min(max(guess, centre - reach), centre + reach))
        return Estimate(value, self.total, abs(value - centre) + reach, source)

    def save(self, path: str | Path) -> None:
        """Write the public synopsis to a file. The file may be published."""
        facts = {
            "format": _FORMAT,
            "table": self.table.name,
            "rows_per_unit": self.table.rows_per_unit,
            "neighbours": self.table.neighbours.value,
            "unit": self.table.unit,
            "columns": list_facts(self.table.columns, {Column: COLUMN_FORM}),
            "order": self.measured.parities.order,
            "variances": list_facts(list(self.measured.parities.variances.items()), {}),
            "updates": list_facts(self.updates, {Update: UPDATE_FORM}),
            "data_versions": self.data_versions,
        }
        written = io.BytesIO()
        np.savez_compressed(
            written,
            facts=np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8),
            weights=self.weights.cells().ravel(),
            noisy=np.concatenate([np.ravel(table) for table in self.measured.noisy.values()]),
        )
        Path(path).write_bytes(written.getvalue())

    @staticmethod
    def load(path: str | Path) -> "Snapshot":
        """Read a file that `save` wrote.

        >>> Snapshot.load("no such file")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: no such file: no synopsis can be read there.
        """
        try:
            with np.load(Path(path), allow_pickle=False) as arrays:
                facts = json.loads(arrays["facts"].tobytes())
                noisy, weights = arrays["noisy"], arrays["weights"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            raise InvalidValue(f"{path}: no synopsis can be read there.") from None
        if facts.get("format") != _FORMAT:
            raise InvalidValue(f"{path}: not a synopsis that this version reads.")
        questions = Questions(_table(facts))
        variances = {tuple(axes): Fraction(variance) for axes, variance in facts["variances"]}
        parities = Parities(questions.domain, facts["order"], variances)
        return Snapshot(
            questions,
            parities.reshape(noisy),
            updates=tuple(Update(**update) for update in facts["updates"]),
            weights=Weights.of(questions.domain, weights),
            data_versions=tuple(facts["data_versions"]),
        )


@dataclass(frozen=True, slots=True)
class _Released:
    """Noisy contrasts, equal where everything in them is."""

    digest: bytes
    measured: Measured = field(compare=False, repr=False)

    @classmethod
    def of(cls, measured: Measured) -> "_Released":
        parities = measured.parities
        variances = tuple(parities.variances.items())
        said = hashlib.sha256(encode((parities.domain.sizes, parities.order, variances)).encode())
        for axes, noisy in measured.noisy.items():
            listed = np.ascontiguousarray(noisy)
            said.update(f"{axes} {listed.dtype} {listed.shape}".encode())
            exact = listed.dtype == object  # whose bytes would be addresses
            said.update(encode(listed.tolist()).encode() if exact else listed.tobytes())
        return cls(said.digest(), measured)


@lru_cache(maxsize=_MOST_FITTED)
def _fit_released(released: _Released) -> NDArray[np.float64]:
    """The counts that agree with the contrasts: minutes for many cells, so once in a process."""
    counts = fit_counts(released.measured)
    counts.setflags(write=False)
    return counts


def _table(facts: dict[str, Any]) -> Table:
    columns = tuple(
        Column(**{**column, "step": Fraction(column["step"]), "keys": tuple(column["keys"])})
        for column in facts["columns"]
    )
    return Table(
        facts["table"],
        unit=facts["unit"],
        rows_per_unit=facts["rows_per_unit"],
        neighbours=Relation(facts["neighbours"]),
        columns=columns,
    )
