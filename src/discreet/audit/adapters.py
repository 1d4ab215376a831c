"""Other libraries' mechanisms as functions that an audit can draw from. Imports a library only
when its adapter is called, and trusts nothing that it says of itself.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from discreet.errors import DiscreetError, InvalidValue

__all__ = ["from_diffprivlib", "from_opendp"]


def _library(name: str) -> ModuleType:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise DiscreetError(f"{package} is not installed; run: pip install {package}") from None


def from_opendp(measurement: Any) -> Callable[[Any], Any]:
    """An OpenDP measurement as a function of one exact value; the claim is `measurement.map`'s."""
    library = _library("opendp.mod")
    if not isinstance(measurement, library.Measurement):
        raise InvalidValue(
            f"{type(measurement).__name__} is not an OpenDP measurement; give what make_laplace, "
            "then_gaussian and their like return."
        )

    def draw(exact: Any) -> Any:
        return measurement(exact)

    return draw


def from_diffprivlib(mechanism: Any) -> Callable[[Any], Any]:
    """A diffprivlib mechanism as a function of one exact value; the claim is its epsilon and
    delta.
    """
    library = _library("diffprivlib.mechanisms.base")
    if not isinstance(mechanism, library.DPMachine):
        raise InvalidValue(
            f"{type(mechanism).__name__} is not a diffprivlib mechanism; give one such as "
            "diffprivlib.mechanisms.Laplace(epsilon=1, sensitivity=1)."
        )

    def draw(exact: Any) -> Any:
        return mechanism.randomise(exact)

    return draw
