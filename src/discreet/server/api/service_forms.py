"""What requests to services may carry: monitors, counters, synopses, releases. Strict, finite,
bounded; knows shapes only.
"""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from discreet.ledger.states import service_name

__all__ = [
    "CheckForm",
    "ConditionForm",
    "CounterForm",
    "MonitorForm",
    "NAME",
    "PointsForm",
    "ReleaseForm",
    "SynopsisForm",
]

NAME = r"^[^\W_][\w.-]{0,63}$"
"""How services are named."""

_Name = Annotated[str, StringConstraints(pattern=NAME), AfterValidator(service_name)]
_Sql = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]
_Price = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
_Number = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
_Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=10_000)]
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class MonitorForm(BaseModel, **_STRICT):
    """A monitor to begin: its question, threshold and the price of a run."""

    name: _Name
    sql: _Sql
    threshold: _Number
    alarms: _Count = 1
    epsilon: _Price | None = None
    rho: _Price | None = None
    numbers: _Share | None = None


class CheckForm(BaseModel, **_STRICT):
    """A check of a monitor; another question or threshold of the same run, where one is given."""

    sql: _Sql | None = None
    threshold: _Number | None = None


class CounterForm(BaseModel, **_STRICT):
    """A counter to begin: its question, price, and how many versions and buckets it reads."""

    name: _Name
    sql: _Sql
    epsilon: _Price | None = None
    rho: _Price | None = None
    versions: _Count | None = None
    buckets: _Count | None = None


class PointsForm(BaseModel, **_STRICT):
    """The day up to which a counter goes on.

    >>> PointsForm(upto="2025-01-31").upto
    datetime.date(2025, 1, 31)
    """

    upto: Annotated[date, Field(strict=False)]


class SynopsisForm(BaseModel, **_STRICT):
    """A synopsis to begin: the columns it is about, what is near enough, and the whole price.

    >>> form = SynopsisForm(name="s", table="visits", columns=["region"], alpha=0.1, epsilon=1.0)
    >>> form.order
    3
    """

    name: _Name
    table: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    columns: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=100)]],
        Field(min_length=1, max_length=64),
    ]
    alpha: _Share
    epsilon: _Price
    order: Annotated[int, Field(ge=1, le=8)] = 3
    queries: Annotated[int, Field(ge=1, le=10**9)] = 10_000
    reserve: _Share = 0.25


class ConditionForm(BaseModel, **_STRICT):
    """A question to a synopsis: SELECT COUNT(*) FROM table WHERE ..."""

    sql: _Sql


class ReleaseForm(BaseModel, **_STRICT):
    """A release to make: its specification as TOML text."""

    name: _Name
    specification: Annotated[str, StringConstraints(min_length=1, max_length=60_000)]
