"""What requests may carry: strict, finite, bounded. Knows shapes only."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "AccountForm",
    "AuditForm",
    "GrantForm",
    "PauseForm",
    "QueryForm",
    "QuestionForm",
    "TableForm",
    "TokenForm",
]

_Price = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
_Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_Sql = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class QuestionForm(_Form):
    """A question and one price: epsilon, rho, or the error wanted.

    Privacy: none (touches no data).
    >>> QuestionForm(sql="SELECT COUNT(*) AS n FROM visits", epsilon=0.5).epsilon
    0.5
    """

    sql: _Sql
    epsilon: _Price | None = None
    rho: _Price | None = None
    error: _Price | dict[_Name, _Price] | None = None
    count: Annotated[int, Field(ge=1, le=10**12)] | None = None
    delta: _Delta | None = None

    def prices(self) -> dict[str, Any]:
        """The arguments of a session.

        Privacy: none (touches no data).
        >>> QuestionForm(sql="SELECT 1", epsilon=0.5).prices()
        {'epsilon': 0.5, 'rho': None, 'error': None, 'count': None, 'delta': None}
        """
        return {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "error": self.error,
            "count": self.count,
            "delta": self.delta,
        }


class QueryForm(QuestionForm):
    """A question that is to be paid for; with a key it can be sent again.

    `wait` false makes a job of it.
    Privacy: none (touches no data).
    >>> QueryForm(sql="SELECT 1", epsilon=0.5, key="today").wait
    True
    """

    key: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None
    wait: bool = True


class TableForm(_Form):
    """A table to register: its schema as TOML text; `source` under a configured root.

    Privacy: none (touches no data).
    >>> TableForm(schema_text="[table]", source="visits.parquet").in_place
    False
    """

    schema_text: Annotated[str, StringConstraints(min_length=1, max_length=60_000)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    in_place: bool = False


class GrantForm(_Form):
    """A budget for an analyst.

    Privacy: none (touches no data).
    >>> GrantForm(epsilon=1.0).delta
    0.0
    """

    epsilon: _Price
    delta: _Delta = 0.0


class AccountForm(_Form):
    """A new account.

    Privacy: none (touches no data).
    >>> AccountForm(name="ana", role="analyst").role
    'analyst'
    """

    name: _Name
    role: Literal["custodian", "analyst"]
    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class TokenForm(_Form):
    """A further token for an account.

    Privacy: none (touches no data).
    >>> TokenForm().days is None
    True
    """

    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class PauseForm(_Form):
    """Whether all questions are stopped.

    Privacy: none (touches no data).
    >>> PauseForm(paused=True).paused
    True
    """

    paused: bool


class AuditForm(_Form):
    """A mechanism to audit.

    Privacy: none (touches no data).
    >>> AuditForm(mechanism="laplace").mechanism
    'laplace'
    """

    mechanism: _Name
