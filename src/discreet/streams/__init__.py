"""Many questions for the price of few: services that take a session and charge through it."""

from discreet.streams.above_threshold import AboveThreshold
from discreet.streams.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)
from discreet.streams.counter import Counter
from discreet.streams.counter_design import Point
from discreet.streams.factorisation import Factorisation
from discreet.streams.holdout import Agreement, Holdout, Mean
from discreet.streams.joint import Joint, Reading
from discreet.streams.monitor import Monitor
from discreet.streams.monitor_state import Check, Side
from discreet.streams.numeric_sparse import NumericSparse
from discreet.streams.population import PopulationError, population_error
from discreet.streams.run import Run
from discreet.streams.running_sums import RunningSums, Track
from discreet.streams.sparse import Sparse, Thresholds
from discreet.streams.thresholdout import Thresholdout

__all__ = [
    "AboveThreshold",
    "Agreement",
    "Check",
    "Counter",
    "Factorisation",
    "Holdout",
    "Joint",
    "Mean",
    "Monitor",
    "NumericSparse",
    "Point",
    "PopulationError",
    "Reading",
    "Run",
    "RunningSums",
    "Side",
    "Sparse",
    "Thresholdout",
    "Thresholds",
    "Track",
    "above_threshold_accuracy",
    "numeric_sparse_accuracy",
    "population_error",
    "sparse_accuracy",
]
