"""Beyond global sensitivity, on arrays and graphs: where the worst case says "impossible" and the
data say "easy". Takes exact integers and bits; knows no table and no budget.
"""

from discreet.robust.blocks import SampleAndAggregate, deal
from discreet.robust.bounding import AgreeingPairs, BoundedValue, LocalBound
from discreet.robust.coinpress import CoinPress, CoinPressMean
from discreet.robust.graph import Graph
from discreet.robust.growth import Growth, Query, SmoothBound, per_unit, smooth_bound
from discreet.robust.histogram import StabilityHistogram
from discreet.robust.ladder import LadderMechanism
from discreet.robust.location import BinWidth, Location, LocationEstimate, fullest_bins
from discreet.robust.lower_bound import Sensitive, Unavoidable, unavoidable_error
from discreet.robust.noise_laplace import LaplaceShape, LogNormalShape
from discreet.robust.noise_student import CauchyShape, StudentShape
from discreet.robust.outcome import Outcome, Refused, Shown
from discreet.robust.projection import (
    BoundedDegrees,
    BoundedEdges,
    DegreeCounts,
    NodeTriangles,
    project,
)
from discreet.robust.property import PropertyDistance, rows_outside_clusters, rows_that_contradict
from discreet.robust.proposals import GrowthProposal, growth_distance
from discreet.robust.propose import ProposeTestRelease, Reachable, ReachQuery, short_cut_distance
from discreet.robust.quantile import SmoothQuantile
from discreet.robust.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.sampling import SampleEvidence, estimate_sensitivity
from discreet.robust.smooth import Estimate, GrowthMechanism, Shape, SmoothNoise, estimate
from discreet.robust.spanning import SmoothSpanningTree
from discreet.robust.spectrum import AnalyzeGauss, SecondMoments
from discreet.robust.stable import DistanceTest, StableValue, mode_distance
from discreet.robust.stars import SmoothStars, count_stars
from discreet.robust.summaries import BlockMean, BlockMedian, BlockMode, Setting, Summary
from discreet.robust.triangles import SmoothTriangles, count_triangles
from discreet.robust.trimmed import SmoothTrimmedMean

__all__ = [
    "AgreeingPairs",
    "AnalyzeGauss",
    "BinWidth",
    "BlockMean",
    "BlockMedian",
    "BlockMode",
    "BoundedDegrees",
    "BoundedEdges",
    "BoundedValue",
    "CauchyShape",
    "CoinPress",
    "CoinPressMean",
    "DegreeCounts",
    "DistanceTest",
    "Estimate",
    "Graph",
    "Growth",
    "GrowthMechanism",
    "GrowthProposal",
    "LadderMechanism",
    "LaplaceShape",
    "LocalBound",
    "Location",
    "LocationEstimate",
    "LogNormalShape",
    "NodeTriangles",
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
    "Sensitive",
    "Setting",
    "Shape",
    "Shown",
    "SlopeReach",
    "SmoothBound",
    "SmoothNoise",
    "SmoothQuantile",
    "SmoothSpanningTree",
    "SmoothStars",
    "SmoothTriangles",
    "SmoothTrimmedMean",
    "SpreadReach",
    "StabilityHistogram",
    "StableValue",
    "StudentShape",
    "Summary",
    "Unavoidable",
    "count_stars",
    "count_triangles",
    "deal",
    "estimate",
    "estimate_sensitivity",
    "fullest_bins",
    "growth_distance",
    "mode_distance",
    "per_unit",
    "project",
    "rows_outside_clusters",
    "rows_that_contradict",
    "short_cut_distance",
    "smooth_bound",
    "unavoidable_error",
]
