"""Many questions for the price of few: services that take a session and charge through it."""

from discreet.streams.above_threshold import AboveThreshold
from discreet.streams.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)
from discreet.streams.counter import Counter
from discreet.streams.counter_state import Point
from discreet.streams.epochs import Epoch
from discreet.streams.factorisation import Factorisation
from discreet.streams.holdout import Agreement, Holdout, Mean
from discreet.streams.joint import Joint, Reading
from discreet.streams.monitor import Monitor
from discreet.streams.monitor_state import Check, Side
from discreet.streams.numeric_sparse import NumericSparse
from discreet.streams.parities import Measured, Parities
from discreet.streams.population import PopulationError, population_error
from discreet.streams.predicates import Predicate
from discreet.streams.run import Run
from discreet.streams.running_sums import RunningSums, Track
from discreet.streams.snapshot import Estimate, Snapshot, Update
from discreet.streams.sparse import Sparse, Thresholds
from discreet.streams.synopsis import Synopsis
from discreet.streams.textbook import TextbookRun, TextbookWeights
from discreet.streams.thresholdout import Thresholdout
from discreet.streams.universe import Universe
from discreet.streams.weights import Weights

__all__ = [
    "AboveThreshold",
    "Agreement",
    "Check",
    "Counter",
    "Epoch",
    "Estimate",
    "Factorisation",
    "Holdout",
    "Joint",
    "Mean",
    "Measured",
    "Monitor",
    "NumericSparse",
    "Parities",
    "Point",
    "PopulationError",
    "Predicate",
    "Reading",
    "Run",
    "RunningSums",
    "Side",
    "Snapshot",
    "Sparse",
    "Synopsis",
    "TextbookRun",
    "TextbookWeights",
    "Thresholdout",
    "Thresholds",
    "Track",
    "Universe",
    "Update",
    "Weights",
    "above_threshold_accuracy",
    "numeric_sparse_accuracy",
    "population_error",
    "sparse_accuracy",
]
