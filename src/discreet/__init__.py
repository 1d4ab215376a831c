"""Discreet: exact noise, tight accounting and durable budgets for sensitive tables.
This module only re-exports; `import discreet` loads no numerics and no command line.
"""

import importlib
from typing import Any

from discreet.errors import DiscreetError
from discreet.loss import ZCDP, Approximate, BoundedRange, Loss, Pure, Relation, Sensitivity, group

__all__ = [
    "Approximate",
    "BoundedRange",
    "DiscreetError",
    "Loss",
    "Pure",
    "Relation",
    "Sensitivity",
    "ZCDP",
    "__version__",
    "group",
]

__version__ = "0.1.0"
"""The version of this package, as in pyproject.toml."""

_LAZY = frozenset(
    {
        "accounting",
        "attacks",
        "audit",
        "client",
        "curator",
        "errors",
        "estimates",
        "local",
        "loss",
        "mechanisms",
        "noise",
        "plan",
        "query",
        "release",
        "robust",
        "schema",
        "streams",
        "survey",
    }
)


def __getattr__(name: str) -> Any:
    """Load a part of the package when it is first named, as in `discreet.Curator`."""
    if name in _LAZY:
        return importlib.import_module(f"discreet.{name}")
    if name == "Curator":
        return importlib.import_module("discreet.curator").Curator
    if name == "Client":
        return importlib.import_module("discreet.client").Client
    import difflib

    near = difflib.get_close_matches(name, __dir__(), n=1)
    hint = f". Did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'discreet' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """Everything that can be named, also what is loaded when it is first named."""
    return sorted({*__all__, *_LAZY, "Client", "Curator"})
