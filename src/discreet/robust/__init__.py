"""Beyond global sensitivity, on arrays and graphs: where the worst case says "impossible" and the
data say "easy". Takes exact integers and bits; knows no table and no budget.
"""

from discreet.robust.bounding import AgreeingPairs, BoundedValue, LocalBound
from discreet.robust.outcome import Outcome, Refused, Shown
from discreet.robust.property import (
    PropertyDistance,
    rows_outside_clusters,
    rows_that_contradict,
)
from discreet.robust.propose import ProposeTestRelease, Reachable, ReachQuery, short_cut_distance
from discreet.robust.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.stable import DistanceTest, StableValue, mode_distance

__all__ = [
    "AgreeingPairs",
    "BoundedValue",
    "DistanceTest",
    "LocalBound",
    "Outcome",
    "PropertyDistance",
    "ProposeTestRelease",
    "QuantileReach",
    "ReachQuery",
    "Reachable",
    "Refused",
    "Shown",
    "SlopeReach",
    "SpreadReach",
    "StableValue",
    "mode_distance",
    "rows_outside_clusters",
    "rows_that_contradict",
    "short_cut_distance",
]
