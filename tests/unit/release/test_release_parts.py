"""The parts of a release: declarations that are read or refused, counting queries, composition,
charts and pages, folders that are checked.
"""

import json
from decimal import Decimal
from fractions import Fraction
from html import escape
from itertools import product

import numpy as np
import pytest

from discreet.accounting import explain
from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import InvalidValue
from discreet.loss import ZCDP, BoundedRange, Pure, Relation
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.release.composition import batch_cost, statement
from discreet.release.declared import Release, digest_of
from discreet.release.kinds import KINDS, Declared
from discreet.release.page import page_of
from discreet.release.parts.counting import crossover, direct_error, histogram_error
from discreet.release.parts.regression import aggregates_for, fit_line, nearest_covariance
from discreet.release.published import Published, empty_folder
from discreet.release.sheets import Sheet
from discreet.release.specification import read_release
from discreet.release.verification import check_entries, check_folder, read_manifest

FACTS = {
    "title": "Visits <b>",
    "description": "Words & more",
    "publisher": "Clinic",
    "table": {
        "name": "visits",
        "population": "patients",
        "unit": "patient",
        "rows_per_unit": 2,
        "neighbours": "replace",
        "schema_version": "v",
        "data_version": "1",
        "where": "age < 5",
    },
    "columns": {},
    "guarantee": {
        "charged_epsilon": "1",
        "epsilon": "0.9",
        "delta": "1e-06",
        "composition": "privacy-loss distribution",
    },
    "parts": {},
}
SHEET = Sheet(
    "by_region",
    "Words.",
    {"region": ["north", "<south>"], "count": [3.25, -1.5], "low": [1.0, -4.0], "high": [5.0, 1.0]},
    ("region",),
    "count",
    "low",
    "high",
)


def published(*sheets):
    return Published(FACTS, "abc", "2026-01-02T03:04:05Z", sheets or (SHEET,))


def test_a_folder_is_whole_and_checked(tmp_path):
    folder = published().write(tmp_path / "out")
    assert check_folder(folder) == []
    manifest = read_manifest(folder)
    (table,) = manifest["tables"]
    assert table["columns"] == ["region", "count", "low", "high"]
    assert (folder / "tables/by_region.csv").read_text().splitlines()[1] == "north,3.25,1.0,5.0"
    assert set(table["files"]) == {"tables/by_region.csv", "tables/by_region.parquet"}


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda f: (f / "tables/by_region.csv").write_text("region\n"), "was changed"),
        (lambda f: (f / "tables/by_region.csv").write_text("region\n"), "other columns"),
        (lambda f: (f / "tables/by_region.csv").write_text("region\n"), "has 0 rows"),
        (lambda f: (f / "tables/by_region.csv").unlink(), "is missing"),
        (lambda f: (f / "index.html").write_text("x"), "index.html was changed"),
        (lambda f: (f / "extra.csv").write_text("x"), "extra.csv is not in the manifest"),
    ],
)
def test_damage_is_found(tmp_path, damage, problem):
    folder = published().write(tmp_path / "out")
    damage(folder)
    assert [each for each in check_folder(folder) if problem in each]


def test_a_manifest_with_gaps_or_escapes_is_refused(tmp_path):
    folder = published().write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["guarantee"]["delta"]
    manifest["tables"][0]["files"]["../../outside"] = "0"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    problems = check_folder(folder)
    assert "the guarantee has no delta" in problems
    assert "../../outside is missing" in problems
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InvalidValue, match="not JSON"):
        check_folder(folder)
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(InvalidValue, match="not of the format"):
        check_folder(folder)


def test_a_folder_that_is_not_empty_is_refused_before_anything_is_paid(tmp_path):
    (tmp_path / "a").write_text("x")
    for place in (tmp_path, tmp_path / "a"):
        with pytest.raises(InvalidValue, match="Nothing was charged"):
            empty_folder(place)


def test_a_receipt_that_is_not_there_is_found():
    manifest = published().manifest({})
    assert check_entries(manifest, []) == ["receipt abc is not in the ledger"]


def test_the_page_escapes_names_the_guarantee_and_says_how_to_cite():
    text = page_of(published().manifest({}), (SHEET,))
    assert "Visits &lt;b&gt;" in text
    assert "&lt;south&gt;" in text
    assert "<south>" not in text
    for sentence in explain(epsilon=0.9, delta=1e-6, relation=Relation.REPLACE).sentences():
        assert f"<li>{escape(sentence.strip())}</li>" in text
    assert "for replacing one person" in text
    assert "one patient contributed (at most 2 of its rows are used)" in text
    assert "Clinic: Visits &lt;b&gt;. Released 2026-01-02" in text
    assert "<svg" in text
    assert "<script" not in text


