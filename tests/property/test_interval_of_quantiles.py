"""What is said of a quantile holds with its probability on every column: crowded, with gaps, of two
points, heavy in the tails, constant, of one row, empty. Nothing is sampled: the probability of each
outcome is computed from the definition of the choice, and what an answer says of each outcome is
held against the exact ranks of all rows.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.curator.answer import Answer
from discreet.curator.noising import add_noise
from discreet.curator.results.block_result import BlockResult
from discreet.loss import ZCDP, Pure
from discreet.noise.bits import system
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.candidate_laws import choice_laws

UPPERS = {"values": 4_000, "buckets": 335_871, "fine": 4_194_303}
FRACTIONS = ("0.5", "0.1", "0.99")
PRICES = {"pure": Pure(epsilon=Fraction(1, 2)), "zcdp": ZCDP(rho=Fraction(1, 50))}


def _shapes(upper):
    """Sorted columns of public length, by name; `at` is inside a bucket, away from its middle."""
    at = upper // 3 // 4096 * 4096
    steps = np.arange(2_000)
    heavy = np.minimum(upper, (upper / (1 + steps[::-1])).astype(np.int64))
    return {
        "crowded": np.concatenate([np.full(900, at), np.full(900, at + 40), [0, upper]]),
        "crowded beside its middle": np.concatenate([np.full(1_600, at + 1), [upper] * 400]),
        "gappy": np.concatenate([steps[:1_000], upper - steps[1_000:]]),
        "two points": np.repeat([at, upper], [1_300, 700]),
        "heavy tails": np.sort(heavy),
        "spread": np.linspace(0, upper, 2_000).astype(np.int64),
        "constant": np.full(2_000, at + 1),
        "one row": np.array([at]),
        "empty": np.array([], dtype=np.int64),
    }


SHAPES = tuple(_shapes(9_000))


def _planned(size, price, outputs):
    columns = (Column("x", "integer", lower=0, upper=UPPERS[size]),)
    table = Table("t", unit="who", rows_per_unit=1, columns=columns)
    text = f"SELECT {outputs} FROM t"
    draft = Draft(query=parse(text, {"t": table}), table=table, price=price, question=text)
    return plan(replace(draft, ways=(QuantileMethod.FINE,)) if size == "fine" else draft)


def _counts(made, values):
    pick = made.picks[0]
    return np.bincount(values // pick.width - pick.first, minlength=pick.candidates)


def _answers(made, candidates):
    """The answer for each of these candidates, as rows of one answer."""
    released = Released(made, ((),) * len(candidates), (np.asarray(candidates),))
    return Answer(BlockResult(released), SimpleNamespace(cost={}), free=False)


def _ranks_off(values, fraction, low, high):
    """How far the wanted rank is from the ranks that rows with a value in [low, high] take up.

    A value that many rows share has all of their ranks; one that none has the rank between.
    """
    wanted = fraction * len(values)
    below = np.searchsorted(values, low, side="left")
    upto = np.searchsorted(values, high, side="right")
    return np.maximum(0.0, np.maximum(below - wanted, wanted - upto))


@cache
def _said(size, kind, fraction):
    """A plan and what its answers say, in arrays with an entry for each value that may be named:
    the value and how far off its rank is; for buckets the ends, and that of a value between them.
    """
    made = _planned(size, PRICES[kind], f"QUANTILE_CONT(x, {fraction}) AS m")
    answer = _answers(made, np.arange(made.picks[0].candidates))
    named = np.array([row["m"] for row in answer.to_dicts()])
    most = np.array([row["m"][1] for row in answer.intervals()])
    within = [row["m"] for row in answer.buckets() if "m" in row]
    ends = [np.array([getattr(each, name) for each in within]) for name in ("low", "high", "ranks")]
    return made, named, most, ends if within else None


def _missed(said, values, fraction):
    """The exact probability that something said of a quantile is false, in ranks or of buckets."""
    made, named, most, ends = said
    [law] = choice_laws(made.choices[0], _counts(made, values))
    false = _ranks_off(values, fraction, named, named) > most
    if ends is not None:
        false |= _ranks_off(values, fraction, *ends[:2]) > ends[2]
    return float(np.exp(law)[false].sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("size", "kind", "fractions"),
    [
        *((size, kind, FRACTIONS) for size in ("values", "buckets") for kind in PRICES),
        ("fine", "pure", FRACTIONS[:1]),
    ],
)
def test_what_is_said_of_a_quantile_holds_on_every_column(size, kind, fractions, shape):
    values = _shapes(UPPERS[size])[shape]
    for fraction in fractions:
        assert _missed(_said(size, kind, fraction), values, float(fraction)) <= 0.05


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("size", ["buckets", "fine"])
def test_the_middle_of_a_bucket_told_as_exact_would_be_found(size, kind):
    """What was promised before: the choice's error, for the value that is named."""
    values = _shapes(UPPERS[size])["crowded beside its middle"]
    made = _planned(size, PRICES[kind], "QUANTILE_CONT(x, 0.5) AS m")
    pick, choice = made.picks[0], made.choices[0]
    assert pick.width > 1
    [law] = choice_laws(choice, _counts(made, values))
    named = np.array([pick.value(each) for each in range(pick.candidates)])
    off = _ranks_off(values, 0.5, named, named)
    assert np.exp(law)[off > choice.error(Fraction(95, 100))].sum() > 0.9


@pytest.mark.parametrize("size", UPPERS)
def test_a_rank_is_promised_exactly_where_candidates_are_values(size):
    made = _planned(size, PRICES["pure"], "MEDIAN(x) AS m")
    answer = _answers(made, [0, made.picks[0].candidates - 1])
    buckets, [interval, _] = answer.buckets(), answer.intervals()
    if size == "values":
        assert buckets == [{}, {}]
        assert interval["m"][1] == made.error["m"] == made.choices[0].error(Fraction(95, 100))
        return
    assert made.error == {"m": None}
    assert interval["m"] == (-np.inf, np.inf)
    first, last = (row["m"] for row in buckets)
    assert (first.low, last.high) == (0, UPPERS[size])
    assert first.high == made.picks[0].width - 1
    assert first.ranks == made.choices[0].error(Fraction(95, 100))


@pytest.mark.parametrize("size", ["values", "buckets"])
def test_several_quantiles_and_extremes_are_as_far_off_as_is_said(size):
    """Both ends of what is released in one run, on the most crowded column: a sanity check of the
    released form, where several answers are put in order.
    """
    made = _planned(size, Pure(epsilon=Fraction(400)), "MIN(x) AS a, MEDIAN(x) AS b, MAX(x) AS c")
    values = _shapes(UPPERS[size])["crowded"]
    rows = [(1, place, count) for place, count in enumerate(_counts(made, values)) if count]
    answer = Answer(
        BlockResult(add_noise(made, rows, system)), SimpleNamespace(cost={}), free=False
    )
    [row], [said], [within] = answer.to_dicts(), answer.intervals(), answer.buckets()
    assert row["a"] <= row["b"] <= row["c"]
    for name, fraction in {"a": 0.0, "b": 0.5, "c": 1.0}.items():
        if size == "values":
            assert _ranks_off(values, fraction, row[name], row[name]) <= said[name][1] < 20
        else:
            each = within[name]
            assert each.low <= row[name] <= each.high
            assert _ranks_off(values, fraction, each.low, each.high) <= each.ranks < 20
