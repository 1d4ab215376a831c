"""Robust estimates and black boxes over the tables of a session, each a charged measurement."""

from discreet.estimates.blocks import sample_and_aggregate
from discreet.estimates.median import median, proposed_median, smooth_median
from discreet.estimates.robust import clustered, location, mode, slope, spread

__all__ = [
    "clustered",
    "location",
    "median",
    "mode",
    "proposed_median",
    "sample_and_aggregate",
    "slope",
    "smooth_median",
    "spread",
]
