"""explain and query, as an analyst types them."""

import importlib.util
import re

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.mechanisms import DiscreteLaplace
from support.command_line import Clinic, write_clinic
from support.trips import PURE, riders, trips_of

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
AVERAGE = "SELECT AVG(age) AS age FROM visits"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("clinic"))
    assert made.run("add", made.schema).status == 0
    for number in range(40):
        assert made.run("grant", f"ana{number}", "--epsilon", "1").status == 0
    made.run("grant", "bo", "--epsilon", "1", "--delta", "1e-6")
    return made


@pytest.fixture
def ana(clinic):
    """An analyst who has not spent anything."""
    left = {
        account["name"]
        for account in clinic.run("ledger", "--json").json["accounts"]
        if account["holder"] == "analyst" and account["spent"] == 0
    }
    return sorted(left - {"bo"})[0]


def test_explain_shows_everything_and_charges_nothing(clinic, ana):
    before = clinic.run("ledger", "--json").json
    outcome = clinic.run("explain", COUNT, "--as", ana, "--epsilon", "0.5")
    assert outcome.status == 0
    for words in ("epsilon 0.5", "everything one patient", "n ± 12", "discrete Laplace, scale 4"):
        assert words in outcome.out
    assert "Nothing was run or charged" in outcome.out
    assert "GROUP BY 1" in outcome.out
    assert clinic.run("ledger", "--json").json == before


def test_explain_as_json_says_whether_it_would_be_admitted(clinic, ana):
    few = clinic.run("explain", COUNT, "--as", ana, "--epsilon", "0.5", "--json").json
    assert few["admitted"] is True
    assert few["cost"] == {"epsilon": "0.5"}
    assert few["remaining"]["analyst"]["epsilon"] == 1
    many = clinic.run("explain", COUNT, "--as", ana, "--epsilon", "1.5", "--json").json
    assert many["admitted"] is False


def test_explain_warns_of_a_refusal(clinic, ana):
    outcome = clinic.run("explain", COUNT, "--as", ana, "--epsilon", "1.5")
    assert outcome.status == 0
    assert f"would be refused now. It would bring the epsilon of analyst '{ana}'" in " ".join(
        outcome.out.split()
    )


def test_the_error_of_an_average_needs_a_supposed_count(clinic, ana):
    blind = clinic.run("explain", AVERAGE, "--as", ana, "--epsilon", "1")
    assert "age depends on the rows of a group; assume --count N" in blind.out
    seen = clinic.run("explain", AVERAGE, "--as", ana, "--epsilon", "1", "--count", "5000")
    assert re.search(r"age ± [\d.]+ where a group has 5,000 rows", seen.out)
    assert "assume" not in seen.out


def test_query_prints_value_interval_cost_and_what_is_left(clinic, ana):
    outcome = clinic.run("query", COUNT, "--as", ana, "--epsilon", "0.5")
    assert outcome.status == 0
    assert re.search(r"north\D+-?\d+ │ *\[-?\d+, -?\d+\]", outcome.out)
    assert "Cost: epsilon 0.5." in outcome.out
    assert re.search(r"Receipt: [0-9a-f]{20} of 20", outcome.out)
    assert f"Left of analyst {ana}: epsilon 0.5 of 1." in outcome.out
    assert "Left of population patients: epsilon" in outcome.out
    again = clinic.run("query", COUNT, "--as", ana, "--epsilon", "0.5")
    assert "Free: these numbers were released before" in again.out
    assert f"Left of analyst {ana}: epsilon 0.5 of 1." in again.out
    assert again.out.split("Free")[0] == outcome.out.split("Cost")[0]


def test_query_as_json(clinic, ana):
    outcome = clinic.run("query", COUNT, "--as", ana, "--epsilon", "0.1", "--json").json
    assert outcome["columns"] == ["region", "n"]
    assert [row["region"] for row in outcome["rows"]] == ["north", "south"]
    for row, interval in zip(outcome["rows"], outcome["intervals"], strict=True):
        low, high = interval["n"]
        assert low <= row["n"] <= high
        assert high - low == 2 * DiscreteLaplace(scale=20).error(0.95)
    assert outcome["free"] is False
    assert outcome["receipt"]["cost"] == {"epsilon": "0.1"}
    assert outcome["receipt"]["unit"] == "patient"
    assert outcome["remaining"]["analyst"]["epsilon"] == 0.9
    again = clinic.run("query", COUNT, "--as", ana, "--epsilon", "0.1", "--json").json
    assert again == {**outcome, "free": True}


