"""Twenty-odd mistakes of a newcomer, on the command line and in Python: each gets a message whose
next step works. The step is taken out of the message, by its own words, and tried.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas
import pytest

import discreet
from discreet.curator.service import Curator
from support.command_line import Desk, Outcome, run, write_desk

COUNT = "SELECT COUNT(*) AS n FROM visits"
PAID = ("--as", "ann", "--epsilon", "0.1")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder with data and a schema, as a newcomer has it, and nothing registered yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_VAULT", str(tmp_path / "vault"))
    return write_desk(tmp_path)


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """The same, with the table registered and a budget for ann."""
    assert run("add", desk.schema).status == 0
    assert run("grant", "ann", "--epsilon", "20").status == 0
    return desk


def refused(*words: object) -> str:
    """What a command says that does not work; nothing of a traceback."""
    found = run(*words)
    assert found.status in (1, 2), found
    assert "Traceback" not in found.err
    return re.sub(r"[│╭╮╰╯─\s]+", " ", found.err)


def commands(message: str) -> list[list[str]]:
    """The commands that a message offers."""
    return [shlex.split(each)[1:] for each in re.findall(r"`(discreet [^`]+)`", message)]


def offered(message: str, pattern: str) -> str:
    found = re.search(pattern, message)
    assert found, f"no step in: {message}"
    return found[1]


def works(*words: object) -> Outcome:
    found = run(*words)
    assert found.status == 0, (words, found.err)
    return found


def test_a_question_before_there_is_a_vault(desk):
    ((*step, what),) = commands(refused("query", COUNT, *PAID))
    assert (step, what) == (["add"], "SCHEMA")
    assert works(*step, desk.schema).status == 0


def test_the_data_in_place_of_the_schema(desk):
    (step,) = commands(refused("add", desk.source))
    assert works(*step, "--output", desk.folder / "made.toml").status == 0


def test_a_schema_that_is_not_there(desk):
    ((*step, what),) = commands(refused("add", "visit.toml"))
    assert what == "FILE"
    assert works(*step, desk.source, "--output", desk.folder / "made.toml").status == 0


def test_a_schema_that_is_there_already(desk):
    option = offered(refused("init", desk.source), r"name another file with (--\w+)")
    assert works("init", desk.source, option, "made.toml").status == 0


def test_a_mark_that_is_left_in_a_schema(desk):
    assert works("init", desk.source, "--unit", "patient", "--output", "made.toml").status == 0
    message = refused("add", "made.toml")
    lines = offered(message, r"left on line ([\d, ]+)\. Write a value in its place, or delete")
    text = Path("made.toml").read_text().splitlines()
    for line in map(int, lines.split(", ")):
        assert "FILL-IN" in text[line - 1]
        whole = text[line - 1].startswith(("rows_per_unit", "epsilon"))
        text[line - 1] = text[line - 1].replace("FILL-IN", "1") if whole else ""
    Path("made.toml").write_text("\n".join(text))
    assert "Declare a column" in refused("add", "made.toml")
    text.insert(text.index("[columns]") + 1, 'age = { type = "integer", lower = 0, upper = 99 }')
    Path("made.toml").write_text("\n".join(text))
    assert works("add", "made.toml").status == 0


def test_a_source_that_is_not_there(desk):
    moved = desk.source.rename(desk.folder / "elsewhere.csv")
    assert "does not exist; check the path" in refused("add", desk.schema)
    text = desk.schema.read_text()
    desk.schema.write_text(text.replace("visits.csv", moved.name))
    assert works("add", desk.schema).status == 0


def test_a_misspelt_key_of_a_schema(desk):
    text = desk.schema.read_text()
    desk.schema.write_text(text.replace("upper = 50", "uper = 50"))
    right = offered(refused("add", desk.schema), r"Did you mean '(\w+)'")
    desk.schema.write_text(text.replace("upper = 50", f"{right} = 50"))
    assert works("add", desk.schema).status == 0


def test_a_column_that_the_source_has_not(desk):
    text = desk.schema.read_text()
    desk.schema.write_text(text.replace('unit = "patient"', 'unit = "patients"'))
    right = offered(refused("add", desk.schema), r"Did you mean '(\w+)'")
    desk.schema.write_text(text.replace('unit = "patient"', f'unit = "{right}"'))
    assert works("add", desk.schema).status == 0


def test_an_analyst_without_a_budget(desk):
    assert works("add", desk.schema).status == 0
    (step,) = commands(refused("query", COUNT, *PAID))
    assert works(*step).status == 0
    assert works("query", COUNT, *PAID).status == 0


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("missing", ["--as", "--epsilon"])
def test_an_option_that_is_missing(missing):
    words = dict(zip(PAID[::2], PAID[1::2], strict=True))
    rest = [word for name, value in words.items() if name != missing for word in (name, value)]
    message = refused("query", COUNT, *rest)
    assert missing in message
    assert works("query", COUNT, *rest, missing, words[missing]).status == 0


@pytest.mark.usefixtures("ready")
def test_a_misspelt_command():
    step = offered(refused("qurey", COUNT, *PAID), r"Did you mean '(\w+)'")
    assert works(step, COUNT, *PAID).status == 0


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("command", ["refresh", "inspect"])
def test_a_misspelt_table_of_a_command(command):
    assert works(command, offered(refused(command, "visit"), r"Did you mean '(\w+)'")).status == 0


@pytest.mark.usefixtures("ready")
def test_a_price_that_is_no_number():
    message = refused("query", COUNT, "--as", "ann", "--epsilon", "a little")
    assert (
        works(
            "query", COUNT, "--as", "ann", "--epsilon", offered(message, r"such as ([\d.]+\d)")
        ).status
        == 0
    )


@pytest.mark.usefixtures("ready")
def test_a_second_grant():
    (step,) = commands(refused("grant", "ann", "--epsilon", "25"))
    assert step[-1] == "TEXT"
    assert works(*step[:-1], "a second project").status == 0
    assert works("query", COUNT, "--as", "ann", "--epsilon", "22").status == 0


@pytest.mark.usefixtures("ready")
def test_more_than_is_left():
    message = refused("query", COUNT, "--as", "ann", "--epsilon", "25")
    assert "Ask at a lower price" in message
    assert works("query", COUNT, *PAID).status == 0


def test_a_deleted_vault(ready):
    import shutil

    shutil.rmtree(ready.vault)
    (step,) = commands(refused("add", ready.schema))
    assert step[-1] == "TEXT"
    assert works(*step[:-1], "begun anew").status == 0
    assert works("add", ready.schema).status == 0


@dataclass(frozen=True)
class Question:
    """A wrong question, what its refusal says, and the question after the step."""

    asked: str
    says: str
    mended: Callable[[str], str]


QUESTIONS = {
    "a misspelt table": Question(
        "SELECT COUNT(*) AS n FROM visit",
        r"Did you mean '(\w+)'",
        lambda step: f"SELECT COUNT(*) AS n FROM {step}",
    ),
    "a misspelt column": Question(
        "SELECT AVG(agee) AS n FROM visits",
        r"Did you mean '(\w+)'",
        lambda step: f"SELECT AVG({step}) AS n FROM visits",
    ),
    "text in double quotes": Question(
        f'{COUNT} WHERE region = "north"',
        r"Text stands in single quotes: ('\w+')",
        lambda step: f"{COUNT} WHERE region = {step}",
    ),
    "text without quotes": Question(
        f"{COUNT} WHERE region = north",
        r"Text stands in single quotes: ('\w+')",
        lambda step: f"{COUNT} WHERE region = {step}",
    ),
    "a misspelt key": Question(
        f"{COUNT} WHERE region = 'nroth'",
        r"the nearest is ('\w+')",
        lambda step: f"{COUNT} WHERE region = {step}",
    ),
    "all columns": Question(
        "SELECT * FROM visits",
        r"\* stands only in (COUNT\(\*\))",
        lambda step: f"SELECT {step} AS n FROM visits",
    ),
    "rows": Question(
        "SELECT age FROM visits",
        r"or write (AVG\(\w+\))",
        lambda step: f"SELECT {step} AS n FROM visits",
    ),
    "no GROUP BY": Question(
        "SELECT region, COUNT(*) AS n FROM visits",
        r"Add it to (GROUP BY)",
        lambda step: f"SELECT region, COUNT(*) AS n FROM visits {step} region",
    ),
    "the unit": Question(
        "SELECT patient FROM visits",
        r"only in (COUNT\(DISTINCT \w+\))",
        lambda step: f"SELECT {step} AS n FROM visits",
    ),
    "a number as text": Question(
        f"{COUNT} WHERE age = '30'",
        r"Write (an integer) on both sides",
        lambda _: f"{COUNT} WHERE age = 30",
    ),
    "another statement": Question("DELETE FROM visits", r"starts with (SELECT)", lambda _: COUNT),
    "a comma too many": Question(
        "SELECT COUNT(*) AS n, FROM visits WHERE", r"(Check commas)", lambda _: COUNT
    ),
}


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_wrong_question(name):
    case = QUESTIONS[name]
    message = refused("query", case.asked, *PAID)
    assert "Nothing was run or charged." in message
    assert works("query", case.mended(offered(message, case.says)), *PAID).status == 0


def said(work: Callable[[], object]) -> str:
    """What a mistake in Python says."""
    with pytest.raises(discreet.DiscreetError) as caught:
        work()
    return str(caught.value)


def test_a_curator_of_a_folder(ready):
    assert "Curator.open(folder)" in said(lambda: Curator(ready.vault))
    Curator.open(ready.vault).close()


def test_mistakes_in_python(ready):
    with Curator.open(ready.vault) as curator:
        session = curator.session("ann")
        assert "epsilon=0.1" in said(lambda: session.sql(COUNT))
        assert session.sql(COUNT, epsilon=0.1)
        assert "write an int, a Fraction, a Decimal or a float" in said(
            lambda: session.sql(COUNT, epsilon="0.1")
        )
        assert "session.sql" in said(lambda: session.run(COUNT))
        with pytest.raises(AttributeError) as caught:
            _ = discreet.Curater
        assert "Did you mean 'Curator'?" in str(caught.value)
        step = commands(said(lambda: curator.session("bob").sql(COUNT, epsilon=0.1)))[0]
        works(*step)
        assert curator.session("bob").sql(COUNT, epsilon=0.1)


def test_a_frame_in_place_of_a_schema(desk):
    frame = pandas.read_csv(desk.source)
    with Curator.open(desk.vault) as curator:
        assert "add('visits.toml', data=frame)" in said(lambda: curator.add(frame))
        text = desk.schema.read_text()
        desk.schema.write_text(text.replace('source = "visits.csv"\n', ""))
        curator.add("visits.toml", data=frame)
        assert list(curator.tables) == ["visits"]


def test_an_answer_is_read_by_the_names_of_its_columns(ready):
    with Curator.open(ready.vault) as curator:
        answer = curator.session("ann").sql(COUNT, epsilon=1)
        assert answer["n"] == [answer.to_dicts()[0]["n"]]
        assert "Known: n" in said(lambda: answer["m"])
