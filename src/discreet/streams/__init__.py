"""Many questions for the price of few: services that take a session and charge through it."""

from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights
from discreet.streams.counter.counter import Counter
from discreet.streams.counter.factorisation import Factorisation
from discreet.streams.counter.running_sums import RunningSums, Track
from discreet.streams.counter.state import Point
from discreet.streams.holdout.holdout import Agreement, Holdout, Mean
from discreet.streams.holdout.population import PopulationError, population_error
from discreet.streams.holdout.thresholdout import Thresholdout
from discreet.streams.hypothesis.parities import Measured, Parities
from discreet.streams.hypothesis.textbook import TextbookRun, TextbookWeights
from discreet.streams.joint.joint import Joint, Reading
from discreet.streams.monitor.monitor import Monitor
from discreet.streams.monitor.state import Check, Side
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.svt.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.run import Run
from discreet.streams.svt.sparse import Sparse, Thresholds
from discreet.streams.synopsis.epochs import Epoch
from discreet.streams.synopsis.snapshot import Estimate, Snapshot, Update
from discreet.streams.synopsis.synopsis import Synopsis

__all__ = [
    "AboveThreshold",
    "Agreement",
    "Check",
    "Counter",
    "Domain",
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
    "Update",
    "Weights",
    "above_threshold_accuracy",
    "numeric_sparse_accuracy",
    "population_error",
    "sparse_accuracy",
]
