"""Where outer queries run: a process of its own for each, and one that is kept to try them on
blocks without rows before anything is charged.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence

from discreet.errors import UnsafeQuery
from discreet.plan.results.released import Released
from discreet.upper.engine import UpperEngine
from discreet.upper.outcome import Outcome, check_upper, run_upper
from discreet.upper.plan import StatementPlan
from discreet.upper.rows import kinds_of

__all__ = ["UpperRoom"]

_MOST = 1024
_SECONDS = 5.0  # for a statement on blocks without rows

_Tried = tuple[str, tuple[tuple[tuple[str, str], ...], ...]]


class UpperRoom:
    """The engines of a vault's outer queries. They hold released rows only."""

    __slots__ = ("_known", "_lock", "_owner", "_trier")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._trier: UpperEngine | None = None
        self._known: OrderedDict[_Tried, str] = OrderedDict()

    def check(self, plan: StatementPlan) -> None:
        """Refuse an outer query that could not be run: a column or a function that does not fit.

        Depends on names and types alone.
        """
        kinds = tuple(tuple(kinds_of(block).items()) for block in plan.blocks)
        tried = plan.upper_sql, kinds
        with self._lock:
            refusal = self._known.get(tried)
        if refusal is None:
            refusal = self._try(plan)  # nobody waits for another's
            with self._lock:
                self._known[tried] = refusal
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        if refusal:
            raise UnsafeQuery(refusal)

    def _try(self, plan: StatementPlan) -> str:
        engine = self._take()
        try:
            check_upper(engine, plan)
            return ""
        except UnsafeQuery as refused:
            return str(refused)
        finally:
            self._give(engine)

    def _take(self) -> UpperEngine:
        """The process that is kept, if nobody has it, or a new one."""
        with self._lock:
            if self._owner != os.getpid():  # a fork does not talk to its parent's child
                self._trier, self._owner = None, os.getpid()
            engine, self._trier = self._trier, None
        if engine is None or not engine.alive():
            return UpperEngine(seconds=_SECONDS)
        return engine

    def _give(self, engine: UpperEngine) -> None:
        with self._lock:
            if self._trier is None:
                self._trier = engine
                return
        engine.close()

    def start(self) -> UpperEngine:
        """A process for one outer query, which starts while its blocks run and ends with it."""
        return UpperEngine()

    def run(self, engine: UpperEngine, plan: StatementPlan, blocks: Sequence[Released]) -> Outcome:
        """The result of an outer query, in a process of its own."""
        return run_upper(engine, plan, blocks)

    def close(self) -> None:
        """End the process that is kept."""
        with self._lock:
            if self._trier is not None and self._owner == os.getpid():
                self._trier.close()
            self._trier = None
