"""Guided registration without a browser: tables of a configured database, refusals that keep what
was typed."""

import re
from html import unescape

import psycopg
import pytest

from support.server_house import house_of

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

    def __init__(self, house):
        self.house = house
        answer = house.client.post("/login", data={"token": house.tokens["cora"]})
        assert answer.status_code == 200
        self.csrf = re.search(r'name="csrf" value="(\w+)"', answer.text).group(1)

    def send(self, **fields):
        body = {"csrf": self.csrf, **fields}
        return self.house.client.post("/custodian/register", data=body, follow_redirects=False)


def test_a_table_of_a_database_is_registered_step_by_step(tmp_path, server):
    for house in house_of(tmp_path / "h", databases={"hotel": server}):
        custodian = Custodian(house)
        assert "hotel" in house.client.get("/custodian/register").text
        second = custodian.send(step="2", other="hotel#stays")
        assert second.status_code == 200
        assert "nights" in second.text
        third = custodian.send(step="3", source="hotel#stays", **TYPED)
        assert "your data was not read" in third.text, third.text
        assert "stays" not in house.curator.tables
        assert custodian.send(step="4", source="hotel#stays", **TYPED).status_code == 303
        house.curator.grant("bob", epsilon=1)
        sql = "SELECT city, COUNT(*) AS n FROM stays GROUP BY city"
        assert len(house.curator.session("bob").sql(sql, epsilon=1)) == 2


def test_a_refusal_keeps_what_was_typed(house):
    custodian = Custodian(house)
    wrong = {**TYPED, "unit": "patient", "column-1": "age", "upper-1": "-5"}
    refused = custodian.send(step="3", source="visits.parquet", **wrong)
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert 'value="-5"' in refused.text
    assert custodian.send(step="2", source="/etc/passwd").status_code == 400
    assert custodian.send(step="4", source="visits.parquet", **wrong).status_code == 400
    assert list(house.curator.tables) == ["visits"]


def test_the_custodian_sees_what_could_not_be_read(tmp_path):
    for house in house_of(tmp_path / "h"):
        file = house.folder / "stays.csv"
        file.write_text("guest,nights,city\n" + "1,4,Graz\n2,5,Linz\n" * 100 + "3,many,Linz\n")
        custodian = Custodian(house)
        sent = custodian.send(step="4", source="stays.csv", **TYPED)
        assert sent.status_code == 303, sent.text
        place = sent.headers["location"]
        assert place == "/custodian/tables/stays"
        said = house.curator.report("stays").sentences()
        assert said
        shown = unescape(house.client.get(place).text)
        assert "What could not be read: NOT FOR RELEASE" in shown
        assert all(sentence in shown for sentence in said)
        assert said[0] not in unescape(house.client.get("/custodian").text)
        file.write_text("guest,nights,city\n1,4,Graz\n2,4,Linz\n")
        body = {"csrf": custodian.csrf}
        again = house.client.post(f"{place}/refresh", data=body, follow_redirects=False)
        assert (again.status_code, again.headers["location"]) == (303, place)
        assert "all of it could be read" in house.client.get(place).text


def test_of_a_table_that_this_server_did_not_read_nothing_is_said(house):
    Custodian(house)
    house.curator._warehouse._reports.clear()  # as after a start
    assert "What could not be read" not in house.client.get("/custodian/tables/visits").text
