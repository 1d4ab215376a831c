"""What a release costs as a whole: full composition of all its mechanisms, whose parameters are
fixed before any is run. Public numbers only, rounded towards more loss.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon
from discreet.accounting.pld.distribution import Distribution
from discreet.loss import ZCDP, Approximate, Currency, Loss, Price, Pure
from discreet.rationals import Number, ceil_decimal, positive

__all__ = ["batch_cost", "statement"]


def statement(losses: Sequence[Loss], *, delta: Number) -> tuple[Approximate, str]:
    """The smallest epsilon known for all losses together at `delta`, and how it was found.

    Pure losses by their privacy-loss distribution, concentrated ones by conversion of their sum;
    where there are both, also each with half of delta.
    Privacy: optimal composition of fixed parameters [MV16, Lemma 3.2], [ZDW22, Thm. 10];
    conversion [CKS20, Cor. 13].
    >>> said, how = statement([Pure(epsilon=0.1)] * 100, delta=1e-6)
    >>> float(said.epsilon) < 5, how
    (True, 'privacy-loss distribution')
    """
    limit = positive(delta, "delta")
    rho = ZCDP.total(losses).rho
    candidates = [(zcdp_epsilon(rho=rho, delta=limit), "zCDP, converted")] if rho else []
    pure = [loss.pure() for loss in losses if _is_pure(loss)]
    rest = [loss for loss in losses if not _is_pure(loss)]
    if pure and not rest:
        total = sum((loss.epsilon for loss in pure), Fraction(0))
        candidates.append((total, "sum of epsilons"))
        candidates.append((_compose_pure(pure, limit), "privacy-loss distribution"))
    elif pure:
        half = limit / 2
        mixed = _compose_pure(pure, half) + zcdp_epsilon(rho=ZCDP.total(rest).rho, delta=half)
        candidates.append((mixed, "privacy-loss distribution and zCDP"))
    epsilon, how = min(candidates, default=(Fraction(0), "nothing was released"))
    return Approximate(epsilon=epsilon, delta=limit), how


def _is_pure(loss: Loss) -> bool:
    return loss.currency is Currency.EPSILON and not loss.approximate().delta


def _compose_pure(losses: Sequence[Pure], delta: Fraction) -> Fraction:
    """Any pure mechanisms at their worst, as a distribution; equal ones are counted, not listed.

    Discrete Laplace noise on a count is that worst case, so nothing is given away.
    """
    counts = Counter(ceil_decimal(loss.epsilon, 12) for loss in losses if loss.epsilon)
    batch = Distribution.compose(
        *(copies * Distribution.pure(epsilon=epsilon) for epsilon, copies in counts.items())
    )
    return Fraction(batch.epsilon(delta=delta).upper)


def batch_cost(losses: Sequence[Loss], kind: type[Price], *, delta: Number | None = None) -> Loss:
    """What an account is charged: summed epsilons, or the cheaper of rho and the batch's own price.

    `delta` is what the account keeps for such steps; with it a batch of pure losses may enter a rho
    account as delta-approximate (epsilon^2/2)-zCDP.
    Privacy: as `total` and `statement`; [BS16, Lemma 8.8 with Prop. 1.4].
    >>> batch_cost([Pure(epsilon=1)], Pure)
    Pure(epsilon=Fraction(1, 1))
    """
    plain = kind.total(losses)
    if kind.currency is Currency.EPSILON or delta is None or {*map(type, losses)} != {Pure}:
        return plain
    approximate, _ = statement(losses, delta=delta)
    return approximate if approximate.zcdp().rho < plain.amount else plain
