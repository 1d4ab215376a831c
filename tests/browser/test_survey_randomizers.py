"""The browser's randomizers are the library's: the same report for the same words, the same exact
law by enumeration in the browser, and a good fit with the browser's own randomness.
"""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.local import (
    HadamardResponse,
    Hybrid,
    KaryResponse,
    LocalHashing,
    OneBit,
    Piecewise,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.randomizers import hashing
from discreet.noise import system
from discreet.rationals import log_bounds
from discreet.survey import Reports, read_survey_text
from discreet.survey.definition import SKELETON
from discreet.survey.endpoint import Endpoint
from discreet.survey.recipe import recipe
from support.browser import PATIENCE, Script
from support.decision_tree import largest_ratio, law
from support.fit import check_fit, rejects

VECTORS = json.loads(Path(__file__).with_name("randomizer_vectors.json").read_text())
RATIONAL = {"epsilon": 1, "coin_bits": 64}
RANGE = {**RATIONAL, "lower": 0, "upper": 3, "step": 1}
QUESTIONS = {
    "kary": KaryResponse(**RATIONAL),
    "kary of five": KaryResponse(**RATIONAL, categories=5),
    "unary": UnaryEncoding(**RATIONAL, categories=4),
    "hadamard": HadamardResponse(**RATIONAL, categories=6),
    "subset": SubsetSelection(**RATIONAL, categories=5, size=2),
    "large subset": SubsetSelection(**RATIONAL, categories=5, size=4),
    "rappor": Rappor(categories=3, blur=Fraction(1, 3), low=Fraction(1, 7), high=Fraction(3, 4)),
    "one bit": OneBit(**RANGE),
    "piecewise": Piecewise(**RANGE),
    "hybrid": Hybrid(**RANGE),
    "hashing": LocalHashing(**RATIONAL, categories=5, sides=3),
}
MANY = 20_000


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A page of the endpoint, from which its scripts can be called."""
    reports = Reports(tmp_path_factory.mktemp("survey") / "r.db", read_survey_text(SKELETON))
    endpoint = Endpoint(reports, port=0)
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto(endpoint.address)
    yield opened
    opened.close()
    endpoint.close()
    reports.close()


def answers(question):
    return range(question.categories if hasattr(question, "categories") else 4)


def plain(report):
    return tuple(report.tolist()) if isinstance(report, np.ndarray) else (int(report),)


PLAY = """async ({recipe, cases}) => {
  const { randomize, tosser } = await import("/randomize.js");
  return cases.map(({held, words}) => {
    let used = 0;
    const report = randomize(recipe, held, tosser(() => BigInt(words[used++])));
    return { report, used };
  });
}"""


def edges(question):
    """Words at which a coin or die of this randomizer is decided, or is not yet."""
    found = {0, 1, 2**64 - 1, 2**63, 2**63 - 1}
    texts = [value for value in flat(recipe(question)) if isinstance(value, list)]
    for numerator, denominator in texts:
        place = int(numerator) * 2**64 // int(denominator)
        found |= {min(max(place + shift, 0), 2**64 - 1) for shift in (-1, 0, 1)}
    return sorted(found)


def flat(values):
    for value in values.values():
        if isinstance(value, dict):
            yield from flat(value)
        else:
            yield value


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_words_give_the_same_report(name, page):
    question = QUESTIONS[name]
    first = [[word] * 3 for word in edges(question)] + [[]] * 12
    cases, expected = [], []
    for start in first:
        words = [*start, *(system.bits(64) for _ in range(60))]
        for answer in answers(question):
            script = Script(words)
            expected.append({"report": list(plain(question.release(answer, script)))})
            expected[-1]["used"] = script.used
            cases.append({"held": answer, "words": [str(word) for word in words]})
    assert page.evaluate(PLAY, {"recipe": recipe(question), "cases": cases}) == expected


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_shared_vectors(vector, page):
    cases = [{"held": vector["answer"], "words": vector["words"]}]
    found = page.evaluate(PLAY, {"recipe": vector["recipe"], "cases": cases})
    assert found == [{"report": vector["report"], "used": vector["used"]}]


ENUMERATE = """async ({recipe, held}) => {
  const { randomize } = await import("/randomize.js");
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  const reduced = ([a, b]) => { const g = gcd(a, b); return [a / g, b / g]; };
  const found = {};
  let path = [];
  for (;;) {
    const sizes = [];
    let chance = [1n, 1n];
    const choose = (chances) => {
      const possible = chances.map((c, i) => [c, i]).filter(([c]) => c[0] > 0n);
      const depth = sizes.length;
      if (depth === path.length) path.push(0);
      sizes.push(possible.length);
      const [c, branch] = possible[path[depth]];
      chance = reduced([chance[0] * c[0], chance[1] * c[1]]);
      return branch;
    };
    const toss = {
      flips([a, b], count) {
        const [p, q] = [BigInt(a), BigInt(b)];
        return Array.from({ length: count }, () => choose([[q - p, q], [p, q]]) === 1);
      },
      die: (sides) => choose(new Array(sides).fill([1n, BigInt(sides)])),
    };
    const report = JSON.stringify(randomize(recipe, held, toss));
    const before = found[report] ?? [0n, 1n];
    found[report] = reduced([before[0] * chance[1] + chance[0] * before[1], before[1] * chance[1]]);
    path.length = sizes.length;
    while (path.length && path.at(-1) + 1 === sizes[path.length - 1]) path.pop();
    if (!path.length) break;
    path[path.length - 1] += 1;
  }
  return Object.entries(found).map(([report, [a, b]]) => [report, `${a}/${b}`]);
}"""


def browser_law(page, question, answer):
    found = page.evaluate(ENUMERATE, {"recipe": recipe(question), "held": answer})
    return {tuple(json.loads(report)): Fraction(chance) for report, chance in found}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_exact_laws_are_the_same(name, page, monkeypatch):
    monkeypatch.setattr(hashing, "_PRIME", 5)  # so that all hash functions can be enumerated
    question = QUESTIONS[name]
    found = [browser_law(page, question, answer) for answer in answers(question)]
    for answer, one in enumerate(found):
        expected = law(lambda a=answer: plain(question.release(a)), monkeypatch)
        assert one == expected  # fractions: equal, not near
        assert sum(one.values()) == 1
    epsilon = getattr(question, "report_epsilon", question.loss().epsilon)
    low, high = log_bounds(largest_ratio(found))
    assert epsilon - Fraction(1, 10**9) <= low <= epsilon
    assert high <= epsilon + Fraction(1, 10**30)


def test_a_randomizer_that_differs_is_seen(page, monkeypatch):
    question = QUESTIONS["kary of five"]
    other = replace(question, coin_bits=50)  # another rational, 2^-50 away at most
    expected = law(lambda: plain(question.release(2)), monkeypatch)
    assert browser_law(page, other, 2) != expected
    assert browser_law(page, question, 3) != expected


SAMPLE = """async ({recipe, held, many}) => {
  const { randomize } = await import("/randomize.js");
  const found = {};
  for (let index = 0; index < many; index += 1) {
    const code = randomize(recipe, held).reduce((code, part, bit) => code + part * 2 ** bit, 0);
    found[code] = (found[code] ?? 0) + 1;
  }
  return found;
}"""


def sample(page, question, answer, many=MANY):
    found = page.evaluate(SAMPLE, {"recipe": recipe(question), "held": answer, "many": many})
    return np.repeat([int(code) for code in found], list(found.values()))


def numbered(one):
    """A law of reports as a law of the codes that `sample` gives them."""
    found = {}
    for report, chance in one.items():
        code = sum(part << bit for bit, part in enumerate(report))
        found[code] = found.get(code, 0.0) + float(chance)
    return found


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "hashing"])
def test_the_browser_s_own_randomness_fits(name, page, monkeypatch):
    question = QUESTIONS[name]
    expected = numbered(law(lambda: plain(question.release(1)), monkeypatch))
    drawn = sample(page, question, 1)
    assert check_fit(drawn, expected, name=f"{name} in the browser") > 0
    other = sample(page, question, 0, MANY // 4)
    assert rejects(check_fit, other, expected, name="another answer")


HASHED = """async ({recipe, held, many}) => {
  const { randomize } = await import("/randomize.js");
  const cells = new Array(64).fill(0);
  let kept = 0;
  for (let index = 0; index < many; index += 1) {
    const [multiplier, offset, hash] = randomize(recipe, held);
    const own = (BigInt(multiplier) * BigInt(held) + BigInt(offset)) % BigInt(recipe.prime);
    kept += Number(own % BigInt(recipe.sides)) === hash;
    cells[Math.floor((multiplier * 64) / recipe.prime)] += 1;
  }
  return { kept, cells };
}"""


def test_hashing_fits(page):
    question = LocalHashing(**RATIONAL, categories=1000)
    told = {"recipe": recipe(question), "held": 777, "many": MANY}
    found = page.evaluate(HASHED, told)
    chance = math.e / (math.e + question.sides - 1)
    kept = np.repeat([1, 0], [found["kept"], MANY - found["kept"]])
    assert check_fit(kept, {1: chance, 0: 1 - chance}, name="hashing in the browser") > 0
    prime = 2**31 - 1
    steps = [-(-cell * prime // 64) for cell in range(65)]
    uniform = {c: (steps[c + 1] - steps[c]) / prime for c in range(64)}
    drawn = np.repeat(np.arange(64), found["cells"])
    assert check_fit(drawn, uniform, name="multipliers in the browser") > 0


TYPED = [
    *("0", "7", "7.5", "7,5", " 12 ", "-3", "+4", "1000", "3.25", "3.75", "0.125", "0.375"),
    *("2.4999999999999999999999", "2.5000000000000000000001", "123456789012345678901234567890"),
]


@pytest.mark.parametrize(
    ("lower", "upper", "step"), [(0, 24, 0.5), (-1, 1, 0.25), (0.5, 9.75, 0.5), (-20, -3, 3)]
)
def test_typed_numbers_come_to_the_same_place(lower, upper, step, page):
    question = OneBit(epsilon=1, lower=lower, upper=upper, step=step, coin_bits=64)
    lattice = question.lattice
    first = round(lattice.lower / lattice.step)
    call = """async ({recipe, typed}) => {
      const { place } = await import("/randomize.js");
      return typed.map((text) => place(recipe, text));
    }"""
    found = page.evaluate(call, {"recipe": recipe(question), "typed": TYPED})
    exact = [Fraction(text.strip().replace(",", ".")) for text in TYPED]
    assert found == [lattice.steps(value) - first for value in exact]
    wrong = ["", "x", "1e3", "--1", "1.", ".5", "NaN", "Infinity", "0x10", "1 2", "9" * 31]
    assert page.evaluate(call, {"recipe": recipe(question), "typed": wrong}) == [None] * len(wrong)


def test_an_answer_that_does_not_exist_is_refused(page):
    call = """async ({recipe, held}) => {
      const { randomize } = await import("/randomize.js");
      try { randomize(recipe, held); } catch (error) { return error.name; }
      return "drawn";
    }"""
    for held in (-1, 5, 1.5, None, "1"):
        told = {"recipe": recipe(QUESTIONS["kary of five"]), "held": held}
        assert page.evaluate(call, told) == "RangeError"
    told = {"recipe": recipe(QUESTIONS["one bit"]), "held": 4}
    assert page.evaluate(call, told) == "RangeError"
    told["held"] = 3
    assert page.evaluate(call, told) == "drawn"
