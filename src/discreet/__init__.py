"""Discreet: exact noise, tight accounting and durable budgets for sensitive tables.
This module only re-exports; `import discreet` loads no numerics and no command line.
"""

import importlib
from types import ModuleType

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

_LAZY = frozenset({"accounting", "errors", "loss", "mechanisms", "noise"})


def __getattr__(name: str) -> ModuleType:
    """Load a part of the package when it is first named, as in `discreet.mechanisms`."""
    if name in _LAZY:
        return importlib.import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
