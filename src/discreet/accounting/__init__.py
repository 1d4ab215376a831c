"""Composition, conversion, calibration, filters and what a budget means; pure functions of loss."""

from discreet.accounting.composition import advanced, basic, optimal
from discreet.accounting.conversion import (
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_epsilon_simple,
    zcdp_rho,
)

__all__ = [
    "advanced",
    "basic",
    "optimal",
    "zcdp",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_epsilon_simple",
    "zcdp_rho",
]
