"""Releases through a real curator: every kind of table against the truth, charges, refusals,
missing values, twins, and the command line.
"""

import csv
import json
import re
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.ledger.account import Holder
from discreet.ledger.entry import Act
from discreet.loss import Pure
from discreet.mechanisms import DiscreteLaplace
from discreet.release.declared import digest_of
from discreet.release.parts.counting import crossover
from discreet.release.published import Published
from discreet.release.specification import read_release
from discreet.release.verification import check_entries, check_folder, read_manifest
from support.command_line import run
from support.vaults import copied_curator, people

SPECIFICATION = """
[release]
title = "Visits"
table = "visits"
epsilon = {epsilon}
[columns]
decade = "FLOOR(age/10)"
[[tables]]
kind = "marginals"
name = "by"
columns = ["region", "decade"]
orders = [1, 2]
[[tables]]
kind = "marginals"
name = "plain"
columns = ["region"]
finish = "non-negative"
[[tables]]
kind = "ranges"
name = "ages"
columns = ["age"]
workload = "prefixes"
[[tables]]
kind = "ranges"
name = "blocks"
columns = ["age"]
method = "adaptive"
[[tables]]
kind = "ranges"
name = "plane"
columns = ["decade", "age"]
[[tables]]
kind = "quantiles"
name = "middle"
column = "age"
fractions = [0.5]
by = ["region"]
[[tables]]
kind = "statistics"
name = "incomes"
by = ["region"]
select = {{ mean_income = "AVG(income)", n = "COUNT(*)" }}
[[tables]]
kind = "regression"
name = "line"
columns = ["age"]
target = "income"
[[tables]]
kind = "covariance"
name = "spread"
columns = ["age"]
[[tables]]
kind = "counting"
name = "asked"
[tables.queries]
young_north = {{ region = ["north"], decade = {{ from = 0, to = 2 }} }}
old = {{ decade = {{ from = 6 }} }}
"""
ROWS = people(240)
HUGE = {"budget": "epsilon = 1000000"}
CONCENTRATED = {"budget": "epsilon = 1000000\ndelta = 1e-6"}


def specification(folder, epsilon):
    path = folder / "spec.toml"
    path.write_text(SPECIFICATION.format(epsilon=epsilon))
    return path


def counted(rows, *, key):
    return Counter(key(row) for row in rows)


def decade(row):
    return "missing" if row[1] is None else row[1] // 10


