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
from sqlglot.tokens import Tokenizer

import discreet
from discreet.curator.curator import Curator
from discreet.estimates.median import median
from discreet.estimates.robust import clustered
from discreet.plan.results.explain import warnings_of
from discreet.query.parse import parse
from discreet.release import Declared, Release
from discreet.release.synth.service import synthesize
from discreet.schema import Column
from discreet.schema.table import Table
from discreet.streams import Holdout, Joint
from support.command_line import Clinic, Outcome, copied_clinic, run, write_clinic

COUNT = "SELECT COUNT(*) AS n FROM visits"
PAID = ("--as", "ann", "--epsilon", "0.1")


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clinic:
    """A folder with data and a schema, as a newcomer has it, and nothing registered yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_VAULT", str(tmp_path / "vault"))
    return write_clinic(tmp_path)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ann", "--epsilon", "20").status == 0
    return made


@pytest.fixture
def ready(prepared: Clinic, clinic: Clinic) -> Clinic:
    """The same, with the table registered and a budget for ann."""
    return copied_clinic(prepared, clinic.folder)


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


def test_a_question_before_there_is_a_vault(clinic):
    ((*step, what),) = commands(refused("query", COUNT, *PAID))
    assert (step, what) == (["add"], "SCHEMA")
    assert works(*step, clinic.schema).status == 0


def test_the_data_in_place_of_the_schema(clinic):
    (step,) = commands(refused("add", clinic.source))
    assert works(*step, "--output", clinic.folder / "made.toml").status == 0


def test_a_schema_that_is_not_there(clinic):
    ((*step, what),) = commands(refused("add", "visit.toml"))
    assert what == "FILE"
    assert works(*step, clinic.source, "--output", clinic.folder / "made.toml").status == 0


def test_a_schema_that_is_there_already(clinic):
    option = offered(refused("init", clinic.source), r"name another file with (--\w+)")
    assert works("init", clinic.source, option, "made.toml").status == 0


def test_a_mark_that_is_left_in_a_schema(clinic):
    assert works("init", clinic.source, "--unit", "patient", "--output", "made.toml").status == 0
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


def test_a_source_that_is_not_there(clinic):
    moved = clinic.source.rename(clinic.folder / "elsewhere.csv")
    assert "does not exist; check the path" in refused("add", clinic.schema)
    text = clinic.schema.read_text()
    clinic.schema.write_text(text.replace("visits.csv", moved.name))
    assert works("add", clinic.schema).status == 0


def test_a_misspelt_key_of_a_schema(clinic):
    text = clinic.schema.read_text()
    clinic.schema.write_text(text.replace("upper = 50", "uper = 50"))
    right = offered(refused("add", clinic.schema), r"Did you mean '(\w+)'")
    clinic.schema.write_text(text.replace("upper = 50", f"{right} = 50"))
    assert works("add", clinic.schema).status == 0


def test_a_column_that_the_source_has_not(clinic):
    text = clinic.schema.read_text()
    clinic.schema.write_text(text.replace('unit = "patient"', 'unit = "patients"'))
    right = offered(refused("add", clinic.schema), r"Did you mean '(\w+)'")
    clinic.schema.write_text(text.replace('unit = "patient"', f'unit = "{right}"'))
    assert works("add", clinic.schema).status == 0


def test_an_analyst_without_a_budget(clinic):
    assert works("add", clinic.schema).status == 0
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


def steps(text: str) -> list[list[str]]:
    """The commands that a text offers, in backticks or at its end."""
    found = re.findall(r"(?:`|: )(discreet [^`\n]+)", text)
    return [shlex.split(each)[1:] for each in found]


@pytest.mark.parametrize("name", ["my", "my own vault"])
def test_advice_names_a_vault_that_is_not_the_default_one(clinic, monkeypatch, name):
    """Every step is typed as it stands, with a name for its placeholder; there is one vault."""
    monkeypatch.delenv("DISCREET_VAULT")
    here = ("--vault", name)
    (add,) = commands(refused("tables", *here))
    added = works(*[str(clinic.schema) if word == "SCHEMA" else word for word in add]).out
    values = {"NAME": "ann", "E": "20"}
    (grant,) = steps(added)
    works(*[values.get(word, word) for word in grant])
    (grant,) = commands(refused("query", COUNT, "--as", "bob", "--epsilon", "0.1", *here))
    works(*grant)
    (amend,) = commands(refused("grant", "bob", "--epsilon", "5", *here))
    works(*[word.replace("TEXT", "a second project") for word in amend])
    assert works("query", COUNT, "--as", "bob", "--epsilon", "2", *here)
    (describe,) = steps(works("tables", *here).out)
    works(*[word.replace("TABLE", "visits") for word in describe])
    (new,) = commands(works("monitor", "list", *here).out)
    works(*new, "m", COUNT, "--threshold", "1", "--as", "ann", "--epsilon", "1")
    bounds = ("bounds", "visits", "age", "--epsilon", "9", "--as", "ann", "--write", clinic.schema)
    (add,) = steps(works(*bounds, *here).out)
    works(*add)
    with clinic.source.open("a") as source:
        source.write("99,30,north,2024-01-15,later\n")
    (refresh,) = commands(refused("query", COUNT, "--as", "bob", "--epsilon", "0.3", *here))
    works(*refresh)
    assert not Path("vault").exists()


def test_advice_after_a_vault_was_deleted_names_it(ready, monkeypatch):
    import shutil

    monkeypatch.delenv("DISCREET_VAULT")
    moved = ready.folder / "my"
    works("add", ready.schema, "--vault", moved)
    shutil.rmtree(moved)
    values = {"SCHEMA": str(ready.schema), "TEXT": "begun anew"}
    first, adopt, again = commands(refused("tables", "--vault", moved))
    (adopt_too,) = commands(refused(*[values.get(word, word) for word in first]))
    assert adopt == adopt_too
    for step in (adopt, again):
        works(*[values.get(word, word) for word in step])


def test_the_commands_that_take_no_vault_are_known():
    from typer.main import get_command

    from discreet.cli import app
    from discreet.cli.shared import _WITHOUT_VAULT

    def takes(command):
        return any("--vault" in each.opts for each in command.params) or any(
            map(takes, getattr(command, "commands", {}).values())
        )

    without = [name for name, each in get_command(app).commands.items() if not takes(each)]
    assert sorted(without) == sorted(_WITHOUT_VAULT)


@pytest.mark.usefixtures("clinic")
def test_the_default_vault_is_not_named(monkeypatch):
    for name in (None, "elsewhere"):
        monkeypatch.delenv("DISCREET_VAULT")
        if name:
            monkeypatch.setenv("DISCREET_VAULT", name)
        assert commands(refused("tables")) == [["add", "SCHEMA"]]
        monkeypatch.setenv("DISCREET_VAULT", "")
    monkeypatch.setenv("DISCREET_VAULT", "elsewhere")
    assert commands(refused("tables", "--vault", "vault")) == [
        ["add", "SCHEMA", "--vault", "vault"]
    ]


@pytest.mark.usefixtures("ready")
def test_an_analyst_in_other_capitals():
    message = refused("query", COUNT, "--as", "Ann", "--epsilon", "0.1")
    assert commands(message) == []
    step = offered(message, r"Did you mean '(\w+)'")
    assert works("query", COUNT, "--as", step, "--epsilon", "0.1")


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
        r"ask for (COUNT\(\*\))",
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


ALIASES = {
    "with AS": "SELECT COUNT(*) {} FROM visits",
    "with AS, first of two": "SELECT COUNT(*) {}, AVG(age) AS a FROM visits",
    "without AS": "SELECT COUNT(*) {} FROM visits",
    "of a table": "SELECT COUNT(*) AS n FROM visits {}",
}


@pytest.mark.parametrize("place", ALIASES)
def test_words_of_sql_as_aliases(place):
    """Each is taken, or refused with a form in double quotes that is taken; never another hint."""
    columns = (Column("age", "integer", upper=110),)
    tables = {"visits": Table("visits", columns=columns)}
    words = {word for each in Tokenizer.KEYWORDS for word in re.findall(r"[a-z_]+", each.lower())}
    assert {"rows", "select", "join", "right", "all"} < words
    mark, wrong = "" if place == "without AS" else "AS ", []
    for word in sorted(words):
        try:
            parse(ALIASES[place].format(mark + word), tables)
        except discreet.DiscreetError as refusal:
            found = re.search(r'Write (AS ".+")\.', str(refusal))
            step = found[1] if found else f'AS "{word}"'
            if not found and "stands in double quotes" not in str(refusal):
                wrong.append(str(refusal))
            parse(ALIASES[place].format(step), tables)
    assert wrong == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("SELECT AVG(CAST(age AS tinyint)) AS a FROM visits", "TINYINT"),
        ("WITH v AS SELECT age FROM visits SELECT COUNT(*) AS n FROM v", "a second SELECT"),
        ("SELECT COUNT(*) AS n FROM visits RIGHT JOIN visits AS v ON 1 = 1", "private table first"),
    ],
)
def test_words_of_sql_that_are_no_aliases_have_their_own_hints(asked, says):
    columns = (Column("age", "integer", upper=110),)
    tables = {"visits": Table("visits", columns=columns)}
    message = said(lambda: parse(asked, tables))
    assert says.casefold() in message.casefold()
    assert "Write AS" not in message


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
        name, price = re.search(
            r"(\w+)= \(([\d.]+), say\)", said(lambda: session.sql(COUNT))
        ).groups()
        assert session.sql(COUNT, **{name: float(price)})
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


def test_a_frame_in_place_of_a_schema(clinic):
    frame = pandas.read_csv(clinic.source)
    with Curator.open(clinic.vault) as curator:
        assert "add('visits.toml', data=frame)" in said(lambda: curator.add(frame))
        text = clinic.schema.read_text()
        clinic.schema.write_text(text.replace('source = "visits.csv"\n', ""))
        curator.add("visits.toml", data=frame)
        assert list(curator.tables) == ["visits"]


def test_an_answer_is_read_by_the_names_of_its_columns(ready):
    with Curator.open(ready.vault) as curator:
        answer = curator.session("ann").sql(COUNT, epsilon=1)
        assert answer["n"] == [answer.to_dicts()[0]["n"]]
        assert "Known: n" in said(lambda: answer["m"])


TRUTHS = [("ja", "nein"), ("WAHR", "FALSCH"), ("oui", "non"), ("x", "-")]


def table_of(folder: Path, cells: list[str], entry: str, head: str = "id;what\n") -> Path:
    """A file of one column and a schema that declares it."""
    return columns_of(folder, {"what": (cells, entry)}, head)


def columns_of(folder: Path, columns: dict[str, tuple[list[str], str]], head: str) -> Path:
    """A file of some columns, each with its cells, and a schema that declares them."""
    lines = zip(*(cells for cells, _ in columns.values()), strict=True)
    rows = "".join(f"{place};{';'.join(cells)}\n" for place, cells in enumerate(lines))
    (folder / "t.csv").write_text(head + rows, encoding="utf-8")
    entries = "".join(f"{name} = {entry}\n" for name, (_, entry) in columns.items())
    schema = folder / "t.toml"
    schema.write_text(
        '[table]\nname = "t"\nsource = "t.csv"\n[format]\n'
        f'delimiter = ";"\n[columns]\n{entries}[budget]\nepsilon = 1\n'
    )
    return schema


def all_read(folder: Path, columns: dict[str, tuple[list[str], str]]) -> bool:
    """Whether a file of some columns is added with every cell read."""
    schema = columns_of(folder, columns, ";".join(["id", *columns]) + "\n")
    return "Not read" not in works("add", schema).out


def test_words_for_true_and_false_that_are_not_read(tmp_path, monkeypatch):
    """Each pair is refused by itself, and all are read with the step that was offered."""
    monkeypatch.chdir(tmp_path)
    columns = {}
    for place, words in enumerate(TRUTHS):
        cells = [*words] * 20
        message = refused("add", table_of(tmp_path, cells, '{ type = "boolean" }'))
        kind = offered(message, r'declare (type = "category") with the words as keys')
        keys = offered(message, r'(keys = \[)"ja", "nein"\] say')
        listed = ", ".join(f'"{word}"' for word in words)
        columns[f"c{place}"] = (cells, f"{{ {kind}, {keys}{listed}] }}")
    assert all_read(tmp_path, columns)


def test_the_words_for_true_and_false_that_a_refusal_names_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = table_of(tmp_path, ["ja"] * 20, '{ type = "boolean" }')
    known = offered(refused("add", schema), r"Read are ([\w, ]+);")
    words = re.split(r", | and ", known)
    assert set(words) == {"true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"}
    entry = '{ type = "boolean" }'
    cells = ([word, word.upper()] * 10 for word in words)
    assert all_read(tmp_path, {f"c{place}": (each, entry) for place, each in enumerate(cells)})


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_numbers_with_signs(tmp_path, monkeypatch, kind):
    """Each sign is refused by itself, and all are read with either step that was offered."""
    monkeypatch.chdir(tmp_path)
    numbers = [str(number) for number in range(20)]
    entry = f'{{ type = "{kind}", lower = 0, upper = 99, step = 1 }}'
    columns = {}
    for place, sign in enumerate(["{}%", "({})", "{} €", "$ {}"]):
        cells = [sign.format(number) for number in numbers]
        message = refused("add", table_of(tmp_path, cells, entry))
        step = offered(message, r'or declare (type = "category") with keys')
        assert "take the signs out of the source" in message
        listed = ", ".join(f'"{cell}"' for cell in cells)
        columns[f"c{place}"] = (cells, f"{{ {step}, keys = [{listed}] }}")
    assert all_read(tmp_path, columns)
    (tmp_path / "vault").rename(tmp_path / "before")
    monkeypatch.setenv("DISCREET_VAULT", str(tmp_path / "another"))
    assert all_read(tmp_path, {"what": (numbers, entry)})


def test_a_title_above_the_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = '{ type = "integer", lower = 0, upper = 99 }'
    schema = table_of(tmp_path, ["7"] * 20, entry, "A title\n\nid;what\n")
    key = offered(refused("add", schema), r"write (first_line) and the number of their line in")
    text = schema.read_text()
    schema.write_text(text.replace("[format]\n", f"[format]\n{key} = 3\n"))
    assert "Not read" not in works("add", schema).out
    # The same where the schema was made of the title, and every line is therefore no record.
    schema.write_text(text.replace("what =", '"A title" ='))
    message = refused("add", schema)
    assert key == offered(message, r"(first_line) where the names of columns stand below a title")


def test_a_file_without_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = '{ type = "integer", lower = 0, upper = 99 }'
    schema = table_of(tmp_path, ["7"] * 20, entry, "")
    message = refused("add", schema)
    line = offered(message, r"if there are none, (header = false, columns = 2) and the delimiter")
    line = line.replace(", ", "\n")
    place = offered(message, r'(source_name = "column_)1" and so on') + '2"'
    text = schema.read_text().replace("upper = 99", f"upper = 99, {place}")
    schema.write_text(text.replace("[format]\n", f"[format]\n{line}\n"))
    assert "Not read" not in works("add", schema).out


def test_names_that_are_there_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = '{ type = "integer", source_name = "column_2", lower = 0, upper = 99 }'
    schema = table_of(tmp_path, ["7"] * 20, entry, "3;3\n")
    line = offered(refused("add", schema), r"or write (header = false and columns = 2) in \[format")
    line = line.replace(" and ", "\n")
    schema.write_text(schema.read_text().replace("[format]\n", f"[format]\n{line}\n"))
    assert "Not read" not in works("add", schema).out


@pytest.mark.parametrize("header", ["id;what\n", "A title\n\nid;what\n", ""])
def test_what_init_says_to_check_can_be_changed_as_it_says(tmp_path, monkeypatch, header):
    monkeypatch.chdir(tmp_path)
    table_of(tmp_path, [f"{number},125" for number in range(1, 30)], "{}", header)
    said = works("init", "t.csv", "--output", "made.toml").out
    text = Path("made.toml").read_text()
    taken = offered(said, r'\((thousands = ",") in \[format\]\); if it stands before decimals')
    other = offered(said, r'write (decimal = ",") there and delete the line thousands')
    assert text.count(taken) == 1
    text = text.replace(taken, other).replace('"integer"', '"number", step = 0.001')
    values = re.sub(r"(epsilon|lower|upper) = FILL-IN", r"\1 = 1", text).replace("FILL-IN", '["a"]')
    Path("made.toml").write_text(re.sub(r"upper = 1\b", "upper = 99", values))
    assert "Not read" not in works("add", "made.toml").out
    for option in re.findall(r"`discreet init` takes (--[\w-]+)", said):
        value = ["1"] if option == "--first-line" else []
        run("init", "t.csv", "--output", f"{option}.toml", option, *value)
        assert Path(f"{option}.toml").exists() or option == "--first-line"


@pytest.mark.parametrize("given", [".", "", "/", "..", "#sheet", "data", "data/", "data.csv"])
def test_a_folder_or_nothing_in_place_of_a_file(tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    for name in ("data", "data.csv"):
        Path(name).mkdir()
        Path(name, "visits.csv").write_text("id,age\n1,30\n2,40\n")
    message = refused("init", given)
    pattern = offered(message, r"such as (\S+\*\.csv'?)")
    if given.startswith("data"):
        assert works("init", *shlex.split(pattern), "--output", "made.toml")


UNITS = {  # what the file holds, and the unit that is named
    "names that look like a row": ("n,m\n" + "a,b\nc,d\n" * 20, "n"),
    "names that are numbers": ("2020,2021\n" + "5,6\n" * 20, "column_1"),
    "names below a title": ("a title\nn,m\n" + "5,6\n" * 20, "n"),
    "names below a table": ("k,l\n1,2\nn,m\n" + "5,6\n" * 20, "n"),
    "blank lines first": ("\n\nn,m\n" + "a,b\nc,d\n" * 20, "n"),
}


@pytest.mark.parametrize("case", UNITS)
@pytest.mark.parametrize("more", [(), ("--first-line", "1"), ("--no-header",), ("--header",)])
def test_a_unit_whose_line_of_names_was_guessed_away(tmp_path, monkeypatch, case, more):
    """One of the ways that are offered leads to the unit, and each of them is taken."""
    monkeypatch.chdir(tmp_path)
    text, unit = UNITS[case]
    Path("t.csv").write_text(text)
    tried = run("init", "t.csv", "--unit", unit, *more)
    if tried.status == 0:
        return
    assert f"has no column '{unit}'" in tried.err
    ways = re.findall(r"--(?:no-header|header --first-line LINE|header)", tried.err)
    assert len(ways) == 2
    line = 1 + text.splitlines().index("n,m") if unit == "n" else 1
    found = []
    for way in ways:
        words = [word.replace("LINE", str(line)) for word in way.split()]
        found.append(run("init", "t.csv", "--unit", unit, *words).status)
        Path("t.toml").unlink(missing_ok=True)
    assert 0 in found


def test_names_that_are_there_twice_for_init(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age,Age\n" + "5,6\n" * 20)
    message = refused("init", "t.csv")
    assert "[format]" not in message
    assert works("init", "t.csv", offered(message, r"or use (--no-header) if there are no names"))
    assert "column_2" in Path("t.toml").read_text()


# Advice is in the spelling of its surface: Python's keywords, a command's options.


def typed(message: str) -> list[str]:
    """The options that a message offers, each with its value."""
    assert not re.search(r"(?<![\w(])(?!epsilon|delta|rho)[a-z_]+=(?!\w*\))", message), message
    return re.findall(r"--[a-z-]+(?: \w+(?:\.\w+)*)?", message)


def test_a_limit_that_is_suggested(ready):
    """On the command line an option, in Python a keyword; both make the plan that was promised."""
    shown = works("explain", COUNT, *PAID)
    text = re.sub(r"\s+", " ", shown.out)
    suggested = text[text.index("suggestion ") : text.index("SQL to be run")]
    (option,) = typed(suggested)
    better = works("explain", COUNT, *PAID, *option.split(), "--json").json["error"]["n"]
    assert f"{better:.3g}" == offered(suggested, r"the error of n is ([\d.]+) instead")
    with Curator.open(ready.vault) as curator:
        session = curator.session("ann")
        plan = session.explain(COUNT, epsilon=0.1)
        name, value = re.search(r"suggestion: (\w+)=(\d+):", repr(plan)).groups()
        assert session.explain(COUNT, epsilon=0.1, **{name: int(value)}).error["n"] == better


AVERAGE = "SELECT AVG(age) AS a FROM visits"


def test_a_count_that_is_supposed(ready):
    text = re.sub(r"\s+", " ", works("explain", AVERAGE, *PAID).out)
    for where in (
        r"a group; assume (--\w+) N",
        r"which is secret; assume one with (--\w+) to see",
    ):
        option = offered(text, where)
        assert works("explain", AVERAGE, *PAID, option, "100", "--json").json["error"]["a"]
    with Curator.open(ready.vault) as curator:
        session = curator.session("ann")
        told = warnings_of(session.explain(AVERAGE, epsilon=0.1))
        name = offered(" ".join(told), r"assume one with (\w+)= to see it")
        assert session.explain(AVERAGE, epsilon=0.1, **{name: 100})
        message = said(lambda: session.explain(AVERAGE, error=1))
        name = offered(message, r"Assume one with (\w+)=;")
        assert session.explain(AVERAGE, error=1, **{name: 10**6})
    message = refused("explain", AVERAGE, "--as", "ann", "--error", "1")
    (option,) = typed(message)
    assert works("explain", AVERAGE, "--as", "ann", "--error", "1", option, 10**6)


@pytest.mark.usefixtures("ready")
def test_a_price_that_is_missing():
    message = refused("query", COUNT, "--as", "ann")
    option, price = re.search(r"(--\w+) \(([\d.]+), say\), --rho or --error", message).groups()
    assert works("query", COUNT, "--as", "ann", option, price)


def test_columns_that_synthetic_rows_cannot_have(clinic):
    text = clinic.schema.read_text().replace('["north", "south"]', '"private"')
    clinic.schema.write_text(text)
    assert works("add", clinic.schema)
    assert works("grant", "ann", "--epsilon", "20")
    words = (
        "synth",
        "visits",
        "--epsilon",
        "9",
        "--rows",
        "5",
        "--output",
        "made.csv",
        "--as",
        "ann",
    )
    message = refused(*words, "--column", "region", "--column", "age")
    (option,) = typed(message)
    assert works(*words, option, "age", "--method", "mwem")
    with Curator.open(clinic.vault) as curator:
        session = curator.session("ann")
        message = said(lambda: synthesize(session, "visits", epsilon=9, columns=["region", "age"]))
        name = offered(message, r"with (\w+)=\.")
        assert synthesize(session, "visits", epsilon=9, method="mwem", **{name: ["age"]})


def test_synthetic_rows_from_a_pure_budget(ready):
    words = ("synth", "visits", "--epsilon", "1", "--rows", "5", "--output", "made.csv",
             "--as", "ann", "--column", "region")  # fmt: skip
    (option,) = typed(refused(*words))
    assert works(*words, *option.split())
    with Curator.open(ready.vault) as curator:
        session = curator.session("ann")
        message = said(lambda: synthesize(session, "visits", epsilon=1, columns=["region"]))
        name, value = re.search(r'(\w+)="(\w+)"', message).groups()
        assert synthesize(session, "visits", epsilon=1, columns=["region"], **{name: value})


@pytest.mark.parametrize("more", [(), ("--delta", "1e-6")])
def test_a_budget_below_what_was_spent(clinic, more):
    """Said to the custodian, who is not told to ask the custodian."""
    if more:
        clinic.schema.write_text(clinic.schema.read_text() + "delta = 1e-6\n")
    assert works("add", clinic.schema)
    assert works("grant", "ann", "--epsilon", "20", *more)
    assert works("query", COUNT, "--as", "ann", "--epsilon", "7")
    words = ("ledger", "amend", "analyst", "ann", "--why", "less", "--epsilon")
    message = refused(*words, "2")
    assert "custodian" not in message
    assert works(*words, offered(message, r"give it at least epsilon (\d+(?:\.\d+)?)"))


ODD = """
[table]
name = "order"
source = "odd.csv"
unit = "group"
rows_per_unit = 2
[columns]
"select"         = { type = "integer", lower = 0, upper = 50 }
"Net income (€)" = { type = "integer", lower = 0, upper = 50 }
"where"          = { type = "category", keys = ["north", "south"] }
[budget]
epsilon = 30
"""
ODD_QUESTIONS = {
    "a misspelt column": (
        'SELECT AVG(selec) AS n FROM "order"', r"Did you mean '(.+?)'\?",
        'SELECT AVG({}) AS n FROM "order"',
    ),
    "a misspelt column of several words": (
        'SELECT AVG("net income") AS n FROM "order"', r"Did you mean '(.+?)'\?",
        'SELECT AVG({}) AS n FROM "order"',
    ),
    "a misspelt table": (
        "SELECT COUNT(*) AS n FROM ordr", r"Did you mean '(.+?)'\?", "SELECT COUNT(*) AS n FROM {}",
    ),
    "a number that is not aggregated": (
        'SELECT "select" FROM "order"', r"or write (\w+\(.+?\)), for instance",
        'SELECT {} AS n FROM "order"',
    ),
    "a key that is not aggregated": (
        'SELECT "where" FROM "order"', r"or write (\w+\(.+?\)), for instance",
        'SELECT {} AS n FROM "order"',
    ),
    "the unit": (
        'SELECT "group" FROM "order"', r"only in (COUNT\(DISTINCT .+?\)),",
        'SELECT {} AS n FROM "order"',
    ),
    "another column than the unit": (
        'SELECT COUNT(DISTINCT "select") AS n FROM "order"', r"Write (COUNT\(DISTINCT .+?\)), or",
        'SELECT {} AS n FROM "order"',
    ),
    "another table's column": (
        'SELECT AVG(o."select") AS n FROM "order"', r"Write (.+?)\. Nothing",
        'SELECT AVG({}) AS n FROM "order"',
    ),
    "a join without the unit": (
        'SELECT COUNT(*) AS n FROM "order" AS a JOIN "order" AS "from" '
        'ON a."select" = "from"."select"',
        r"Add ON (.+?)\. Nothing",
        'SELECT COUNT(*) AS n FROM "order" AS a JOIN "order" AS "from" ON {}',
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A table whose names are words of SQL, or no words at all."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.csv").write_text("group,select,Net income (€),where\n1,2,3,north\n2,3,4,south\n")
    (folder / "odd.toml").write_text(ODD)
    vault = ("--vault", folder / "vault")
    assert run("add", folder / "odd.toml", *vault).status == 0
    assert run("grant", "ann", "--epsilon", "20", *vault).status == 0
    return vault


@pytest.mark.parametrize("name", ODD_QUESTIONS)
def test_advice_quotes_names_that_sql_would_not_take(odd, name):
    asked, pattern, mended = ODD_QUESTIONS[name]
    message = refused("query", asked, *PAID, *odd)
    assert works("query", mended.format(offered(message, pattern)), *PAID, *odd).status == 0


def test_questions_that_are_offered_quote_such_names(odd):
    """Of `describe`, and of the notes of every answer to them."""
    offers = works("describe", "order", "--json", *odd).json["examples"]
    assert len(offers) > 3
    for question in offers:
        notes = works("query", question, *PAID, "--json", *odd).json["notes"]
        for note in notes:
            if note["ask"]:
                works("query", note["ask"], *PAID, *odd)


LOOKING = {
    "tables": lambda s, name: s.tables[name]["name"],
    "in tables": lambda s, name: name in s.tables and s.tables[name],
    "a question": lambda s, name: s.sql(f"SELECT COUNT(*) AS n FROM {name}", epsilon=0.1),
    "bounds": lambda s, name: s.bounds(name, "age", epsilon=0.1),
    "median": lambda s, name: median(s, name, "AGE", epsilon=0.1),
    "clustered": lambda s, name: clustered(
        s, name, "Age", clusters=1, width=5, epsilon=0.1
    ),
    "synthetic rows": lambda s, name: synthesize(
        s, name, epsilon=0.1, columns=["region"], method="mwem"
    ),
    "a release": lambda s, name: Release(
        title="t", table=name, epsilon=1,
        tables=(Declared("marginals", "m", {"columns": ["region"], "orders": [1]}),),
    ).plan(s).run(),
    "a joint": lambda s, name: Joint.open(
        s, table=name, name="j", epsilon=0.1, sensitivity=9
    ).ask(f"SELECT COUNT(*) AS n FROM {name}"),
    "a holdout": lambda s, name: Holdout.open(
        s, table=name, name="h", threshold=1, overfits=1, epsilon=0.1
    ).mean(f"SELECT COUNT(*) AS n FROM {name}", training=1),
}  # fmt: skip


@pytest.mark.parametrize("door", LOOKING)
def test_capitals_of_a_table_do_not_count(ready, door):
    """As in SQL, wherever a table is named; a misspelt one is refused with the nearest."""
    with Curator.open(ready.vault, price_floor=0) as curator:
        session = curator.session("ann")
        assert LOOKING[door](session, "Visits")
        if door != "in tables":
            assert "Did you mean 'visits'" in said(lambda: LOOKING[door](session, "vistis"))


@pytest.mark.usefixtures("ready")
def test_capitals_of_a_table_do_not_count_for_commands():
    assert works("describe", "VISITS", "--json").json["name"] == "visits"
    assert works("inspect", "Visits")
    assert works("refresh", "VisitS")
    words = ("--epsilon", "1", "--rows", "5", "--output", "made.csv", "--as", "ann")
    assert works("synth", "Visits", *words, "--column", "region", "--method", "mwem")
    step = offered(refused("synth", "vist", *words), r"Did you mean '(\w+)'")
    assert works("synth", step, *words, "--column", "region", "--method", "mwem")
