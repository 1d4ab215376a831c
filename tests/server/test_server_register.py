"""Guided registration without a browser: tables of a configured database, refusals that keep what
was typed."""

import re
from dataclasses import fields
from html import unescape

import psycopg
import pytest

from discreet.schema.column import KINDS
from discreet.schema.format import Format
from discreet.server.pages.format_forms import fields_of, read_declared
from discreet.server.pages.shared import Form
from support.served_vault import serve_vault

TYPED = {
    "name": "stays", "population": "guests", "unit": "guest", "rows_per_unit": "2", "epsilon": "3",
    "delta": "0", "column-0": "guest", "type-0": "leave out", "column-1": "nights",
    "type-1": "integer", "lower-1": "0", "upper-1": "30", "column-2": "city", "type-2": "category",
    "keys-2": "Graz, Linz",
}  # fmt: skip


@pytest.fixture
def server(ledger_url):
    """A table in a database of its own, by the address of a role that can only read."""
    with psycopg.connect(ledger_url, autocommit=True) as admin:
        admin.execute("CREATE TABLE stays (guest BIGINT, nights INTEGER, city TEXT)")
        admin.execute("INSERT INTO stays SELECT n / 2, n % 9, 'Graz' FROM generate_series(1, 40) n")
        admin.execute("GRANT SELECT ON stays TO reader")
    return ledger_url.replace("postgres@", "reader@")


class Custodian:
    """Somebody who fills in the forms."""

    def __init__(self, served):
        self.served = served
        answer = served.client.post("/login", data={"token": served.tokens["cora"]})
        assert answer.status_code == 200
        self.csrf = re.search(r'name="csrf" value="(\w+)"', answer.text).group(1)

    def send(self, **fields):
        body = {"csrf": self.csrf, **fields}
        return self.served.client.post("/custodian/register", data=body, follow_redirects=False)


def test_a_table_of_a_database_is_registered_step_by_step(tmp_path, server):
    for served in serve_vault(tmp_path / "h", databases={"hotel": server}):
        custodian = Custodian(served)
        assert "hotel" in served.client.get("/custodian/register").text
        second = custodian.send(step="2", other="hotel#stays")
        assert second.status_code == 200
        assert "nights" in second.text
        third = custodian.send(step="3", source="hotel#stays", **TYPED)
        assert "your data was not read" in third.text, third.text
        assert "stays" not in served.curator.tables
        assert custodian.send(step="4", source="hotel#stays", **TYPED).status_code == 303
        served.curator.grant("bob", epsilon=1)
        sql = "SELECT city, COUNT(*) AS n FROM stays GROUP BY city"
        assert len(served.curator.session("bob").sql(sql, epsilon=1)) == 2


def test_a_refusal_keeps_what_was_typed(served):
    custodian = Custodian(served)
    wrong = {**TYPED, "unit": "patient", "column-1": "age", "upper-1": "-5"}
    refused = custodian.send(step="3", source="visits.parquet", **wrong)
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert 'value="-5"' in refused.text
    assert custodian.send(step="2", source="/etc/passwd").status_code == 400
    assert custodian.send(step="4", source="visits.parquet", **wrong).status_code == 400
    assert list(served.curator.tables) == ["visits"]


def test_the_custodian_sees_what_could_not_be_read(tmp_path):
    for served in serve_vault(tmp_path / "h"):
        file = served.folder / "stays.csv"
        file.write_text("guest,nights,city\n" + "1,4,Graz\n2,5,Linz\n" * 100 + "3,many,Linz\n")
        custodian = Custodian(served)
        sent = custodian.send(step="4", source="stays.csv", **TYPED)
        assert sent.status_code == 303, sent.text
        place = sent.headers["location"]
        assert place == "/custodian/tables/stays"
        said = served.curator.report("stays").sentences()
        assert said
        shown = unescape(served.client.get(place).text)
        assert "What could not be read: NOT FOR RELEASE" in shown
        assert all(sentence in shown for sentence in said)
        assert said[0] not in unescape(served.client.get("/custodian").text)
        file.write_text("guest,nights,city\n1,4,Graz\n2,4,Linz\n")
        body = {"csrf": custodian.csrf}
        again = served.client.post(f"{place}/refresh", data=body, follow_redirects=False)
        assert (again.status_code, again.headers["location"]) == (303, place)
        assert "all of it could be read" in served.client.get(place).text