def test_a_narrow_terminal_breaks_no_number(clinic, ana, monkeypatch):
    sql = "SELECT region, COUNT(*) AS n, SUM(age) AS years FROM visits GROUP BY region"
    wide = clinic.run("query", sql, "--as", ana, "--epsilon", "0.1")
    monkeypatch.setenv("COLUMNS", "40")
    narrow = CliRunner(env={"COLUMNS": "40"}).invoke(
        app, ["query", sql, "--as", ana, "--epsilon", "0.1", "--vault", str(clinic.vault)]
    )
    table = narrow.stdout.split("Free")[0]
    assert max(map(len, table.splitlines())) <= 40
    number = r"-?[\d,]*\d"
    found = [re.findall(number, text.split("epsilon")[0]) for text in (wide.out, table)]
    assert sorted(found[0][1:]) == sorted([*found[1], "95"])


def test_dates_are_text_in_json(clinic, ana):
    sql = "SELECT DATE_TRUNC('quarter', day) AS quarter, COUNT(*) AS n FROM visits GROUP BY 1"
    rows = clinic.run("query", sql, "--as", ana, "--epsilon", "0.1", "--json").json["rows"]
    assert [row["quarter"] for row in rows] == [f"2024-{m}-01" for m in ("01", "04", "07", "10")]


def test_an_error_buys_the_least_price(clinic, ana):
    outcome = clinic.run("query", COUNT, "--as", ana, "--error", "12", "--json").json
    assert 0.4 < float(outcome["receipt"]["cost"]["epsilon"]) <= 0.5
    one = clinic.run("explain", COUNT, "--as", ana, "--error", "n=12", "--json").json
    assert one["cost"] == outcome["receipt"]["cost"]


def test_a_budget_with_delta_is_priced_in_rho(clinic):
    outcome = clinic.run("query", COUNT, "--as", "bo", "--epsilon", "0.1")
    assert "Cost: epsilon 0.1" in outcome.out  # the population's budget is pure
    assert "at delta 1e-06 (rho" in outcome.out
    refused = clinic.run("query", COUNT, "--as", "bo", "--rho", "0.01")
    assert refused.status == 1
    assert "rho has no meaning under a pure budget" in refused.err


def test_the_price_may_stand_in_the_sql(clinic, ana):
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.25) COUNT(*) AS n FROM visits"
    assert "Cost: epsilon 0.25" in clinic.run("query", sql, "--as", ana).out


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([COUNT, "--epsilon", "1.5"], 1, "to 1.5; the budget is 1. Ask at a lower price"),
        (["SELECT * FROM visits", "--epsilon", "0.1"], 1, "Rows of people are not shown"),
        (["SELECT patient FROM visits", "--epsilon", "0.1"], 1, "COUNT(DISTINCT patient)"),
        (["DROP TABLE visits", "--epsilon", "0.1"], 1, "SELECT"),
        ([COUNT], 2, "give one price"),
        ([COUNT, "--epsilon", "0.1", "--rho", "0.1"], 2, "give one price"),
        ([COUNT, "--epsilon", "0.1", "--error", "5"], 2, "give one price"),
        ([COUNT, "--epsilon", "x"], 2, "'x' is not a number"),
        ([COUNT, "--epsilon", "inf"], 2, "must be finite"),
        ([COUNT, "--epsilon", "0"], 2, "above 0"),
        ([COUNT, "--error", "m=5"], 2, "error names the column 'm'"),
        ([COUNT, "--error", "n=5", "--error", "6"], 2, "write COLUMN=X in each"),
        ([COUNT, "--epsilon", "0.1", "--plot", "chart.gif"], 2, ".svg or .png"),
        ([COUNT, "--epsilon", "0.1", "--plot", "no/such/chart.svg"], 2, "there is no folder"),
    ],
)  # fmt: skip
def test_refusals_have_a_status_a_reason_and_no_charge(words, status, message, clinic, ana):
    outcome = clinic.run("query", *words, "--as", ana)
    assert outcome.status == status
    assert message in " ".join(re.sub("[│╭╰─╮╯]", " ", outcome.err).split())
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    accounts = clinic.run("ledger", "--json").json["accounts"]
    assert next(each for each in accounts if each["name"] == ana)["spent"] == 0


