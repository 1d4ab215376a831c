"""What joint questions keep in the vault: public facts, the questions and what was released.
Nothing in it is secret.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.streams.service import Service

__all__ = ["JOINTS", "JointState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointState:
    """What the service keeps: public facts, the questions and what was answered."""

    table: str
    schema_version: str
    columns: tuple[str, ...]
    versions: tuple[int, ...]
    epsilon: Fraction
    sensitivity: Fraction
    questions: tuple[str, ...]
    answers: tuple[list[list[int]] | None, ...]  # one list for each output, of all groups

    def to_bytes(self) -> bytes:
        """The text that the vault keeps."""
        facts = {
            "table": self.table,
            "schema_version": self.schema_version,
            "columns": self.columns,
            "versions": self.versions,
            "epsilon": str(self.epsilon),
            "sensitivity": str(self.sensitivity),
            "questions": self.questions,
            "answers": self.answers,
        }
        return json.dumps(facts).encode()

    @staticmethod
    def from_bytes(body: bytes) -> "JointState":
        """Read what `to_bytes` wrote."""
        facts: dict[str, Any] = json.loads(body)
        return JointState(
            table=facts["table"],
            schema_version=facts["schema_version"],
            columns=tuple(facts["columns"]),
            versions=tuple(facts["versions"]),
            epsilon=Fraction(facts["epsilon"]),
            sensitivity=Fraction(facts["sensitivity"]),
            questions=tuple(facts["questions"]),
            answers=tuple(facts["answers"]),
        )


JOINTS = Service("joint", JointState.from_bytes)
"""Joint questions among the states of a vault."""