def test_of_a_table_that_this_server_did_not_read_nothing_is_said(served):
    Custodian(served)
    served.curator._warehouse._reports.clear()  # as after a start
    assert "What could not be read" not in served.client.get("/custodian/tables/visits").text


GERMAN = (
    "Gäste 2024\n\nguest;nights;paid;came;vip\n"
    + "".join(f"{n};{n % 9};1.{n % 10}50,25;{n + 1:02}.02.2024 14:30;nein\n" for n in range(10, 25))
)  # fmt: skip
FORMAT = {"format-given": "1", "format-quote": "double", "format-encoding": "utf-8",
          "format-decimal": "comma", "format-thousands": "point", "format-first_line": "3",
          "format-header": "1", "format-datetime": "%d.%m.%Y %H:%M", "format-delimiter": ";",
          "format-date": "", "format-missing": "n/a\n-"}  # fmt: skip
COLUMNS = {
    "name": "stays", "population": "guests", "unit": "guest", "rows_per_unit": "1", "epsilon": "3",
    "delta": "0", "column-0": "guest", "type-0": "leave out", "column-1": "nights",
    "type-1": "integer", "lower-1": "0", "upper-1": "30", "column-2": "paid", "type-2": "number",
    "lower-2": "0", "upper-2": "9999", "step-2": "0.01", "column-3": "came", "type-3": "datetime",
    "lower-3": "2024-01-01 00:00", "upper-3": "2024-12-31T00:00:00", "step-3": "60",
    "column-4": "vip", "type-4": "category", "keys-4": "ja, nein",
}  # fmt: skip


def field(page: str, name: str) -> str:
    """What a field of a page holds: of a select the chosen option, else its value."""
    choice = re.search(rf'<select[^>]* name="{name}"[^>]*>(.*?)</select>', page, re.DOTALL)
    if choice:
        chosen = re.search(r"<option selected>(.*?)</option>", choice[1])
        return unescape(chosen[1]) if chosen else ""
    area = re.search(rf'<textarea[^>]* name="{name}"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    if area:
        return unescape(area[1])
    found = re.search(rf'<input[^>]* name="{name}"[^>]*>', page)[0]
    if 'type="checkbox"' in found:
        return "1" if " checked" in found else ""
    return unescape(re.search(r'value="(.*?)"', found, re.DOTALL)[1])


def filled_in(page: str) -> dict[str, str]:
    """Every field of the page's form, as a browser would send it unchanged."""
    names = re.findall(r'<(?:input|select|textarea)[^>]* name="([^"]+)"', page)
    held = {name: field(page, name) for name in names if name not in ("csrf", "again")}
    boxes = ("format-header", "format-multiline")
    return {name: value for name, value in held.items() if value or name not in boxes}


def test_the_guessed_format_is_shown_and_can_be_changed(tmp_path):
    for served in serve_vault(tmp_path / "h"):
        (served.folder / "stays.csv").write_text(GERMAN, encoding="utf-8")
        custodian = Custodian(served)
        second = custodian.send(step="2", source="stays.csv")
        assert second.status_code == 200
        for name in ("delimiter", "decimal", "thousands", "first_line", "datetime", "header"):
            assert field(second.text, f"format-{name}") == FORMAT[f"format-{name}"], name
        assert "first_line = 3" in second.text
        assert "&#39;9.999,99&#39; -&gt; 9999.99" in second.text
        assert field(second.text, "type-3") == "datetime"
        assert "Check the guess" in second.text
        assert "ja, nein" not in second.text
        # What the page holds is sent again, with one change: it is read anew that way.
        sent = filled_in(second.text) | {"again": "1", "format-decimal": "point",
                                         "format-thousands": "none", "upper-1": "31"}  # fmt: skip
        changed = custodian.send(**sent)
        assert changed.status_code == 200
        assert field(changed.text, "type-2") == "category"
        assert field(changed.text, "upper-1") == "31"
        assert custodian.send(step="4", source="stays.csv", **COLUMNS, **FORMAT).status_code == 303
        table = served.curator.tables["stays"]
        assert table.format.facts() == {
            "delimiter": ";", "decimal": ",", "thousands": ".", "datetime": ["%d.%m.%Y %H:%M"],
            "missing": ["n/a", "-"], "first_line": 3,
        }  # fmt: skip
        assert served.curator.report("stays").sentences() == []


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("first_line", "three", "first_line is"),
        ("first_line", "99", "the file ends above it"),
        ("delimiter", ";;", "delimiter is"),
        ("date", "%d.%m", "a pattern without a year"),
        ("thousands", "comma", "decimal and thousands are both"),
        ("missing", "x" * 101, "missing has at most"),
        ("encoding", "utf-16", "the first line must hold|line 3 must hold"),
    ],
)
def test_a_wrong_format_is_refused_and_what_was_typed_survives(served, name, typed, said):
    (served.folder / "stays.csv").write_text(GERMAN, encoding="utf-8")
    custodian = Custodian(served)
    body = {**COLUMNS, **FORMAT, f"format-{name}": typed}
    for how in ({"again": "1"}, {}):
        refused = custodian.send(step="3", source="stays.csv", **body, **how)
        assert refused.status_code == 400
        assert re.search(said, unescape(refused.text))
        shown = filled_in(refused.text)
        for key, value in body.items():
            assert shown.get(key, "") == value, key
    (served.folder / "stays.csv").unlink()


