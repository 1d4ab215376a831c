"""What a holdout keeps in the vault, and what follows from it: its noise and its price.
The noise of the threshold is secret; everything else is public.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.loss import Currency, Loss, Price, Sensitivity
from discreet.mechanisms.priced import Noise
from discreet.plan.parts.measures import at_least_one_step
from discreet.plan.parts.price import choose
from discreet.plan.pipeline import Plan
from discreet.streams.holdout.thresholdout import Thresholdout
from discreet.streams.service import Service, pad_secret, write_body
from discreet.streams.svt.run import SvtState

__all__ = ["HOLDOUTS", "HoldoutState", "Settings"]

_SIZE_SHARE = Fraction(1, 10)  # of the price, for the noisy number of rows


@dataclass(frozen=True, slots=True)
class Settings:
    """What was chosen when a holdout was opened, and the noise that follows from it.

    `moved` is how far one unit moves the sum of any admitted question, in steps.

    Privacy: `cost` for the unit and relation of the table, whatever is asked.
    """

    table: str
    price: Price
    threshold: Fraction
    overfits: int
    reach: Fraction
    step: Fraction
    moved: int

    @property
    def mechanism(self) -> Thresholdout:
        """How questions are answered.

        >>> from discreet.loss import Pure
        >>> one = Fraction(1)
        >>> Settings("t", Pure(epsilon=1), one, 4, one, one, 2).mechanism.overfits
        4
        """
        rest = self.price.share(1 - _SIZE_SHARE)
        return Thresholdout.of(
            overfits=self.overfits,
            sensitivity=Sensitivity.single(self.moved),
            **{rest.currency.value: rest.amount},
        )

    def size_noise(self, plan: Plan) -> Noise:
        """The noise on the number of rows."""
        return choose(plan.measures[0], self.price.share(_SIZE_SHARE))

    def cost(self, plan: Plan) -> Price:
        """What all of it costs: the number of rows, and the run with all its disagreements.

        Privacy: losses add [DMNS06, Lemma 2.6; BS16, Lemma 1.7].
        """
        parts = self.mechanism.numeric.losses(Sensitivity.single(self.moved))
        return self.price.total([self._size_loss(plan), *parts])

    def size_cost(self, plan: Plan) -> Price:
        """What the number of rows costs, to measure it again where a measurement was lost.

        Privacy: that of `size_noise`, for the plan's sensitivity.
        """
        return self.price.total([self._size_loss(plan)])

    def _size_loss(self, plan: Plan) -> Loss:
        return self.size_noise(plan).loss(at_least_one_step(plan.measures[0].sensitivity))


@dataclass(frozen=True, slots=True)
class HoldoutState:
    """A holdout as it stands: settings, data, the noisy number of rows, the run.

    The state of the sparse vector run is secret and hides its noise.
    """

    settings: Settings
    schema_version: str
    versions: tuple[int, ...]
    size: int | None  # None until it was measured
    standing: SvtState

    def to_bytes(self) -> bytes:
        """The text that the vault keeps. Secret: it holds the noise of the threshold."""
        chosen = self.settings
        facts = {
            "table": chosen.table,
            "kind": chosen.price.currency.value,
            "price": str(chosen.price.amount),
            "threshold": str(chosen.threshold),
            "overfits": chosen.overfits,
            "reach": str(chosen.reach),
            "step": str(chosen.step),
            "moved": chosen.moved,
            "schema_version": self.schema_version,
            "versions": self.versions,
            "size": self.size,
            "noise": pad_secret(self.standing.noise),
            "used": self.standing.used,
        }
        return write_body(facts)

    @staticmethod
    def from_bytes(body: bytes) -> "HoldoutState":
        """Read what `to_bytes` wrote."""
        facts: dict[str, Any] = json.loads(body)
        price = Currency(facts["kind"]).price(Fraction(facts["price"]))
        settings = Settings(
            facts["table"],
            price,
            Fraction(facts["threshold"]),
            facts["overfits"],
            Fraction(facts["reach"]),
            Fraction(facts["step"]),
            facts["moved"],
        )
        standing = SvtState(noise=int(facts["noise"]), used=facts["used"])
        versions = tuple(facts["versions"])
        return HoldoutState(settings, facts["schema_version"], versions, facts["size"], standing)


HOLDOUTS = Service("holdout", HoldoutState.from_bytes)
"""Holdouts among the states of a vault."""
