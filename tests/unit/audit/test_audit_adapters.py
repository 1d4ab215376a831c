"""Adapters for other libraries: stand-ins for the libraries, which need not be installed."""

import sys
from types import ModuleType

import pytest

from discreet.audit import assert_private, from_diffprivlib, from_opendp
from discreet.audit.planted import laplace
from discreet.errors import DiscreetError, InvalidValue
from support import fit


@pytest.fixture
def libraries(monkeypatch):
    """Modules with the one class that each adapter knows."""
    draw = laplace(1)

    class Measurement:
        def __call__(self, exact):
            return int(draw(exact, 1)[0])

    class DPMachine:
        def randomise(self, exact):
            return int(draw(exact, 1)[0])

    for path, kind in (("opendp.mod", Measurement), ("diffprivlib.mechanisms.base", DPMachine)):
        parts = path.split(".")
        for length in range(1, len(parts) + 1):
            monkeypatch.setitem(
                sys.modules, ".".join(parts[:length]), ModuleType(".".join(parts[:length]))
            )
        setattr(sys.modules[path], kind.__name__, kind)
    return Measurement, DPMachine


def test_mechanisms_of_other_libraries_can_be_audited(libraries):
    measurement, machine = libraries
    for mechanism in (from_opendp(measurement()), from_diffprivlib(machine())):
        fit.performed.append("audit through an adapter")
        named = {"pairs": [(0, 1)], "samples": 400, "false_alarm": fit.FALSE_ALARM}
        assert not assert_private(mechanism, epsilon=1, **named).violated
        with pytest.raises(AssertionError, match="is false"):
            assert_private(mechanism, epsilon=0.2, pairs=[(0, 1)], samples=3000, false_alarm=1e-3)


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("adapter", [from_opendp, from_diffprivlib])
def test_something_else_is_refused(adapter):
    with pytest.raises(InvalidValue, match="str is not"):
        adapter("a text")


@pytest.mark.parametrize("adapter", [from_opendp, from_diffprivlib])
def test_a_missing_library_is_said_to_be_missing(adapter, monkeypatch):
    name = adapter.__name__.removeprefix("from_")
    for module in (name, f"{name}.mod", f"{name}.mechanisms", f"{name}.mechanisms.base"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DiscreetError, match=f"pip install {name}"):
        adapter("a text")
