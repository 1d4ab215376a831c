"""One-off releases: tables, marginals and ranges declared as a whole, and synthetic data."""

from discreet.release.adaptive import Adaptive
from discreet.release.allocation import Unit
from discreet.release.composition import batch_cost, statement
from discreet.release.counting import crossover, direct_error, histogram_error
from discreet.release.declared import Release, ReleasePlan
from discreet.release.kinds import Declared
from discreet.release.marginals import Marginals, every
from discreet.release.ordered import ordered
from discreet.release.published import Published
from discreet.release.ranges import Trees
from discreet.release.running import Running
from discreet.release.settle import settled
from discreet.release.specification import read_release
from discreet.release.synth import synthesize
from discreet.release.synth_result import Synthesis
from discreet.release.synth_stages import Stages
from discreet.release.verification import check_folder
from discreet.release.workload import Workload

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
    "ordered",
    "read_release",
    "settled",
    "statement",
    "synthesize",
]
