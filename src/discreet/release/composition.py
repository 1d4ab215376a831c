"""What a release costs as a whole: full composition of all its mechanisms, whose parameters are
fixed before any is run. Public numbers only, rounded towards more loss.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.accounting.conversion import zcdp_epsilon
from discreet.accounting.pld.distribution import Distribution
from discreet.loss import ZCDP, Approximate, BoundedRange, Loss, Pure
from discreet.rationals import Number, ceil_decimal, positive

__all__ = ["batch_cost", "statement", "summed"]


def summed(losses: Iterable[Loss], kind: type[Pure] | type[ZCDP]) -> Pure | ZCDP:
    """The sum of losses in the terms of an account.

    Privacy: basic composition [DR14, Cor. 3.15], [BS16, Lemma 1.7].
    >>> summed([Pure(epsilon=1), BoundedRange(epsilon=2)], ZCDP).rho
    Fraction(1, 1)
    """
    found = list(losses)
    if kind is Pure:
        return Pure(epsilon=sum((_pure(each).epsilon for each in found), Fraction(0)))
    rho = sum((each.zcdp().rho for each in found), Fraction(0))
    return ZCDP(rho=rho, delta=sum((each.zcdp().delta for each in found), Fraction(0)))


def _pure(loss: Loss) -> Pure:
    if isinstance(loss, BoundedRange):
        return loss.pure()
    assert isinstance(loss, Pure)
    return loss


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
    rho = summed(losses, ZCDP)
    assert isinstance(rho, ZCDP)
    found = [(zcdp_epsilon(rho=rho.rho, delta=limit), "zCDP, converted")] if rho.rho else []
    pure = [_pure(each) for each in losses if isinstance(each, Pure | BoundedRange)]
    rest = [each for each in losses if not isinstance(each, Pure | BoundedRange)]
    if pure and not rest:
        total = sum((each.epsilon for each in pure), Fraction(0))
        found.append((total, "sum of epsilons"))
        found.append((_distributed(pure, limit), "privacy-loss distribution"))
    elif pure:
        half = limit / 2
        other = summed(rest, ZCDP)
        assert isinstance(other, ZCDP)
        mixed = _distributed(pure, half) + zcdp_epsilon(rho=other.rho, delta=half)
        found.append((mixed, "privacy-loss distribution and zCDP"))
    epsilon, how = min(found, default=(Fraction(0), "nothing was released"))
    return Approximate(epsilon=epsilon, delta=limit), how


def _distributed(losses: Sequence[Pure], delta: Fraction) -> Fraction:
    """Any pure mechanisms at their worst, as a distribution; equal ones are counted, not listed.

    Discrete Laplace noise on a count is that worst case, so nothing is given away.
    """
    counts = Counter(ceil_decimal(each.epsilon, 12) for each in losses if each.epsilon)
    batch = Distribution.compose(
        *(copies * Distribution.pure(epsilon=epsilon) for epsilon, copies in counts.items())
    )
    return Fraction(batch.epsilon(delta=delta).upper)


def batch_cost(
    losses: Sequence[Loss], kind: type[Pure] | type[ZCDP], *, delta: Number | None = None
) -> Loss:
    """What an account is charged: summed epsilons, or the cheaper of rho and the batch's own price.

    `delta` is what the account keeps for such steps; with it a batch of pure losses may enter a rho
    account as delta-approximate (epsilon^2/2)-zCDP.
    Privacy: as `summed` and `statement`; [BS16, Lemma 8.8 with Prop. 1.4].
    >>> batch_cost([Pure(epsilon=1)], Pure)
    Pure(epsilon=Fraction(1, 1))
    """
    plain = summed(losses, kind)
    if kind is Pure or delta is None or not all(isinstance(each, Pure) for each in losses):
        return plain
    said, _ = statement(losses, delta=delta)
    assert isinstance(plain, ZCDP)
    return said if said.zcdp().rho < plain.rho else plain
