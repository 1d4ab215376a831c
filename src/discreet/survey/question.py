"""One question of a survey: its words, its possible answers and the randomizer of its reports.
Public facts only; no answer ever passes through here.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import SchemaError
from discreet.local.choice import choose, choose_number
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer
from discreet.local.randomizers.hadamard import HadamardResponse
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.hybrid import Hybrid
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.rationals import Number, positive
from discreet.schema.column import identifier, nearest

__all__ = [
    "BEST",
    "COIN_BITS",
    "Choice",
    "MOST_EPSILON",
    "MOST_OPTIONS",
    "Question",
    "REPORT_BITS",
    "Scale",
]

BEST = "best"
"""The randomizer that has the least variance for its question."""

COIN_BITS = 64
"""Coins are rational, whole numbers of 2^-64, so that a browser tosses them exactly."""

MOST_EPSILON = 16
"""The largest epsilon of one question, all rounds together; more would hardly be private at all."""

MOST_OPTIONS = 1000
"""How many options a question may offer."""

REPORT_BITS = 80
"""The longest report on one question: ten bytes."""

_MOST_TEXT = 1000
_Categories = KaryResponse | UnaryEncoding | LocalHashing | HadamardResponse | SubsetSelection
_CATEGORIES: dict[str, type[_Categories]] = {
    "k-ary": KaryResponse,
    "unary": UnaryEncoding,
    "hashing": LocalHashing,
    "hadamard": HadamardResponse,
    "subset": SubsetSelection,
}
_NUMBERS = {"one-bit": OneBit, "piecewise": Piecewise, "hybrid": Hybrid}


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with options, of which a respondent picks one.

    The randomizer's loss for each report, by replacing the answer.
    >>> Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1).loss
    Fraction(1, 1)
    """

    name: str
    text: str
    options: tuple[str, ...]
    randomizer: CategoryRandomizer

    def __init__(
        self,
        *,
        name: str,
        text: str,
        options: tuple[str, ...],
        epsilon: Number,
        randomizer: str = BEST,
    ) -> None:
        _check_words(name, text)
        listed = tuple(options)
        if not 2 <= len(listed) <= MOST_OPTIONS:
            raise SchemaError(f"{name}: {len(listed)} options; there must be 2 to {MOST_OPTIONS}.")
        for option in listed:
            if not _is_text(option, 200) or listed.count(option) > 1:
                raise SchemaError(
                    f"{name}: the option {option!r} is not text of 1 to 200 characters, or is "
                    "there twice."
                )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "options", listed)
        chosen = _choose_categories(name, len(listed), _epsilon(name, epsilon), randomizer)
        object.__setattr__(self, "randomizer", chosen)

    @property
    def loss(self) -> Fraction:
        """The epsilon of one report."""
        return self.randomizer.loss().epsilon


@dataclass(frozen=True, slots=True)
class Scale:
    """A question whose answer is a number in a public range, on a public lattice.

    The randomizer's loss for each report, by replacing the answer.
    >>> Scale(name="hours", text="Hours of sleep?", lower=0, upper=24, step=0.5, epsilon=2).loss
    Fraction(2, 1)
    """

    name: str
    text: str
    randomizer: NumberRandomizer

    def __init__(
        self,
        *,
        name: str,
        text: str,
        lower: Number,
        upper: Number,
        step: Number = 1,
        epsilon: Number,
        randomizer: str = BEST,
    ) -> None:
        _check_words(name, text)
        value = _epsilon(name, epsilon)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "text", text)
        if randomizer == BEST:
            chosen = choose_number(
                epsilon=value, lower=lower, upper=upper, step=step, coin_bits=COIN_BITS
            )
        else:
            kind = _NUMBERS[_check_randomizer(name, randomizer, tuple(_NUMBERS))]
            chosen = kind(epsilon=value, lower=lower, upper=upper, step=step, coin_bits=COIN_BITS)
        object.__setattr__(self, "randomizer", chosen)

    @property
    def loss(self) -> Fraction:
        """The epsilon of one report."""
        return self.randomizer.loss().epsilon


Question = Choice | Scale
"""What a survey asks."""


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most and value.isprintable()


def _check_words(name: str, text: str) -> None:
    identifier(name, "a question's name")
    if not _is_text(text, _MOST_TEXT):
        raise SchemaError(f"{name}: text must have 1 to {_MOST_TEXT} printable characters.")


def _epsilon(name: str, epsilon: Number) -> Fraction:
    value = positive(epsilon, f"{name}: epsilon")
    if value > MOST_EPSILON:
        raise SchemaError(
            f"{name}: epsilon is {epsilon}; the most is {MOST_EPSILON}, and above about 5 a report "
            "nearly tells the answer. Choose a smaller one."
        )
    return value


def _check_randomizer(name: str, randomizer: str, known: tuple[str, ...]) -> str:
    if randomizer not in known:
        raise SchemaError(
            f"{name}: randomizer is {randomizer!r}. {nearest(str(randomizer), (BEST, *known))}"
        )
    return randomizer


def _choose_categories(
    name: str, options: int, epsilon: Fraction, randomizer: str
) -> CategoryRandomizer:
    if randomizer == BEST:
        return choose(
            categories=options, epsilon=epsilon, report_bits=REPORT_BITS, coin_bits=COIN_BITS
        )
    kind = _CATEGORIES[_check_randomizer(name, randomizer, tuple(_CATEGORIES))]
    return kind(epsilon=epsilon, categories=options, coin_bits=COIN_BITS)