def test_a_sheet_is_chosen(tmp_path):
    import openpyxl

    for served in serve_vault(tmp_path / "h"):
        book = openpyxl.Workbook()
        book.active.title = "About"
        book.active.append(["what", "when"])
        book.active.append(["guests", "in May"])
        sheet = book.create_sheet("Stays & more")
        sheet.append(["All stays"])
        sheet.append(["guest", "nights", "city"])
        for row in range(20):
            sheet.append([row, row % 9, "Graz"])
        book.save(served.folder / "stays.xlsx")
        custodian = Custodian(served)
        second = custodian.send(step="2", source="stays.xlsx")
        assert field(second.text, "sheet") == "About"
        sent = filled_in(second.text) | {"again": "1", "sheet": "Stays & more"}
        second = custodian.send(**sent)
        assert second.status_code == 200, second.text
        assert field(second.text, "sheet") == "Stays & more"
        assert field(second.text, "format-first_line") == "2"
        assert [field(second.text, f"column-{at}") for at in range(3)] == [
            "guest",
            "nights",
            "city",
        ]
        sent = filled_in(second.text) | TYPED | {"step": "4"}
        assert custodian.send(**sent).status_code == 303
        table = served.curator.tables["stays"]
        assert table.source.endswith("stays.xlsx#Stays & more")
        assert served.curator.inspect("stays")["rows kept"] == 20


def test_every_kind_of_a_column_and_every_fact_of_a_format_is_on_the_page(served):
    (served.folder / "stays.csv").write_text(GERMAN, encoding="utf-8")
    page = Custodian(served).send(step="2", source="stays.csv").text
    for kind in KINDS:
        assert f">{kind}</option>" in page
    for each in fields(Format):
        assert f'name="format-{each.name}"' in page
    given = Format(delimiter="\t", quote="'", encoding="cp1252", decimal=",", thousands=" ",
                   date=("%d.%m.%Y", "%b %d, %Y"), datetime=("%d.%m.%Y %H:%M",), missing=("-",),
                   multiline=True, header=False, first_line=7, columns=3)  # fmt: skip
    for each in (given, Format(), Format(delimiter="^", quote="", thousands="_")):
        sent = {f"format-{name}": value for name, value in fields_of(each).items() if value}
        sent = {name: "1" if value is True else value for name, value in sent.items()}
        assert Format(**read_declared(Form({"format-given": "1", **sent}))) == each
    (served.folder / "stays.csv").unlink()


def test_the_widest_table_of_the_page_can_be_sent(served):
    names = [f"x{place}" for place in range(400)]
    (served.folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * 400) + "\n")
    custodian = Custodian(served)
    page = custodian.send(step="2", source="wide.csv").text
    sent = filled_in(page) | {"again": "1", "lower-299": "7"}
    again = custodian.send(**sent)
    assert again.status_code == 200
    assert field(again.text, "lower-299") == "7"
    (served.folder / "wide.csv").unlink()
