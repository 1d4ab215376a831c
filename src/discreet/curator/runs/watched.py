"""Why a run failed, for the custodian alone: by what its engines said last. Holds no row."""

from discreet.curator.runs.lanes import Lane
from discreet.engines.protocol import Engine, cause_of

__all__ = ["Watched"]

_LATE = (
    "the answer was not ready at its time; give the engine more cores or memory, or raise "
    "grid_seconds"
)
_UNUSABLE = "the result could not be used; read the source again with discreet refresh"


class Watched:
    """Why a run failed, for the custodian: by what its engines said last, if that is new."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun: list[tuple[Engine, Lane | None, str | None]] = []

    def begin(self, engine: Engine, lane: Lane | None = None) -> None:
        """An engine starts on a run, in a lane of its own where it is remote."""
        self._begun.append((engine, lane, self._own_reason(engine)))

    def cause(self) -> str:
        """What kind of failure it was.

        May depend on data; for the custodian alone.
        """
        if any(lane is not None and lane.lost for _, lane, _ in self._begun):
            return _LATE
        reasons = [(self._own_reason(engine), before) for engine, _, before in self._begun]
        new = [said for said, before in reasons if said is not None and said is not before]
        return cause_of(new[0]) if new else _UNUSABLE

    def _own_reason(self, engine: Engine) -> str | None:
        said: str | None = getattr(engine, "last_failure", None)
        return said
