"""Audits: lower bounds on epsilon from outputs alone, and exact loss where it can be enumerated."""

from discreet.audit.adapters import from_diffprivlib, from_opendp
from discreet.audit.blackbox import audit
from discreet.audit.claims import GaussianClaim
from discreet.audit.exact import ExactLoss, enumerate_loss
from discreet.audit.pairs import Pair, data_set_pairs, number_pairs, vary_numbers, vector_pairs
from discreet.audit.testing import assert_private
from discreet.audit.verdict import Evidence, Verdict

__all__ = [
    "Evidence",
    "ExactLoss",
    "GaussianClaim",
    "Pair",
    "Verdict",
    "assert_private",
    "audit",
    "data_set_pairs",
    "enumerate_loss",
    "from_diffprivlib",
    "from_opendp",
    "number_pairs",
    "vary_numbers",
    "vector_pairs",
]