def test_charts_show_the_interval_and_say_what_they_leave_out():
    chart = SHEET.chart()
    assert [row["low"] for row in chart["data"]["values"]] == [1.0, -4.0]
    many = Sheet("t", "", {"k": list(range(70)), "n": [1.0] * 70}, ("k",), "n")
    assert "the first 60 of 70 rows" in many.chart()["title"]["text"]
    line = Sheet("t", "", {"k": [5, 9], "n": [1.0, 2.0]}, ("k",), "n", drawing="line").chart()
    assert [point["place"] for point in line["data"]["values"]] == [5.0, 9.0]
    named = Sheet("t", "", {"k": ["a", "b"], "n": [1.0, 2.0]}, ("k",), "n", drawing="line").chart()
    assert [point["place"] for point in named["data"]["values"]] == [0, 1]
    keys = {"k": ["a", "b"], "l": [1, 2], "n": [1.0, 2.0]}
    grid = Sheet("t", "", keys, ("k", "l"), "n", drawing="grid").chart()
    assert grid["mark"] == "rect"


def test_sheets_are_checked():
    with pytest.raises(InvalidValue, match="different lengths"):
        Sheet("t", "", {"a": [1], "b": [1, 2]}, (), "a")
    with pytest.raises(InvalidValue, match="a table's name"):
        Sheet("../t", "", {"a": [1]}, (), "a")


def test_mixed_labels_become_texts_in_parquet(tmp_path):
    import pyarrow.parquet as pq

    sheet = Sheet("t", "", {"age": ["missing", 3], "n": [1.0, 2.0]}, ("age",), "n")
    sheet.write_parquet(tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pydict()["age"] == ["missing", "3"]


def test_specifications_are_read():
    found = read_release(
        {
            "release": {"table": "visits", "epsilon": Decimal("0.5"), "where": "age > 3"},
            "columns": {"decade": "FLOOR(age/10)"},
            "tables": [
                {
                    "kind": "marginals",
                    "name": "n",
                    "columns": ["a", "b"],
                    "orders": [1],
                    "weight": 2,
                }
            ],
        }
    )
    assert found.epsilon == Fraction(1, 2)
    assert found.tables[0].weight == 2
    assert found.tables[0].needs() == (["a", "b"], [])


GOOD = {"kind": "marginals", "name": "n", "columns": ["a"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no \\[release\\]"),
        ({"release": {"table": "t", "epsilon": 1}}, "no \\[\\[tables\\]\\]"),
        ({"release": {"table": "t"}, "tables": [GOOD]}, "one price"),
        ({"release": {"table": "t", "epsilon": 1, "rho": 1}, "tables": [GOOD]}, "one price"),
        ({"release": {"table": "t", "epsilon": -1}, "tables": [GOOD]}, "above 0"),
        ({"release": {"table": "t`t", "epsilon": 1}, "tables": [GOOD]}, "a release's table"),
        ({"release": {"table": "t", "epsilon": 1, "titel": 1}, "tables": [GOOD]}, "'title'"),
        ({"relese": {}, "tables": []}, "Did you mean 'release'"),
        ({"release": {"table": "t", "epsilon": 1}, "tables": [{}]}, "no kind and name"),
        ({"release": {"table": "t", "epsilon": 1}, "tables": [GOOD, GOOD]}, "same name"),
        (
            {"release": {"table": "t", "epsilon": 1}, "tables": [{**GOOD, "kind": "marginal"}]},
            "Did you mean 'marginals'",
        ),
        (
            {"release": {"table": "t", "epsilon": 1}, "tables": [{**GOOD, "colums": []}]},
            "Did you mean 'columns'",
        ),
        (
            {"release": {"table": "t", "epsilon": 1}, "tables": [{**GOOD, "weight": 0}]},
            "weight",
        ),
        ({"release": {"table": "t", "epsilon": 1}, "columns": {"a": 1}, "tables": [GOOD]}, "texts"),
    ],
)
def test_bad_specifications_are_refused_with_the_remedy(given, message):
    with pytest.raises(InvalidValue, match=message):
        read_release(given)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("marginals", {}, "columns"),
        ("marginals", {"columns": ["a"], "orders": [2]}, "orders"),
        ("marginals", {"sets": []}, "0 sets"),
        ("statistics", {}, "select"),
        ("counting", {}, "queries"),
        ("quantiles", {"column": 3}, "column"),
    ],
)
def test_bad_options_are_refused(kind, options, message):
    with pytest.raises(InvalidValue, match=message):
        Declared(kind, "n", options).needs()


def test_files_that_are_no_specification_are_refused(tmp_path):
    (tmp_path / "a.toml").write_text("x = [")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    for name, message in (("a.toml", "not TOML"), ("b.toml", "not UTF-8"), ("c.toml", "cannot")):
        with pytest.raises(InvalidValue, match=message):
            read_release(tmp_path / name)


def test_every_kind_is_named():
    assert sorted(KINDS) == list(KINDS)
    assert len(KINDS) == 7


