"""Composition, conversion, calibration, filters and what a budget means; pure functions of loss."""

from discreet.accounting.composition import advanced, basic, optimal
from discreet.accounting.conversion import (
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_epsilon_simple,
    zcdp_rho,
)
from discreet.accounting.filters import Currency, Filter
from discreet.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from discreet.accounting.odometer import Odometer

__all__ = [
    "Currency",
    "Filter",
    "Odometer",
    "advanced",
    "basic",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "optimal",
    "zcdp",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_epsilon_simple",
    "zcdp_rho",
]
