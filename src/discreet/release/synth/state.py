"""What a synthesis must not forget: what it is of, what was paid, which steps have begun, and
their noisy answers. Released numbers only; the answers are kept so that none is paid for twice.
"""

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import Unavailable
from discreet.release.synth.rounds import Noisy
from discreet.streams.service import Service

__all__ = ["SYNTHESES", "Spec", "SynthesisState"]

_FORM = 2  # another one whenever the same answers lead to other steps
Answer = tuple[Noisy, ...] | None


@dataclass(frozen=True, slots=True)
class Spec:
    """What a synthesis is of: a question, a price, a method and the data's versions.

    >>> Spec("SELECT", "1/2", "marginals", (1,)).name[:6]
    'synth-'
    """

    question: str
    price: str
    method: str
    versions: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name that says the same for the same.

        >>> Spec("SELECT", "1/2", "marginals", (1,)).name == Spec("", "1", "", (1,)).name
        False
        """
        text = json.dumps([self.question, self.price, self.method, list(self.versions)])
        return f"synth-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


@dataclass(frozen=True, slots=True)
class SynthesisState:
    """A synthesis as far as it is: how many steps have begun, and what they answered.

    A step that has begun counts as spent whether it answered or not.
    >>> state = SynthesisState(Spec("SELECT", "1/2", "marginals", (1,))).begin(Fraction(1, 9))
    >>> SynthesisState.from_bytes(state.to_bytes()) == state
    True
    """

    spec: Spec
    receipt: str = ""
    paid: tuple[Fraction, ...] = ()
    """What each step that has begun costs, in the terms of the price."""
    answers: tuple[Answer, ...] = field(default=(), repr=False)

    @property
    def begun(self) -> int:
        """How many steps have begun."""
        return len(self.paid)

    def begin(self, cost: Fraction) -> "SynthesisState":
        """The next step begins; one that has not answered by now never will.

        >>> state = SynthesisState(Spec("SELECT", "1/2", "marginals", (1,)))
        >>> state.begin(Fraction(1, 9)).begin(Fraction(1, 8)).answers
        (None,)
        """
        lost = (None,) * (self.begun - len(self.answers))
        return replace(self, paid=(*self.paid, cost), answers=(*self.answers, *lost))

    def record_answer(self, noisy: tuple[Noisy, ...]) -> "SynthesisState":
        """The step that has begun has answered.

        >>> begun = SynthesisState(Spec("SELECT", "1/2", "marginals", (1,))).begin(Fraction(1))
        >>> begun.record_answer(()).answers
        ((),)
        """
        return replace(self, answers=(*self.answers, noisy))

    def to_bytes(self) -> bytes:
        """The state as bytes."""
        spec = [self.spec.question, self.spec.price, self.spec.method, list(self.spec.versions)]
        document = {
            "form": _FORM,
            "spec": spec,
            "receipt": self.receipt,
            "paid": [str(cost) for cost in self.paid],
            "answers": [
                None if answer is None else [_pack(noisy) for noisy in answer]
                for answer in self.answers
            ],
        }
        return zlib.compress(json.dumps(document).encode(), 1)

    @classmethod
    def from_bytes(cls, body: bytes) -> "SynthesisState":
        """The state that was written."""
        document = json.loads(zlib.decompress(body))
        if document.get("form") != _FORM:
            raise Unavailable(
                "this synthesis was begun by another version of discreet; begin a new one under "
                "another name. Nothing was run or charged."
            )
        question, price, method, versions = document["spec"]
        answers = tuple(
            None if answer is None else tuple(_unpack(noisy) for noisy in answer)
            for answer in document["answers"]
        )
        spec = Spec(question, price, method, tuple(versions))
        paid = tuple(Fraction(cost) for cost in document["paid"])
        return cls(spec, document["receipt"], paid, answers)


SYNTHESES = Service("synthesis", SynthesisState.from_bytes)
"""Syntheses among the states of a vault."""


def _pack(noisy: Noisy) -> list[Any]:
    packed = base64.b64encode(zlib.compress(noisy.counts.astype("<i8").tobytes())).decode()
    return [list(noisy.clique), packed, str(noisy.variance)]


def _unpack(written: list[Any]) -> Noisy:
    clique, packed, variance = written
    counts = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype="<i8")
    return Noisy(tuple(clique), counts.astype(np.int64), Fraction(variance))
