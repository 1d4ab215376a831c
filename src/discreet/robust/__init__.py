"""Beyond global sensitivity, on arrays and graphs: where the worst case says "impossible" and the
data say "easy". Takes exact integers and bits; knows no table and no budget.
"""

from discreet.robust.blocks import SampleAndAggregate, deal
from discreet.robust.bounding import AgreeingPairs, BoundedValue, LocalBound
from discreet.robust.coinpress import CoinPress, CoinPressMean
from discreet.robust.growth import Growth, Query, SmoothBound, per_unit, smooth_bound
from discreet.robust.histogram import StabilityHistogram
from discreet.robust.ladder import LadderMechanism
from discreet.robust.location import BinWidth, Location, LocationEstimate, fullest_bins
from discreet.robust.noise_laplace import LaplaceShape, LogNormalShape
from discreet.robust.noise_student import CauchyShape, StudentShape
from discreet.robust.outcome import Outcome, Refused, Shown
from discreet.robust.property import PropertyDistance, rows_outside_clusters, rows_that_contradict
from discreet.robust.propose import ProposeTestRelease, Reachable, ReachQuery, short_cut_distance
from discreet.robust.quantile import SmoothQuantile
from discreet.robust.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.sampling import SampleEvidence, estimate_sensitivity
from discreet.robust.smooth import Estimate, GrowthMechanism, Shape, SmoothNoise, estimate
from discreet.robust.spectrum import AnalyzeGauss, SecondMoments
from discreet.robust.stable import DistanceTest, StableValue, mode_distance
from discreet.robust.summaries import BlockMean, BlockMedian, BlockMode, Setting, Summary
from discreet.robust.trimmed import SmoothTrimmedMean

__all__ = [
    "AgreeingPairs",
    "AnalyzeGauss",
    "BinWidth",
    "BlockMean",
    "BlockMedian",
    "BlockMode",
    "BoundedValue",
    "CauchyShape",
    "CoinPress",
    "CoinPressMean",
    "DistanceTest",
    "Estimate",
    "Growth",
    "GrowthMechanism",
    "LadderMechanism",
    "LaplaceShape",
    "LocalBound",
    "Location",
    "LocationEstimate",
    "LogNormalShape",
    "Outcome",
    "PropertyDistance",
    "ProposeTestRelease",
    "QuantileReach",
    "Query",
    "ReachQuery",
    "Reachable",
    "Refused",
    "SampleAndAggregate",
    "SampleEvidence",
    "SecondMoments",
    "Setting",
    "Shape",
    "Shown",
    "SlopeReach",
    "SmoothBound",
    "SmoothNoise",
    "SmoothQuantile",
    "SmoothTrimmedMean",
    "SpreadReach",
    "StabilityHistogram",
    "StableValue",
    "StudentShape",
    "Summary",
    "deal",
    "estimate",
    "estimate_sensitivity",
    "fullest_bins",
    "mode_distance",
    "per_unit",
    "rows_outside_clusters",
    "rows_that_contradict",
    "short_cut_distance",
    "smooth_bound",
]