def test_an_unknown_analyst_is_bad_input(clinic):
    outcome = clinic.run("query", COUNT, "--as", "anna", "--epsilon", "0.1")
    assert outcome.status == 2
    assert "there is no analyst 'anna'" in outcome.err


def test_the_chart_is_written(clinic, ana, tmp_path):
    chart = tmp_path / "chart.svg"
    outcome = clinic.run("query", COUNT, "--as", ana, "--epsilon", "0.1", "--plot", chart)
    assert outcome.status == 0
    assert f"Chart: {chart}" in outcome.out
    assert chart.read_text().startswith("<svg")


def test_without_the_plots_extra_nothing_is_charged(clinic, ana, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    without = lambda name, *more: None if name == "vl_convert" else find(name, *more)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", without)
    outcome = clinic.run(
        "query", COUNT, "--as", ana, "--epsilon", "0.1", "--plot", tmp_path / "c.svg"
    )
    assert outcome.status == 1
    assert "discreet[plots]" in outcome.err


PICKED = (
    "SELECT city, COUNT(DISTINCT rider) AS n, MEDIAN(fare) AS m, MODE(region) AS o, "
    "MAX(day) AS last FROM trips GROUP BY city"
)
LEADING = (
    "SELECT day, AVG(age) AS a FROM trips GROUP BY day ORDER BY COUNT(DISTINCT rider) DESC LIMIT 3"
)
NOISED = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY n DESC LIMIT 2"


@pytest.fixture(scope="module")
def trips_cli(tmp_path_factory):
    """Trips by cities that are not public."""
    folder = tmp_path_factory.mktemp("trips_cli")
    trips_of(folder, riders(2000, ("Ulm", "Bern", "\x1b[2J")), rows_per_unit=2).close()
    return Clinic(folder)


def words(outcome):
    return " ".join(re.sub("[│╭╰─╮╯┃]", " ", outcome.out + outcome.err).split())


def asked(trips_cli, command, sql, *more):
    return trips_cli.run(command, sql, "--as", "ana", "--epsilon", "4", *more)


def test_explain_shows_ranks_rows_private_keys_and_delta(trips_cli):
    said = words(asked(trips_cli, "explain", PICKED, "--delta", "1e-9"))
    assert re.search(r"cost rho [\d.]+, delta [\d.]+e-\d+ \(alone", said)
    assert re.search(r"groups private keys; keys from a noisy number of units of \d+ on", said)
    assert re.search(r"m ± \d+ ranks", said)
    assert re.search(r"o at most \d+ rows behind", said)
    assert re.search(r"last ± \d+ ranks", said)
    assert "MIN and MAX are answered as quantiles a few rows inside the extremes" in said
    assert re.search(r"Keys with clearly fewer than \d+ privacy units are not shown", said)


def test_explain_says_which_way_leading_groups_are_answered_and_why(trips_cli, tmp_path):
    trips_of(tmp_path / "many", riders(9), rows_per_unit=60).close()
    first = words(asked(Clinic(tmp_path / "many"), "explain", LEADING))
    assert "groups 366; one-shot top 3, scale" in first
    assert re.search(r"3 leading of 366 groups are chosen first: on public facts .* as well", first)
    every = words(asked(trips_cli, "explain", NOISED))
    assert "Each of the 4 groups gets noise and the 2 largest are shown: on public" in every


def test_query_prints_picked_values_and_keys_as_text(trips_cli):
    outcome = asked(trips_cli, "query", PICKED, "--delta", "1e-9")
    assert outcome.status == 0
    assert "\x1b" not in outcome.out
    for text in ("Bern", "Ulm", r"\x1b[2J", "south", "2024-"):
        assert text in outcome.out
    assert outcome.out.count("ranks") == 6
    assert "Cost: rho" in outcome.out
    assert ", delta" in outcome.out.split("Cost: ")[1].splitlines()[0]
    assert "for private keys delta" in words(outcome)
    again = asked(trips_cli, "query", PICKED, "--delta", "1e-9")
    assert "Free: these numbers were released before" in again.out
    assert again.out.split("Free")[0] == outcome.out.split("Cost")[0]


def test_json_of_picked_values_says_which_intervals_are_ranks(trips_cli):
    made = asked(trips_cli, "query", PICKED, "--delta", "1e-9", "--json").json
    assert made["in_ranks"] == ["m", "o", "last"]
    assert [row["city"] for row in made["rows"]] == ["\x1b[2J", "Bern", "Ulm"]
    for row, interval in zip(made["rows"], made["intervals"], strict=True):
        assert row["o"] in ("north", "south", "east", "other")
        assert row["last"].startswith("2024-")
        assert 0 <= row["m"] <= 100
        low, high = interval["m"]
        assert low == -high < 0
    assert set(made["receipt"]["cost"]) == {"rho", "delta"}
    told = asked(trips_cli, "explain", PICKED, "--delta", "1e-9", "--json").json
    assert told["groups"] is None
    assert told["selection"].startswith("keys from a noisy number of units of")
    assert len(told["measures"]) == 4


def test_a_chart_takes_the_first_column_that_has_an_interval(trips_cli, tmp_path):
    chart = tmp_path / "chart.svg"
    outcome = asked(trips_cli, "query", PICKED, "--delta", "1e-9", "--plot", chart)
    assert outcome.status == 0
    assert "with 95% intervals" in chart.read_text()
    numbers = "SELECT region, MEDIAN(fare) AS m FROM trips GROUP BY region"
    assert asked(trips_cli, "query", numbers, "--plot", chart).status == 0
    assert "intervals" not in chart.read_text()
    texts = "SELECT MODE(region) AS o FROM trips"
    refused = asked(trips_cli, "query", texts, "--plot", chart)
    assert refused.status == 0
    assert "south" in refused.out  # the answer is there, it was paid for
    assert "o is not a number" in refused.err


def test_a_pure_budget_names_the_remedy_for_private_keys(tmp_path):
    trips_of(tmp_path / "pure", riders(9), budget=PURE).close()
    for command in ("explain", "query"):
        outcome = asked(Clinic(tmp_path / "pure"), command, PICKED)
        assert outcome.status == 1
        assert "Ask the custodian for a grant with delta" in words(outcome)


OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1)"
MANY = """SELECT region, MONTH(day) AS month, age, COUNT(*) AS n FROM visits
GROUP BY region, month, age"""
UNDRAWN = {
    "too many rows": f"{MANY} HAVING n > -1000000",
    "no number": "SELECT MODE(region) AS m FROM visits",
}


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", UNDRAWN)
def test_an_answer_without_a_chart_is_given_and_says_why(clinic, ana, tmp_path, name, as_json):
    """What is paid is printed: the same as without --plot, and free the next time."""
    chart = tmp_path / "chart.svg"
    words = ("query", UNDRAWN[name], "--as", ana, "--epsilon", "0.1", *(["--json"] * as_json))
    drawn = clinic.run(*words, "--plot", chart)
    assert drawn.status == 0
    assert "discreet: no chart was drawn: " in drawn.err
    assert not chart.exists()
    again = clinic.run(*words)
    if as_json:
        assert again.json.pop("free") is True
        assert again.json["rows"] == drawn.json["rows"] != []
    else:
        assert again.out.splitlines()[:4] == drawn.out.splitlines()[:4]
        assert "Free: these numbers were released before" in again.out


@pytest.mark.parametrize(
    "question",
    [MANY, f"{MANY} ORDER BY n LIMIT 1001", MANY.replace("SELECT", OPTIONS)],
)
def test_too_many_rows_for_a_chart_are_refused_before_they_are_paid_for(
    clinic, ana, tmp_path, question
):
    words = ("query", question, "--as", ana, "--plot", tmp_path / "chart.svg")
    words += () if "OPTIONS" in question else ("--epsilon", "0.1")
    refused = clinic.run(*words)
    assert refused.status == 2
    assert "a chart has at most 1,000" in refused.err
    assert "Nothing was run or charged." in refused.err
    assert clinic.run("transcript", "--as", ana, "--json").json["charges"] == []


def test_as_many_rows_as_a_chart_has_are_drawn(clinic, ana, tmp_path):
    chart = tmp_path / "chart.svg"
    drawn = clinic.run("query", f"{MANY} ORDER BY n LIMIT 1000", "--as", ana, "--epsilon", "0.1",
                     "--plot", chart)  # fmt: skip
    assert drawn.status == 0
    assert chart.exists()
