"""What a synopsis keeps in the vault: public facts, what was released, and the secret noise of the
threshold run that is under way.
"""

import json
import zlib
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.encoding import Form, Forms, list_facts
from discreet.streams.service import Service, pad_secret
from discreet.streams.synopsis.snapshot import UPDATE_FORM, Update

__all__ = ["Release", "SYNOPSES", "SynopsisState"]

_NUMBERS = ("epsilon", "alpha", "reserve", "rho", "spent")
_ASKED = ("table", "columns", "alpha", "epsilon", "order", "queries", "reserve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One measurement of all contrasts: what it cost, and what came out."""

    rho: Fraction
    noisy: tuple[int, ...] | None  # None: paid, and not yet read


@dataclass(frozen=True, slots=True, kw_only=True)
class SynopsisState:
    """The state of a synopsis; `standing` is secret and is not shown."""

    table: str
    schema_version: str
    columns: tuple[str, ...]
    versions: tuple[int, ...]
    epsilon: Fraction
    alpha: Fraction
    order: int
    queries: int
    reserve: Fraction
    rho: Fraction  # the whole price
    spent: Fraction
    releases: tuple[Release, ...]
    updates: tuple[Update, ...] = ()
    standing: int | None = field(default=None, repr=False)
    finished: str = ""  # "yes" once nothing more is measured

    def arguments(self) -> dict[str, Any]:
        """What it was opened with, by the names of the fields of `Asked`."""
        return {name: getattr(self, name) for name in _ASKED}

    def to_bytes(self) -> bytes:
        """The stored bytes: the secret part follows the rest, which alone is compressed."""
        facts = list_facts(replace(self, standing=None), _FORMS)
        return zlib.compress(json.dumps(facts).encode()) + pad_secret(self.standing).encode()

    @staticmethod
    def from_bytes(body: bytes) -> "SynopsisState":
        """Read what `to_bytes` wrote."""
        packed = zlib.decompressobj()
        facts: dict[str, Any] = json.loads(packed.decompress(body))
        if packed.unused_data:  # earlier versions kept it among the facts
            facts["standing"] = json.loads(packed.unused_data)
        for name in _NUMBERS:
            facts[name] = Fraction(facts[name])
        for name in ("columns", "versions"):
            facts[name] = tuple(facts[name])
        facts["updates"] = tuple(Update(**update) for update in facts["updates"])
        facts["releases"] = tuple(
            Release(rho=Fraction(part["rho"]), noisy=part["noisy"] and tuple(part["noisy"]))
            for part in facts["releases"]
        )
        return SynopsisState(**facts)


_FORMS: Forms = {
    SynopsisState: Form.of(
        "SynopsisState",
        *("table", "schema_version", "columns", "versions", "epsilon", "alpha", "order", "queries"),
        *("reserve", "rho", "spent", "releases", "updates", "standing", "finished"),
    ),
    Release: Form.of("Release", "rho", "noisy"),
    Update: UPDATE_FORM,
}

SYNOPSES = Service("synopsis", SynopsisState.from_bytes)
"""Synopses among the states of a vault."""