@pytest.fixture(scope="module", params=["pure", "concentrated"])
def released(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    schema = HUGE if request.param == "pure" else CONCENTRATED
    with copied_curator(folder, ROWS, **schema) as curator:
        delta = {} if request.param == "pure" else {"delta": 1e-6}
        curator.grant("ana", epsilon=10**6, **delta)
        plan = read_release(specification(folder, 900_000)).plan(curator.session("ana"))
        found = plan.run()
        entries = list(curator.ledger.entries())
        spent = curator.ledger.account(Holder.ANALYST, "ana").spent
    return plan, found, found.write(folder / "out"), entries, spent


def column(released, table, name):
    found = released[1].tables[table]
    return dict(
        zip(
            zip(*(found.columns[key] for key in found.keys), strict=True),
            found.columns[name],
            strict=True,
        )
    )


def test_marginals_are_the_counts(released):
    truth = counted(ROWS, key=lambda row: (row[3], decade(row)))
    for key, value in column(released, "by_region_decade", "count").items():
        assert value == pytest.approx(truth.get(key, 0), abs=0.5)
    single = counted(ROWS, key=lambda row: (row[3],))
    for table in ("by_region", "plain"):
        for key, value in column(released, table, "count").items():
            assert value == pytest.approx(single.get(key, 0), abs=0.5)


def test_ranges_are_the_counts(released):
    truth = counted(ROWS, key=lambda row: (row[1],))
    for table in ("ages", "blocks"):
        running = 0
        for key, value in column(released, table, "cumulative").items():
            running += truth.get(key, 0)
            assert value == pytest.approx(running, abs=0.6)
    plane = counted(ROWS, key=lambda row: (decade(row), row[1]))
    for key, value in column(released, "plane", "count").items():
        assert value == pytest.approx(plane.get(key, 0), abs=0.5)


def test_statistics_are_those_of_the_rows(released):
    for (region,), value in column(released, "incomes", "mean_income").items():
        known = [row[2] for row in ROWS if row[3] == region and row[2] is not None]
        if known:
            assert value == pytest.approx(sum(known) / len(known), rel=0.01)
    for (region,), value in column(released, "middle", "q1").items():
        ages = sorted(row[1] for row in ROWS if row[3] == region)
        if ages:
            assert ages[len(ages) // 2 - 3] <= value <= ages[len(ages) // 2 + 3]


def test_the_line_is_that_of_the_rows(released):
    pairs = [(row[1], row[2]) for row in ROWS if row[2] is not None]
    mean_x, mean_y = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    slope = above / sum((x - mean_x) ** 2 for x, _ in pairs)
    found = column(released, "line", "coefficient")
    assert found[("age",)] == pytest.approx(slope, abs=abs(slope) * 0.2 + 1)
    spread = column(released, "spread_covariance", "covariance")
    ages = [row[1] for row in ROWS]
    variance = sum((x - sum(ages) / len(ages)) ** 2 for x in ages) / len(ages)
    assert spread[("age", "age")] == pytest.approx(variance, rel=0.02)


def test_counting_queries_are_counted(released):
    found = column(released, "asked", "count")
    young = sum(row[3] == "north" and row[1] < 30 for row in ROWS)
    assert found[("young_north",)] == pytest.approx(young, abs=0.5)
    assert found[("old",)] == pytest.approx(sum(row[1] >= 60 for row in ROWS), abs=0.5)


def test_the_manifest_names_the_crossover_of_its_own_noise(released):
    """With a delta the noise is Gaussian, and crosses at |X| instead of its root."""
    plan, _, folder, _, _ = released
    said = read_manifest(folder)["parts"]["asked"]
    told, universe = said["crossover_of_worst_case_bounds"], said["universe"]
    pure = isinstance(plan.price, Pure)
    assert told == crossover(universe=universe, price=plan.price)
    assert (told == universe) == (not pure)
    assert ("[DMNS06, Prop. 3.3]" in said["reference"]) == pure
    assert ("[CKS20, Thm. 4]" in said["reference"]) == (not pure)


def test_one_charge_of_at_most_the_price_is_in_the_ledger(released):
    plan, found, folder, entries, spent = released
    charges = [entry for entry in entries if entry.act.value == "charge"]
    assert len(charges) == 1
    assert spent > 0
    price, cost = plan.price, plan.cost
    assert type(price) is type(cost)
    assert (cost.epsilon if hasattr(cost, "epsilon") else cost.rho) <= (
        price.epsilon if hasattr(price, "epsilon") else price.rho
    )
    assert check_folder(folder) == []
    manifest = read_manifest(folder)
    assert check_entries(manifest, entries) == []
    manifest["guarantee"]["epsilon"] = "0.001"
    assert "another release" in check_entries(manifest, entries)[0]
    assert found.receipt == manifest["receipt"]["id"]


def test_a_release_of_an_earlier_version_has_no_notes_and_still_agrees_with_the_ledger(released):
    manifest = read_manifest(released[2])
    assert manifest.pop("notes")
    names = ("title", "description", "publisher", "table", "columns", "guarantee", "parts")
    digest = digest_of({name: manifest[name] for name in names})
    charge = SimpleNamespace(
        act=Act.CHARGE, hash=manifest["receipt"]["id"] + "0" * 44, said={"release": digest}
    )
    assert check_entries(manifest, [charge]) == []
    manifest["notes"] = ["another"]
    assert "another release" in check_entries(manifest, [charge])[0]


def test_the_manifest_says_what_a_reader_needs(released):
    manifest = read_manifest(released[2])
    assert manifest["table"]["unit"] == "patient"
    assert manifest["table"]["rows_per_unit"] == 2
    assert manifest["table"]["neighbours"] == "add-remove"
    assert set(manifest["parts"]) == {each.name for each in released[0].parts}
    for part in manifest["parts"].values():
        assert {"kind", "lattice", "reference"} <= set(part)
        assert "measurements" in part or "choice" in part
        for each in part.get("measurements", []):
            assert (
                "discrete" in each["noise"]
                or "mechanism" in each["noise"]
                or "choice" in each["noise"]
                or "nested" in each["noise"]
            )
    for table in manifest["tables"]:
        with (released[2] / f"tables/{table['name']}.csv").open() as file:
            assert next(csv.reader(file)) == table["columns"]


def test_previews_are_made_before_anything_is_paid(tmp_path):
    with copied_curator(tmp_path, ROWS) as curator:
        curator.grant("ana", epsilon=5)
        plan = read_release(specification(tmp_path, 2)).plan(curator.session("ana"))
        errors = {each.table: each.error for each in plan.preview()}
        assert errors["by_region"] > 0
        assert errors["blocks"] is None
        said = plan.guarantee()
        assert Fraction(said["epsilon"]) <= 2 == Fraction(said["charged_epsilon"])
        assert curator.ledger.account(Holder.ANALYST, "ana").spent == 0


def test_what_the_budget_does_not_admit_is_refused_and_nothing_is_charged(tmp_path):
    with copied_curator(tmp_path, ROWS, budget="epsilon = 1") as curator:
        curator.grant("ana", epsilon=1)
        plan = read_release(specification(tmp_path, 2)).plan(curator.session("ana"))
        with pytest.raises(BudgetExceeded, match="release 'Visits'"):
            plan.run()
        assert curator.ledger.account(Holder.ANALYST, "ana").spent == 0
        with pytest.raises(UnprovableRequest):
            read_release(
                {
                    "release": {"table": "visits", "rho": 1},
                    "tables": [{"kind": "marginals", "name": "n", "columns": ["region"]}],
                }
            ).plan(curator.session("ana"))


def one(kind, *, epsilon=1, **options):
    return read_release(
        {
            "release": {"table": "visits", "epsilon": epsilon},
            "tables": [{"kind": kind, "name": "n", **options}],
        }
    )


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (one("ranges", columns=["age"], workload="all"), "workload"),
        (one("ranges", columns=["age"], method="fast"), "method"),
        (one("marginals", columns=["region"], finish="rounded"), "finish"),
        (one("counting", queries={"q": {"region": ["west"]}}), "no value 'west'"),
        (one("counting", queries={"q": {"age": {"least": 3}}}), "from and to"),
        (one("regression", columns=["age"], target="age"), "beside a target"),
        (one("marginals", columns=["big"]), "keys|values"),
        (one("quantiles", column="nothing"), "nothing"),
    ],
)
def test_bad_declarations_are_refused_before_anything_is_paid(tmp_path, declared, message):
    with copied_curator(tmp_path, ROWS[:10]) as curator:
        curator.grant("ana", epsilon=5)
        with pytest.raises(DiscreetError, match=message) as refusal:
            declared.plan(curator.session("ana")).run()
        assert isinstance(refusal.value, InvalidValue | UnsafeQuery)
        assert curator.ledger.account(Holder.ANALYST, "ana").spent == 0


