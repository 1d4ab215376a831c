"""Beyond global sensitivity, on arrays and graphs: where the worst case says "impossible" and the
data say "easy". Takes exact integers and bits; knows no table and no budget.
"""

from discreet.robust.blocks.blocks import SampleAndAggregate, deal
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode, Setting, Summary
from discreet.robust.graph.graph import Graph
from discreet.robust.graph.projection import (
    BoundedDegrees,
    BoundedEdges,
    DegreeCounts,
    NodeTriangles,
    project,
)
from discreet.robust.graph.spanning import SmoothSpanningTree
from discreet.robust.graph.stars import SmoothStars, count_stars
from discreet.robust.graph.triangles import SmoothTriangles, count_triangles
from discreet.robust.moments.coinpress import CoinPress, CoinPressMean
from discreet.robust.moments.location import BinWidth, Location, LocationEstimate, fullest_bins
from discreet.robust.moments.spectrum import AnalyzeGauss, SecondMoments
from discreet.robust.smooth.growth import Growth, Query, SmoothBound, per_unit, smooth_bound
from discreet.robust.smooth.ladder import LadderMechanism
from discreet.robust.smooth.laplace_noise import LaplaceShape, LogNormalShape
from discreet.robust.smooth.lower_bound import Sensitive, Unavoidable, unavoidable_error
from discreet.robust.smooth.mechanism import Estimate, GrowthMechanism, Shape, SmoothNoise, estimate
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.robust.smooth.student_noise import CauchyShape, StudentShape
from discreet.robust.smooth.trimmed import SmoothTrimmedMean
from discreet.robust.tested.bounding import AgreeingPairs, BoundedValue, LocalBound
from discreet.robust.tested.histogram import StabilityHistogram
from discreet.robust.tested.outcome import Outcome, Refused, Shown
from discreet.robust.tested.property import (
    PropertyDistance,
    rows_outside_clusters,
    rows_that_contradict,
)
from discreet.robust.tested.proposals import GrowthProposal, growth_distance
from discreet.robust.tested.propose import (
    ProposeTestRelease,
    Reachable,
    ReachQuery,
    short_cut_distance,
)
from discreet.robust.tested.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.tested.sampling import SampleEvidence, estimate_sensitivity
from discreet.robust.tested.stable import DistanceTest, StableValue, mode_distance

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
