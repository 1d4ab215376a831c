"""One-off releases: tables, marginals and ranges declared as a whole, and synthetic data."""

from discreet.release.adaptive import Adaptive
from discreet.release.allocation import Unit
from discreet.release.marginals import Marginals, every
from discreet.release.ordered import ordered
from discreet.release.ranges import Trees
from discreet.release.running import Running
from discreet.release.synth import synthesize
from discreet.release.synth_result import Synthesis
from discreet.release.workload import Workload

__all__ = [
    "Adaptive",
    "Marginals",
    "Running",
    "Synthesis",
    "Trees",
    "Unit",
    "Workload",
    "every",
    "ordered",
    "synthesize",
]