def test_two_tables_of_one_name_are_refused(tmp_path):
    declared = read_release(
        {
            "release": {"table": "visits", "epsilon": 1},
            "columns": {"decade": "FLOOR(age/10)"},
            "tables": [
                {"kind": "marginals", "name": "by", "columns": ["region", "decade"], "orders": [1]},
                {"kind": "ranges", "name": "By_decade", "columns": ["decade"]},
            ],
        }
    )
    with copied_curator(tmp_path, ROWS[:10]) as curator:
        curator.grant("ana", epsilon=5)
        with pytest.raises(InvalidValue, match="'by_decade'"):
            declared.plan(curator.session("ana"))


def test_replacing_a_person_costs_more_noise(tmp_path):
    errors = {}
    for neighbours in ("add-remove", "replace"):
        with copied_curator(tmp_path / neighbours, ROWS[:10], neighbours=neighbours) as curator:
            curator.grant("ana", epsilon=5)
            plan = read_release(specification(tmp_path, 2)).plan(curator.session("ana"))
            errors[neighbours] = {each.table: each.error for each in plan.preview()}
            assert plan.facts()["table"]["neighbours"] == neighbours
            plan.run()
    for table in ("by_region", "by_region_decade", "ages", "asked"):
        assert errors["replace"][table] > 1.5 * errors["add-remove"][table]


@pytest.mark.soak
def test_a_release_on_neighbouring_tables_keeps_its_price(tmp_path):
    """From the source file to the sheet, with one person more or less; at 20 times the price the
    same audit contradicts the claim.
    """
    from discreet.audit.blackbox import audit
    from discreet.loss import Pure

    curators, sessions = [], []
    for name, rows in (("one", ROWS[:40]), ("other", ROWS[:38])):
        curator = copied_curator(tmp_path / name, rows, budget="epsilon = 100000")
        curator.grant("ana", epsilon=100_000)
        curators.append(curator)
        sessions.append(curator.session("ana"))
    for epsilon, wrong in ((1, False), (20, True)):
        declared = one("marginals", columns=["region"], epsilon=epsilon)

        def draw(which, declared=declared):
            sheet = declared.plan(sessions[which]).run().tables["n"]
            return round(sheet.columns["count"][0], 6)

        verdict = audit(draw, Pure(epsilon=1), pairs=[(0, 1)], samples=300, false_alarm=1e-9)
        assert verdict.violated == wrong
    for curator in curators:
        curator.close()


