"""Releases and synthetic data end to end: declared, charged and run by a real curator on tables
that differ in one person. Beside each the same at a thousand times the price that is claimed. Owns
declarations, prices and sample sizes.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.claims import Claim
from discreet.audit.services.vault_pair import VaultPair, service_with_bug, visits
from discreet.audit.subject import Subject
from discreet.loss import Approximate, Pure
from discreet.rationals import Number
from discreet.release.declared import Release
from discreet.release.kinds import Declared
from discreet.release.synth.service import synthesize

__all__ = ["release_services"]

_EPSILON = Fraction(1, 2)
_CONVERSION = Fraction(1, 2 * 10**6)  # half of the grant's delta
_ONLY_THE_PERSON = {"smokes": [True], "coughs": [False]}
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "marginals": {"columns": ["smokes", "coughs"], "orders": [1, 2]},
    "counting": {"queries": {"the_person": _ONLY_THE_PERSON}},
    "statistics": {"by": ["coughs"], "select": {"n": "COUNT(*)", "total": "SUM(age)"}},
    "quantiles": {"column": "age", "fractions": [0.5], "by": ["smokes", "coughs"]},
    "covariance": {"columns": ["age", "bill"]},  # a regression is computed from what this releases
    "ranges": {"columns": ["bill"]},
}


def release_services(stack: ExitStack) -> tuple[Subject, ...]:
    """A release of every kind of noise and both methods for synthetic data, and the bug beside.

    >>> with ExitStack() as stack:
    ...     [one.name for one in release_services(stack)][0]
    'a release of marginals'
    """
    pure, mixed = visits(stack, delta=0), visits(stack, delta=2 * _CONVERSION)
    return (
        *(subject for kind in _KINDS for subject in _audit_release(pure, kind)),
        *_audit_synthesis(pure, "mwem", Pure(epsilon=_EPSILON)),
        *_audit_synthesis(mixed, "marginals", Approximate(epsilon=_EPSILON, delta=_CONVERSION)),
    )


def _audit_release(vaults: VaultPair, kind: str) -> tuple[Subject, ...]:
    def prepare(epsilon: Number) -> Callable[[int], tuple[float, ...]]:
        release = Release(
            title="audited",
            table="visits",
            epsilon=Fraction(epsilon),
            tables=(Declared(kind, "t", _KINDS[kind]),),
        )

        def draw(side: int) -> tuple[float, ...]:
            """Every number of every table, as it would be published."""
            published = release.plan(vaults.session(side)).run()
            return tuple(
                float(value)
                for sheet in published.tables.values()
                for name, column in sheet.columns.items()
                if not name.endswith(("low", "high"))
                for value in column
                if isinstance(value, int | float | np.number) and not isinstance(value, bool)
            )

        return draw

    claim, covers = Pure(epsilon=_EPSILON), ("ReleasePlan", "Release")
    # Where the person is not, a quantile is anywhere: that is told apart less well.
    caught = 200 if kind == "quantiles" else 100
    name = f"a release of {kind}"
    return service_with_bug(
        "publications", name, prepare, claim, _EPSILON, 100, *covers, caught=caught
    )


def _audit_synthesis(vaults: VaultPair, method: str, claim: Claim) -> tuple[Subject, ...]:
    """The expected numbers of rows that the model says, before any are drawn."""

    def prepare(epsilon: Number) -> Callable[[int], tuple[float, ...]]:
        def draw(side: int) -> tuple[float, ...]:
            synthesis = synthesize(
                vaults.session(side),
                "visits",
                epsilon=epsilon,
                columns=("smokes", "coughs"),
                method=method,
                name=vaults.name(),
            )
            tables = [synthesis.model.marginal(clique) for clique in ((0,), (1,), (0, 1))]
            return tuple(np.round(np.concatenate([table.ravel() for table in tables]), 3).tolist())

        return draw

    name, covers = f"synthetic data by {method}", ("synthesize", "Synthesis")
    return service_with_bug("publications", name, prepare, claim, _EPSILON, 100, *covers)
