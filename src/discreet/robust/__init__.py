"""Beyond global sensitivity, on arrays and graphs: where the worst case says "impossible" and the
data say "easy". Takes exact integers and bits; knows no table and no budget.
"""

from discreet.robust.blocks import SampleAndAggregate, deal
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
from discreet.robust.summaries import BlockMean, BlockMedian, BlockMode, Setting, Summary

__all__ = [
    "AgreeingPairs",
    "BlockMean",
    "BlockMedian",
    "BlockMode",
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
    "SampleAndAggregate",
    "Setting",
    "Shown",
    "SlopeReach",
    "SpreadReach",
    "StableValue",
    "Summary",
    "deal",
    "mode_distance",
    "rows_outside_clusters",
    "rows_that_contradict",
    "short_cut_distance",
]