def test_rows_without_a_number_have_a_place_of_their_own(tmp_path):
    declared = read_release(
        {
            "release": {"table": "visits", "epsilon": 10**5, "where": "region = 'north'"},
            "columns": {"thousands": "FLOOR(income/1000)"},
            "tables": [{"kind": "marginals", "name": "n", "columns": ["thousands"]}],
        }
    )
    with copied_curator(tmp_path, ROWS, **HUGE) as curator:
        curator.grant("ana", epsilon=10**6)
        sheet = declared.plan(curator.session("ana")).run().tables["n"]
    north = [row for row in ROWS if row[3] == "north"]
    found = dict(zip(sheet.columns["thousands"], sheet.columns["count"], strict=True))
    assert found["missing"] == pytest.approx(sum(row[2] is None for row in north), abs=0.5)
    assert sum(found.values()) == pytest.approx(len(north), abs=0.5)


def shape(published: Published) -> dict:
    manifest = published.manifest({})
    del manifest["receipt"]
    return {
        **manifest,
        "keys": {n: [list(s.columns[k]) for k in s.keys] for n, s in published.tables.items()},
    }


def test_twins_differ_in_nothing_but_noise(tmp_path):
    """One person more changes no key, row, column or fact of a release."""
    found = []
    for name, rows in (("one", ROWS[:40]), ("other", ROWS[:38])):
        with copied_curator(tmp_path / name, rows) as curator:
            curator.grant("ana", epsilon=5)
            made = read_release(specification(tmp_path, 2)).plan(curator.session("ana")).run()
        text = json.dumps(shape(made), sort_keys=True, default=str)
        # How far the finished tables are apart, and the bound that follows, come of the noise.
        found.append(re.sub(r"(within|is at most) [0-9.e+-]+", r"\1", text))
    assert found[0] == found[1]


def test_the_command_line_previews_releases_and_verifies(tmp_path):
    copied_curator(tmp_path, ROWS).close()
    vault, spec = str(tmp_path / "vault"), str(specification(tmp_path, 1))
    preview = run("release", spec, "--vault", vault)
    assert preview.status == 0
    assert "nothing was run or charged" in preview.out
    out = tmp_path / "out"
    done = run("release", spec, "--vault", vault, "--output", str(out))
    assert done.status == 0, done.err
    assert (out / "index.html").is_file()
    checked = run("verify-release", str(out), "--vault", vault)
    assert checked.status == 0
    assert "every file is as the manifest says" in checked.out
    again = run("release", spec, "--vault", vault, "--output", str(out))
    assert again.status == 2
    assert "not empty" in again.err
    (out / "tables/by_region.csv").write_text("x\n")
    broken = run("verify-release", str(out), "--json")
    assert broken.status == 2
    assert "was changed" in broken.out


def test_the_command_line_prints_json(tmp_path):
    copied_curator(tmp_path, ROWS).close()
    vault, spec = str(tmp_path / "vault"), str(specification(tmp_path, 1))
    found = json.loads(run("release", spec, "--vault", vault, "--json").out)
    assert found["charged_epsilon"] == "1"
    assert {each["table"] for each in found["tables"]} >= {"by_region", "ages", "line"}
    written = run("release", spec, "--vault", vault, "--json", "--output", str(tmp_path / "o"))
    assert "by_region" in json.loads(written.out)["tables"]
    missing = run("release", spec, "--vault", vault, "--as", "nobody")
    assert missing.status != 0


def test_intervals_of_single_counts_are_exact_and_quantiles_name_their_buckets(tmp_path):
    """Under a pure budget noise is Laplace's: 1.96 deviations would be called 95% and hold 93%."""
    tables = [
        {"kind": "marginals", "name": "by", "columns": ["region"], "orders": [1]},
        {"kind": "counting", "name": "asked", "queries": {"all": {}, "n": {"region": ["north"]}}},
        {"kind": "quantiles", "name": "middle", "column": "income", "fractions": [0.5]},
    ]
    given = {"release": {"title": "T", "table": "visits", "epsilon": 3}, "tables": tables}
    with copied_curator(tmp_path, ROWS, budget="epsilon = 9") as curator:
        curator.grant("ana", epsilon=9)
        found = read_release(given).plan(curator.session("ana")).run()
    noise = DiscreteLaplace(scale=2)  # two rows of a person, epsilon 1 for each table
    for name in ("by", "asked"):
        columns = found.tables[name].columns
        for row, error in enumerate(columns["standard_error"]):
            half = (columns["high"][row] - columns["low"][row]) / 2
            if error == pytest.approx(noise.standard_deviation):
                assert half == pytest.approx(noise.error(0.95))
            else:  # the sum of several cells
                assert half > 2.16 * error
    middle = found.tables["middle"].columns
    [name] = [name for name in middle if name.endswith("_bucket_low")]
    value = name.removesuffix("_bucket_low")
    [low], [high], [told] = middle[name], middle[f"{value}_bucket_high"], middle[value]
    assert low < told < high
    assert f"{value}_ranks_off_95" not in middle
