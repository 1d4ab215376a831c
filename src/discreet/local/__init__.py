"""The local model: answers are randomized by those who give them, and the centre sees reports only.
Randomizers run on the respondent's side; tallies and estimates are post-processing.
"""

from discreet.local.choice import Candidate, candidates, choose, choose_number
from discreet.local.comparison import Comparison, compare, people_needed
from discreet.local.diary import Diary
from discreet.local.frequencies import (
    Frequencies,
    count_interval,
    count_variance,
    frequencies,
    mean_variance,
)
from discreet.local.joint import JointTally, Table
from discreet.local.mean import Mean, mean
from discreet.local.parity import (
    parity_by_curator,
    parity_by_survey,
    parity_information,
    parity_people,
)
from discreet.local.prefixes import HeavyHitter, PrefixExtension
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer, Randomizer
from discreet.local.randomizers.hadamard import HadamardResponse
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.hybrid import Hybrid
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.local.randomizers.rappor import Rappor
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.local.tally import Tally

__all__ = [
    "Candidate",
    "CategoryRandomizer",
    "Comparison",
    "Diary",
    "Frequencies",
    "HadamardResponse",
    "HeavyHitter",
    "Hybrid",
    "JointTally",
    "KaryResponse",
    "LocalHashing",
    "Mean",
    "NumberRandomizer",
    "OneBit",
    "Piecewise",
    "PrefixExtension",
    "Randomizer",
    "Rappor",
    "SubsetSelection",
    "Table",
    "Tally",
    "UnaryEncoding",
    "candidates",
    "choose",
    "choose_number",
    "compare",
    "count_interval",
    "count_variance",
    "frequencies",
    "mean",
    "mean_variance",
    "parity_by_curator",
    "parity_by_survey",
    "parity_information",
    "parity_people",
    "people_needed",
]
