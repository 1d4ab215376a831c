"""Survey files: what they mean, and what is refused with a remedy."""

from fractions import Fraction

import pytest

from discreet.errors import InvalidValue, SchemaError
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
from discreet.survey import Choice, Scale, Survey, read_survey, read_survey_text
from discreet.survey.definition import SKELETON
from discreet.survey.question import REPORT_BITS
from discreet.survey.recipe import recipe

HEAD = '[survey]\ntitle = "T"\n'


def asked(**facts):
    lines = [f"{key} = {value}" for key, value in facts.items()]
    return HEAD + "[questions.q]\n" + "\n".join(lines) + "\n"


def choice(count, **facts):
    options = tuple(f"option {place}" for place in range(count))
    return Choice(name="q", text="?", options=options, **{"epsilon": 1, **facts})


def test_the_skeleton_is_a_survey():
    survey = read_survey_text(SKELETON)
    assert [question.name for question in survey.questions] == ["smokes", "diet", "sleep"]
    assert survey.epsilon == 3
    assert survey.question("smokes").options == ("no", "yes")


def test_decimals_are_exact():
    text = asked(type='"yes-no"', text='"?"', epsilon="0.1")
    assert read_survey_text(text).epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the section [survey] is missing"),
        (HEAD, "the section [questions] is missing"),
        (HEAD + "[questions]\n", "0 questions"),
        ('[survey]\ntitel = "x"\n[questions]\n', "Did you mean 'title'"),
        ("[survey]\n[questions]\n", "no title"),
        (asked(text='"?"'), "type is None"),
        (asked(type='"yes-no"', text='"?"', epsilon=1).replace('"T"', "3"), "texts, in quotes"),
        ("[survey\n", "not valid TOML"),
        ("[survey]\ntitle = 'T'\n[question]\n", "Did you mean 'questions'"),
        (HEAD + "[questions]\nq = 3\n", "write a section"),
        (asked(type='"chioce"'), "it must be one of yes-no, choice, number"),
        (asked(type='"yes-no"', text='"?"'), "epsilon is missing"),
        (asked(type='"yes-no"', text='"?"', epsilon=1, options='["a"]'), "unknown key 'options'"),
        (asked(type='"yes-no"', text='""', epsilon=1), "text must have 1 to 1000"),
        (asked(type='"yes-no"', text='"?"', epsilon=0), "it must be above 0"),
        (asked(type='"yes-no"', text='"?"', epsilon=17), "the most is 16"),
        (asked(type='"yes-no"', text='"?"', epsilon="true"), "the boolean"),
        (asked(type='"yes-no"', text='"?"', epsilon="nan"), "NaN"),
        (asked(type='"choice"', text='"?"', epsilon=1, options='"ab"'), "write a list"),
        (asked(type='"choice"', text='"?"', epsilon=1, options='["a"]'), "1 options"),
        (asked(type='"choice"', text='"?"', epsilon=1, options='["a", "a"]'), "there twice"),
        (asked(type='"choice"', text='"?"', epsilon=1, options="[1, 2]"), "is not text"),
        (asked(type='"number"', text='"?"', epsilon=1, lower=0), "upper is missing"),
        (asked(type='"number"', text='"?"', epsilon=1, lower=3, upper=1), "swap them"),
        (asked(type='"number"', text='"?"', epsilon=1, lower=0, upper=0), "has 0 steps"),
        (
            asked(type='"number"', text='"?"', epsilon=1, lower=0, upper=9, randomizer='"unary"'),
            "randomizer is 'unary'",
        ),
        (
            asked(type='"yes-no"', text='"?"', epsilon=1, randomizer='"hadamart"'),
            "Did you mean 'hadamard'",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(text, words):
    with pytest.raises(InvalidValue, match="(?i)" + words.replace("[", r"\[").replace("]", r"\]")):
        read_survey_text(text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match="survey new"):
        read_survey(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="UTF-8"):
        read_survey(tmp_path / "latin.toml")
    (tmp_path / "good.toml").write_text(SKELETON)
    assert read_survey(tmp_path / "good.toml") == read_survey_text(SKELETON)


def test_names_are_unique_and_questions_are_found():
    with pytest.raises(SchemaError, match="one name"):
        Survey(title="T", questions=(choice(2), choice(3)))
    with pytest.raises(InvalidValue, match="there are q"):
        Survey(title="T", questions=(choice(2),)).question("p")


def test_the_best_randomizer_is_short_and_can_be_overruled():
    assert isinstance(choice(3).randomizer, KaryResponse)
    assert isinstance(choice(30).randomizer, SubsetSelection)
    assert isinstance(choice(500).randomizer, LocalHashing)
    for count in (2, 9, 79, 81, 1000):
        for epsilon in (0.1, 1, 4, 16):
            made = choice(count, epsilon=epsilon).randomizer
            assert made.report_bits <= REPORT_BITS
            assert made.coin_bits == 64
    kinds = {"k-ary": KaryResponse, "unary": UnaryEncoding, "hashing": LocalHashing}
    kinds |= {"hadamard": HadamardResponse, "subset": SubsetSelection}
    for name, kind in kinds.items():
        assert isinstance(choice(9, randomizer=name).randomizer, kind)
    numbers = {"one-bit": OneBit, "piecewise": Piecewise, "hybrid": Hybrid}
    for name, kind in numbers.items():
        made = Scale(name="n", text="?", lower=0, upper=9, epsilon=2, randomizer=name)
        assert isinstance(made.randomizer, kind)


def test_the_fingerprint_is_of_what_gives_reports_their_meaning():
    original = read_survey_text(SKELETON).fingerprint
    for old, new in (
        ("Do you smoke?", "Do you drink?"),
        ("vegetarian", "carnivore"),
        ("epsilon = 1.0", "epsilon = 1.5"),
        ("upper = 24", "upper = 12"),
    ):
        assert old in SKELETON
        assert read_survey_text(SKELETON.replace(old, new)).fingerprint != original
    retitled = SKELETON.replace("Sleep and habits", "Habits and sleep")
    assert read_survey_text(retitled).fingerprint == original


def test_recipes_need_rational_coins():
    assert recipe(Rappor(categories=3, blur=0.5))["kind"] == "rappor"
    for made in (KaryResponse(epsilon=1), OneBit(epsilon=1, lower=0, upper=1, step=1)):
        with pytest.raises(InvalidValue, match="set coin_bits"):
            recipe(made)
    with pytest.raises(InvalidValue, match="there is no recipe for object"):
        recipe(object())


def test_rounds_and_what_they_can_cost_at_most():
    assert read_survey_text(SKELETON).limit == 3
    once = read_survey_text(SKELETON)
    seen = set()
    for rounds in (1, 2, 5, 100):
        survey = read_survey_text(SKELETON.replace("title", f"rounds = {rounds}\ntitle"))
        assert (survey.rounds, survey.limit) == (rounds, 3 * rounds)
        assert survey.wording == once.wording
        seen.add(survey.fingerprint)
    assert len(seen) == 4
    # Browsers that have reported on a survey with one round find what they have kept.
    assert once.fingerprint == once.wording == "3c32cd043fca2a1fa5818b03b0644b6e"
    for wrong in ("0", "1001", "1.5", "true", '"2"'):
        with pytest.raises(SchemaError, match="rounds is"):
            read_survey_text(SKELETON.replace("title", f"rounds = {wrong}\ntitle"))
