"""What requests may carry: strict, finite, bounded. Knows shapes only."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from discreet.curator.question import TERMS

__all__ = [
    "AccountForm",
    "AuditForm",
    "GrantForm",
    "PauseForm",
    "QueryForm",
    "QuestionForm",
    "TableForm",
    "TokenForm",
    "prices_of",
]

_Price = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
_Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_Error = _Price | dict[_Name, _Price] | None
_Count = Annotated[int, Field(ge=1, le=10**12)] | None
_Limit = Annotated[int, Field(ge=1, le=10**9)] | None
_Sql = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class QuestionForm(BaseModel, **_STRICT):
    """A question and one price: epsilon, rho, or the error wanted."""

    sql: _Sql
    epsilon: _Price | None = None
    rho: _Price | None = None
    error: _Error = None
    count: _Count = None
    delta: _Delta | None = None
    max_groups_contributed: _Limit = None
    max_rows_contributed: _Limit = None


class QueryForm(BaseModel, **_STRICT):
    """A question that is to be paid for; with a key it can be sent again.

    `wait` false makes a job of it.
    """

    sql: _Sql
    epsilon: _Price | None = None
    rho: _Price | None = None
    error: _Error = None
    count: _Count = None
    delta: _Delta | None = None
    max_groups_contributed: _Limit = None
    max_rows_contributed: _Limit = None
    key: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None
    wait: bool = True


class TableForm(BaseModel, **_STRICT):
    """A table to register: its schema as TOML text; `source` under a configured root."""

    schema_text: Annotated[str, StringConstraints(min_length=1, max_length=60_000)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    in_place: bool = False


class GrantForm(BaseModel, **_STRICT):
    """A budget for an analyst."""

    epsilon: _Price
    delta: _Delta = 0.0


class AccountForm(BaseModel, **_STRICT):
    """A new account."""

    name: _Name
    role: Literal["custodian", "analyst"]
    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class TokenForm(BaseModel, **_STRICT):
    """A further token for an account."""

    days: Annotated[int, Field(ge=1, le=3650)] | None = None


class PauseForm(BaseModel, **_STRICT):
    """Whether all questions are stopped."""

    paused: bool


class AuditForm(BaseModel, **_STRICT):
    """A mechanism to audit."""

    mechanism: _Name


def prices_of(form: QuestionForm | QueryForm) -> dict[str, Any]:
    """The price and the limits of a question as the arguments of a session.

    >>> prices = prices_of(QuestionForm(sql="SELECT 1", epsilon=0.5, max_rows_contributed=2))
    >>> prices["epsilon"], prices["rho"], prices["max_rows_contributed"]
    (0.5, None, 2)
    """
    return {name: getattr(form, name) for name in TERMS}
