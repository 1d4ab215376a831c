"""Composition, conversion, calibration, filters and what a budget means; pure functions of loss."""

from discreet.accounting.calibration import (
    bounded_range_share,
    discrete_gaussian_variance,
    gaussian_variance,
    laplace_scale,
    monotone_selection_scale,
    pure_share,
    selection_scale,
    top_k_scale,
    zcdp_share,
)
from discreet.accounting.composition import advanced, basic, optimal
from discreet.accounting.conversion import zcdp, zcdp_delta, zcdp_epsilon, zcdp_rho
from discreet.accounting.discrete_gaussian import discrete_gaussian_delta, discrete_gaussian_epsilon
from discreet.accounting.filters import Filter
from discreet.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from discreet.accounting.meaning import Meaning, explain
from discreet.accounting.odometer import Odometer
from discreet.accounting.pld.distribution import Bracket, Distribution
from discreet.loss import Currency

__all__ = [
    "Bracket",
    "Currency",
    "Distribution",
    "Filter",
    "Meaning",
    "Odometer",
    "advanced",
    "basic",
    "bounded_range_share",
    "discrete_gaussian_delta",
    "discrete_gaussian_epsilon",
    "discrete_gaussian_variance",
    "explain",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "gaussian_variance",
    "laplace_scale",
    "monotone_selection_scale",
    "optimal",
    "pure_share",
    "selection_scale",
    "top_k_scale",
    "zcdp",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_share",
]
