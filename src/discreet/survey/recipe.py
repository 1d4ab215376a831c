"""What a browser needs to randomize: kinds, integers and rational probabilities as text.
Recipes are public and hold no answer; assets/randomize.js is their other reader.
"""

from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer, Randomizer
from discreet.local.randomizers.answers import kept_bounds
from discreet.local.randomizers.hadamard import HadamardResponse
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.hybrid import Hybrid
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.randomizers.numbers import span
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.local.randomizers.rappor import Rappor
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.mechanisms.additive.lattice import Lattice

__all__ = ["recipe"]


def recipe(randomizer: Randomizer) -> dict[str, Any]:
    """The randomizer in values that JSON carries; numbers beyond 2^53 are text.

    Whoever follows it has the randomizer's guarantee.
    >>> recipe(KaryResponse(epsilon=1, categories=4, coin_bits=16))
    {'bits': 2, 'kind': 'kary', 'categories': 4, 'kept': ['31153', '65536']}
    """
    if isinstance(randomizer, CategoryRandomizer):
        return {"bits": randomizer.report_bits, **_category(randomizer)}
    if isinstance(randomizer, NumberRandomizer):
        return {
            "bits": randomizer.report_bits,
            **_number(randomizer),
            "lattice": _lattice(randomizer.lattice),
        }
    raise InvalidValue(f"there is no recipe for {type(randomizer).__name__}.")


def _category(randomizer: Randomizer) -> dict[str, Any]:
    match randomizer:
        case KaryResponse(categories=k):
            return {"kind": "kary", "categories": k, "kept": _kept(randomizer, rest=k - 1)}
        case UnaryEncoding(categories=k):
            return {"kind": "unary", "categories": k, "kept": _kept(randomizer)}
        case HadamardResponse(categories=k):
            return {"kind": "hadamard", "categories": k, "kept": _kept(randomizer)}
        case SubsetSelection(categories=k, size=size):
            kept = _kept(randomizer, weight=size, rest=k - size)
            return {"kind": "subset", "categories": k, "size": size, "kept": kept}
        case LocalHashing(categories=k, sides=sides):
            facts = {"kind": "hashing", "categories": k, "sides": sides, **randomizer.family()}
            return facts | {"kept": _kept(randomizer, rest=sides - 1)}
        case Rappor(categories=k, blur=blur, low=low, high=high):
            facts = {"kind": "rappor", "categories": k, "blur": _text(blur / 2)}
            return facts | {"low": _text(low), "high": _text(high)}
    raise InvalidValue(f"there is no recipe for {type(randomizer).__name__}.")


def _number(randomizer: Randomizer) -> dict[str, Any]:
    match randomizer:
        case OneBit(lattice=lattice):
            return {"kind": "one-bit", "steps": span(lattice)[1], "kept": _kept(randomizer)}
        case Piecewise(lattice=lattice, window=window):
            steps = span(lattice)[1]
            kept = _kept(randomizer, weight=window, rest=steps)
            return {"kind": "piecewise", "steps": steps, "window": window, "kept": kept}
        case Hybrid(piecewise=piecewise, one_bit=one_bit):
            parts = {"piecewise": _number(piecewise), "oneBit": _number(one_bit)}
            return {"kind": "hybrid", "share": _text(randomizer.share), **parts}
    raise InvalidValue(f"there is no recipe for {type(randomizer).__name__}.")


def _lattice(lattice: Lattice) -> dict[str, Any]:
    first, steps = span(lattice)
    ends = {name: _text(getattr(lattice, name)) for name in ("lower", "upper", "step")}
    return {**ends, "first": str(first), "steps": steps}


def _kept(randomizer: Any, *, weight: int = 1, rest: int = 1) -> list[str]:
    if randomizer.coin_bits is None:
        raise InvalidValue(
            f"{type(randomizer).__name__} tosses coins of e^epsilon, which is irrational; "
            "set coin_bits for a recipe."
        )
    bounds = kept_bounds(
        epsilon=randomizer.epsilon, weight=weight, rest=rest, coin_bits=randomizer.coin_bits
    )
    return _text(bounds(40)[0])


def _text(chance: Fraction) -> list[str]:
    return [str(chance.numerator), str(chance.denominator)]