def test_composition_is_never_above_the_sum_and_often_below():
    losses = [Pure(epsilon=Fraction(1, 20))] * 40
    said, how = statement(losses, delta=1e-6)
    assert how == "privacy-loss distribution"
    assert said.epsilon < Pure.total(losses).epsilon == 2
    few, how = statement([Pure(epsilon=1)], delta=1e-9)
    assert few.epsilon <= 1


def test_mixed_losses_take_the_better_of_two_ways():
    losses = [ZCDP(rho=0.01)] * 3 + [BoundedRange(epsilon=0.1)]
    said, how = statement(losses, delta=1e-6)
    rho = ZCDP.total(losses).rho
    assert rho == Fraction(3, 100) + Fraction(1, 800)
    assert said.epsilon == zcdp_epsilon(rho=rho, delta=Fraction(1, 10**6))
    assert how == "zCDP, converted"


def test_a_batch_enters_an_account_at_the_cheaper_price():
    losses = [Pure(epsilon=Fraction(1, 2))] * 2
    assert batch_cost(losses, Pure).epsilon == 1
    assert batch_cost(losses, ZCDP).rho == Fraction(1, 4)
    one = [Pure(epsilon=3)]
    cheaper = batch_cost(one, ZCDP, delta=0.1)
    assert cheaper.zcdp().rho < batch_cost(one, ZCDP).rho
    assert cheaper.delta == Fraction(1, 10)


PRICES = [Pure(epsilon=1), Pure(epsilon=Fraction(1, 7)), ZCDP(rho=1), ZCDP(rho=Fraction(1, 300))]


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("universe", [1, 2, 16, 4096, 10**6])
def test_the_crossover_is_where_the_bounds_cross(universe, relation, price):
    queries = crossover(universe=universe, price=price, relation=relation)
    for count, better in ((queries, True), (queries - 1, False)):
        if count:
            bound = histogram_error(
                universe=universe, queries=count, price=price, relation=relation
            )
            assert (bound <= direct_error(queries=count, price=price)) == better


@pytest.mark.parametrize("relation", list(Relation))
def test_gaussian_noise_crosses_at_the_universe_and_laplace_at_its_root(relation):
    for universe in (16, 4096, 10**6):
        rho = crossover(universe=universe, price=ZCDP(rho=Fraction(1, 9)), relation=relation)
        assert rho == relation.steps * universe
        pure = crossover(universe=universe, price=Pure(epsilon=3), relation=relation)
        assert 0.5 <= pure / (relation.steps * universe**0.5) < 5


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("cells", [2, 3])
def test_the_relation_of_both_ways_is_what_brute_force_over_rows_finds(cells, relation):
    """All families of up to three predicates on a small universe, all moves of one row."""
    places = range(cells)
    moves = [(None, place) for place in places]
    if relation is Relation.REPLACE:
        moves = [(one, two) for one in places for two in places]
    predicates = list(product((0, 1), repeat=cells))
    whole = max(sum(abs((place == one) - (place == two)) for place in places) for one, two in moves)
    assert whole == relation.steps
    for count in (1, 2, 3):
        moved = max(
            sum(
                abs((0 if one is None else query[one]) - (0 if two is None else query[two]))
                for query in family
            )
            for family in product(predicates, repeat=count)
            for one, two in moves
        )
        assert moved == count
    # What is promised is what noise of these scales keeps, exactly.
    for price, queries in product(PRICES, (1, 40)):
        if isinstance(price, Pure):
            noise = DiscreteLaplace(scale=queries / price.epsilon)
        else:
            noise = DiscreteGaussian.of_variance(queries / (2 * price.rho))
        needed = noise.error(1 - Fraction(1, 20 * queries))
        assert needed <= direct_error(queries=queries, price=price) + 1


def test_the_bound_of_the_histogram_holds():
    """Noise of 200 boxes of a universe of 256: the worst stays within the bound of all of them."""
    generator = np.random.default_rng(19)
    masks = generator.integers(0, 2, size=(200, 256))
    bound = histogram_error(universe=256, queries=200, price=Pure(epsilon=1), missed=1e-9)
    noise = DiscreteLaplace(scale=1).release(np.zeros(256, dtype=np.int64))
    assert np.abs(masks @ noise).max() < bound


def test_the_line_of_exact_moments_is_the_line():
    x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 3.0]])
    y = 2 + 3 * x[:, 0] - x[:, 1]
    rows = np.column_stack([x, y])
    found = fit_line(rows.mean(axis=0), np.cov(rows.T, bias=True))
    assert np.allclose(found, [2, 3, -1])
    assert (np.linalg.eigvalsh(nearest_covariance(np.array([[1.0, 5], [5, 1]]))) > -1e-9).all()
    assert len(aggregates_for(["a", "b", "c"])) == 9


def test_a_release_without_tables_is_refused_and_digests_differ():
    with pytest.raises(InvalidValue, match="0 tables"):
        Release(title="t", table="t", tables=(), epsilon=1)
    assert digest_of({"a": 1}) != digest_of({"a": 2})
