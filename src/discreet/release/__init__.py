"""One-off releases: tables, marginals and ranges declared as a whole, and synthetic data."""

from discreet.linear.consistency import make_consistent
from discreet.release.composition import batch_cost, statement
from discreet.release.declared import Release, ReleasePlan
from discreet.release.kinds import Declared
from discreet.release.parts.counting import crossover, direct_error, histogram_error
from discreet.release.published import Published
from discreet.release.specification import read_release
from discreet.release.synth.result import Synthesis
from discreet.release.synth.service import synthesize
from discreet.release.synth.stages import Stages
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.allocation import Unit
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.ordered import ordered
from discreet.release.tables.ranges import Trees
from discreet.release.tables.running import Running
from discreet.release.tables.workload import Workload
from discreet.release.verification import check_folder

__all__ = [
    "Adaptive",
    "Declared",
    "Marginals",
    "Published",
    "Release",
    "ReleasePlan",
    "Running",
    "Stages",
    "Synthesis",
    "Trees",
    "Unit",
    "Workload",
    "batch_cost",
    "check_folder",
    "crossover",
    "direct_error",
    "every",
    "histogram_error",
    "make_consistent",
    "ordered",
    "read_release",
    "statement",
    "synthesize",
]
