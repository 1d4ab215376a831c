"""Attacks on made-up people: what exact answers and common protections give away, what a curator
does not. Reaches the curator only as an analyst would.
"""

from discreet.attacks.catalogue import ATTACKS, Setting, study
from discreet.attacks.curated import Curated
from discreet.attacks.float_bits import curator_bits, float_bits, whole_bits
from discreet.attacks.interfaces import (
    EVERYBODY,
    Answerer,
    Interface,
    Protection,
    Questions,
    audited,
    exact,
    noisy,
    rounded,
    sampled,
    suppressed,
    swapped,
    thresholded,
)
from discreet.attacks.limits import law, parities
from discreet.attacks.outcome import Outcome, Study, member_bound, power_bound, value_bound
from discreet.attacks.people import People, made_up, people_like, people_with_traits
from discreet.attacks.probes import curator_race, curator_timing, naive_race, naive_timing
from discreet.attacks.reconstruction import Solver, reconstruct, reconstruction, table_attack
from discreet.attacks.single import averaging, certain, differencing, linkage, lottery, refusals
from discreet.attacks.tracing import tracing, tracing_power

__all__ = [
    "ATTACKS",
    "Answerer",
    "Curated",
    "EVERYBODY",
    "Interface",
    "Outcome",
    "People",
    "Protection",
    "Questions",
    "Setting",
    "Solver",
    "Study",
    "audited",
    "averaging",
    "certain",
    "curator_bits",
    "curator_race",
    "curator_timing",
    "differencing",
    "exact",
    "float_bits",
    "law",
    "linkage",
    "lottery",
    "made_up",
    "member_bound",
    "naive_race",
    "naive_timing",
    "noisy",
    "parities",
    "people_like",
    "people_with_traits",
    "power_bound",
    "reconstruct",
    "reconstruction",
    "refusals",
    "rounded",
    "sampled",
    "study",
    "suppressed",
    "swapped",
    "table_attack",
    "thresholded",
    "tracing",
    "tracing_power",
    "value_bound",
    "whole_bits",
]
