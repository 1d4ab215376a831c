"""The exception tree. Imports nothing; every message says what, the value, the limit, the way out.

DiscreetError
├── InvalidValue       a number, bound or parameter that cannot be used (also a ValueError)
│   └── SchemaError    a schema file, table or column that cannot be used
├── UnsafeQuery        SQL that is refused before data is touched: nothing was run or charged
├── UnprovableRequest  no theorem gives the guarantee asked for: refused, nothing happened
├── BudgetExceeded     the filter refused a charge: nothing was run or charged
│   └── QuotaExceeded  too much is stored for one account: nothing was run or charged
└── Unavailable        a service could not answer; the reason is for the custodian only
    ├── Stale          somebody else moved a durable state on first; read it again
    └── Unanswered     a request was charged and has no answer, now and later: final
"""

__all__ = [
    "BudgetExceeded",
    "DiscreetError",
    "InvalidValue",
    "QuotaExceeded",
    "SchemaError",
    "Stale",
    "Unanswered",
    "Unavailable",
    "UnprovableRequest",
    "UnsafeQuery",
    "counted",
    "with_article",
]


class DiscreetError(Exception):
    """Root of everything this package raises on purpose.

    Messages carry public parameters only, never data.
    """

    @property
    def told(self) -> str:
        """The message as a person reads it; a question that is not safe has cost nothing.

        >>> UnsafeQuery("MEDIAN is not supported here.").told
        'MEDIAN is not supported here. Nothing was run or charged.'
        """
        text = str(self)
        if isinstance(self, UnsafeQuery) and "charged" not in text:
            return f"{text} Nothing was run or charged."
        return text

    def _render_traceback_(self) -> list[str]:
        """What notebooks show instead of a traceback: one line."""
        return [f"{type(self).__name__}: {' '.join(self.told.split())}"]


class InvalidValue(DiscreetError, ValueError):
    """A parameter is not a number, not finite or outside its limits."""


class SchemaError(InvalidValue):
    """A schema file, table or column cannot be used as it is written."""


class UnsafeQuery(DiscreetError):
    """A question is not one of the safe ones; it was refused before data was touched."""


class UnprovableRequest(DiscreetError):
    """No theorem gives the guarantee that was asked for."""


class BudgetExceeded(DiscreetError):
    """A filter refused a charge; its totals are as they were."""


class QuotaExceeded(BudgetExceeded):
    """As much is stored for an account as it may fill; old answers are given as before."""


class Unavailable(DiscreetError):
    """A service could not answer; only the custodian learns why.

    The message is fixed and does not depend on data.
    """


class Stale(Unavailable):
    """A durable state was moved on by somebody else; nothing of this was written."""


class Unanswered(Unavailable):
    """A request with a key was charged and has no answer; asked again, it says the same.

    What came of a charge is an output that went out.
    """


def with_article(noun: str) -> str:
    """A word with `a` or `an` before it, by its first letter.

    >>> with_article("analyst"), with_article("custodian"), with_article("int")
    ('an analyst', 'a custodian', 'an int')
    """
    return f"{'an' if noun[:1].casefold() in 'aeiou' else 'a'} {noun}"


def counted(count: int, noun: str) -> str:
    """A number and what it counts, in the singular where there is one.

    >>> counted(1, "column"), counted(2, "column")
    ('1 column', '2 columns')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
