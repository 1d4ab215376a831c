"""Many questions for the price of few: services that take a session and charge through it."""

from discreet.streams.above_threshold import AboveThreshold
from discreet.streams.accuracy import (
    above_threshold_accuracy,
    numeric_sparse_accuracy,
    sparse_accuracy,
)
from discreet.streams.monitor import Monitor
from discreet.streams.monitor_state import Check, Side
from discreet.streams.numeric_sparse import NumericSparse
from discreet.streams.run import Run
from discreet.streams.sparse import Sparse, Thresholds

__all__ = [
    "AboveThreshold",
    "Check",
    "Monitor",
    "NumericSparse",
    "Run",
    "Side",
    "Sparse",
    "Thresholds",
    "above_threshold_accuracy",
    "numeric_sparse_accuracy",
    "sparse_accuracy",
]
