"""Golden bytes of everything durable: release keys, service names, states, entries, wire bodies.
`identities.json` holds what commit 84cec4d writes, and this file passes there with the names of
modules then. A line of it that changes means that somebody is charged again, or that a vault does
not open: add lines, never change one.
"""

import json
import threading
import zlib
from contextlib import suppress
from datetime import date
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from discreet.client.conversation import Client
from discreet.curator.answer import Answer
from discreet.curator.results.block_record import receipt_of, release_body, release_key
from discreet.curator.results.block_result import BlockResult
from discreet.errors import DiscreetError
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import (
    FIRST,
    Act,
    Entry,
    Receipt,
    canonical,
    describe_account,
    describe_adoption,
    describe_loss,
    loss_of,
    memo_text,
)
from discreet.ledger.requests import Request
from discreet.ledger.store.chain import Tail, digest
from discreet.linear.weights import Weights
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure, Relation
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.release.declared import digest_of
from discreet.release.synth.fitted import draw_independently
from discreet.release.synth.rounds import Noisy
from discreet.release.synth.stages import Stages
from discreet.release.synth.state import Spec, SynthesisState
from discreet.report.values import account_values, answer_values, entry_values
from discreet.schema.column import Column
from discreet.schema.format import Format
from discreet.schema.table import Budget, Table
from discreet.streams import Counter, Holdout, Joint, Monitor
from discreet.streams.counter.design import Reach
from discreet.streams.counter.running_sums import Track
from discreet.streams.counter.state import CounterState, Stretch
from discreet.streams.holdout.state import HoldoutState, Settings
from discreet.streams.hypothesis.parities import Parities
from discreet.streams.joint.state import JointState
from discreet.streams.monitor.design import Form
from discreet.streams.monitor.state import Check, MonitorState, Side
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.run import SvtState
from discreet.streams.svt.sparse import Sparse, Thresholds
from discreet.streams.synopsis.questions import Questions
from discreet.streams.synopsis.snapshot import Snapshot, Update
from discreet.streams.synopsis.state import Release, SynopsisState
from discreet.survey.definition import SKELETON, read_survey_text
from support.vaults import curator_of, people

GOLDEN = json.loads(Path(__file__).with_name("identities.json").read_text())

VISITS = Table(
    "visits",
    source="visits.parquet",
    population="patients",
    unit="patient",
    rows_per_unit=2,
    columns=(
        Column("age", "integer", upper=110),
        Column("income", "number", step=Fraction(1, 2), upper=400_000, null="drop"),
        Column("region", "category", upper=2, keys=("north", "south", "it's \u00f6st")),
        Column("city", "category", upper=0, private_keys=True),
        Column("day", "date", lower=19_723, upper=20_088),
        Column("smoker", "boolean"),
        Column("hours", "datetime", step=Fraction(3600), lower=473_352, upper=475_512),
    ),
    budget=Budget(epsilon=10, delta=Fraction(1, 1000)),
)
STAYS = Table(
    "stays",
    population="patients",
    unit="patient",
    columns=(Column("nights", "integer", upper=60),),
)
FULL = Table(
    "full",
    source="full.csv",
    population="p",
    unit="u",
    rows_per_unit=3,
    neighbours=Relation.REPLACE,
    columns=(
        Column("x", "number", step=Fraction(1, 3), nan=0, infinity="drop", source_name="X x"),
        Column("k", "category", upper=2, keys=("a", "b"), other=True, description="which"),
    ),
    budget=Budget(epsilon=1, delta=Fraction(1, 8), sharing=True),
    joined_rows_per_unit=9,
    answer_seconds=Fraction(5, 2),
    unit_source_name="Unit",
    description="everything is set",
    unreadable_share=Fraction(1, 7),
)
EVERY = Table(
    "every",
    population="p",
    unit="u",
    rows_per_unit=2,
    neighbours=Relation.REPLACE,
    columns=(
        Column("x", "number", step=Fraction(2, 3), lower=-3, upper=9, null=-1, infinity="error"),
        Column("n", "integer", step=Fraction(2), upper=5, null="error", nan="drop"),
        Column("k", "category", upper=1, keys=("a", "\u00f6"), null=1, source_name="K k"),
        Column("who", "category", upper=0, private_keys=True, description="anybody"),
    ),
    budget=Budget(epsilon=Fraction(1, 3), delta=Fraction(1, 9), delta_for_conversion=0.25),
    joined_rows_per_unit=7,
    answer_seconds=Fraction(3),
    unit_source_name="U u",
    description="a format too",
    format=Format(
        delimiter=";",
        quote="'",
        encoding="latin-1",
        decimal=",",
        thousands=".",
        date=("%d.%m.%Y", "%Y-%m-%d"),
        datetime=("%d.%m.%Y %H:%M",),
        missing=("n/a", "-"),
        multiline=True,
        header=False,
        first_line=3,
        columns=5,
    ),
    unreadable_share=Fraction(1),
)
PLACES = Table(
    "places",
    source="places.csv",
    columns=(Column("region", "category", upper=1, keys=("north", "south")),),
    kind="public",
    key=("region",),
    rows_per_key=4,
)
HALF, RHO = Pure(epsilon=Fraction(1, 2)), ZCDP(rho=Fraction(1, 100))
COUNT = "SELECT COUNT(*) AS n FROM visits"
MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
QUESTIONS = (
    (COUNT, HALF, {}),
    (COUNT, RHO, {}),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", RHO, {}),
    ("SELECT SUM(income) AS s, AVG(age) AS a, STDDEV(age) AS d FROM visits", RHO, {}),
    ("SELECT VAR_POP(age) AS v, COUNT(income) AS c FROM visits", HALF, {}),
    ("SELECT CORR(age, income) AS c, REGR_SLOPE(age, income) AS r FROM visits", RHO, {}),
    ("SELECT MEDIAN(age) AS m, QUANTILE(age, 0.9) AS q, MIN(age) AS l FROM visits", HALF, {}),
    ("SELECT MEDIAN(age) AS m FROM visits", HALF, {"ways": (QuantileMethod.FINE,)}),
    ("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", RHO, {"delta": Fraction(1, 10**5)}),
    ("SELECT COUNT(DISTINCT patient) AS p FROM visits WHERE region = 'it''s \u00f6st'", RHO, {}),
    (
        "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'grown' END AS who, COUNT(*) AS n FROM visits "
        "WHERE day BETWEEN '2024-02-01' AND '2024-11-30' AND NOT smoker AND income IS NOT NULL "
        "GROUP BY who HAVING n > 2 ORDER BY n DESC LIMIT 5",
        HALF,
        {},
    ),
    (
        "SELECT EXTRACT(quarter FROM day) AS q, SUM(LEAST(income, 1000) * 2 + age) AS s "
        "FROM visits WHERE region IN ('north', 'south') OR FLOOR(age / 10) = 3 GROUP BY q",
        HALF,
        {},
    ),
    ("SELECT WIDTH_BUCKET(age, 0, 100, 5) AS b, COUNT(*) AS n FROM visits GROUP BY b", RHO, {}),
    ("SELECT MODE(region) AS most FROM visits", HALF, {}),
    (
        "SELECT region, SUM(nights) AS s FROM visits JOIN stays USING (patient) GROUP BY region",
        HALF,
        {"others": ((STAYS, '"stays"'),)},
    ),
    (
        "SELECT AVG(total) AS t FROM (SELECT patient, SUM(age) AS total FROM visits "
        "GROUP BY patient) AS each_one",
        RHO,
        {},
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_groups_contributed=1) region, "
        "COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM visits GROUP BY region",
        HALF,
        {},
    ),
    (MONTHS, HALF, {}),
    ("SELECT DATE_TRUNC('year', hours) AS y, COUNT(*) AS n FROM visits GROUP BY y", HALF, {}),
    ("SELECT COUNT(*) AS n FROM visits WHERE hours < TIMESTAMP '2024-01-02 03:04:05'", HALF, {}),
    (
        "SELECT COUNT(*) AS n FROM visits LEFT JOIN stays USING (patient) WHERE nights IS NULL "
        "AND patient IN (SELECT patient FROM visits GROUP BY patient HAVING COUNT(*) > 1)",
        HALF,
        {"others": ((STAYS, '"stays"'),)},
    ),
    (
        "SELECT AVG(gap) AS g FROM (SELECT age - LAG(age, 2) OVER (PARTITION BY patient, region "
        "ORDER BY day, income DESC) AS gap, SUM(age) OVER (PARTITION BY patient) AS s FROM visits)",
        HALF,
        {},
    ),
)


def planned(sql, price, given):
    query = parse(sql, {"visits": VISITS, "stays": STAYS})
    draft = Draft(query=query, table=VISITS, price=price, question=sql, limit=10**6, **given)
    return plan(draft)


def answered():
    """A monthly count whose noisy numbers are known."""
    found = planned(MONTHS, HALF, {})
    charge = Receipt(7, "f2bc32a6", "2025-01-01T00:00:00.000000Z", "patients", "ana", HALF, {})
    released = Released(found, found.groups, (np.arange(len(found.groups)) * 10 - 3,))
    return Answer(BlockResult(released), receipt_of(found, charge, (1,)), free=False)


def entries():
    opened = describe_account(Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)))
    time = "2025-01-01T00:00:00.000000Z"
    first = Entry(1, time, Act.OPEN, None, "ana", opened, memo_text({"why": "asked"}), FIRST)
    memo = memo_text({"question": COUNT, "label": "it's \u00f6st", "answer_seconds": "0.05"})
    event = describe_loss(Pure(epsilon=Fraction(1, 3)))
    return first, Entry(2, time, Act.CHARGE, "patients", "ana", event, memo, first.hash)


def key_values():
    made = {
        f"{place}: {sql}": release_key(planned(sql, price, given), (1, 12))
        for place, (sql, price, given) in enumerate(QUESTIONS, start=1)
    }
    made["request"] = Request.of("2025-07", COUNT, {"epsilon": "1/10", "error": "n=5"}).question
    made["release"] = digest_of({"b": ["\u00f6", 1.5, None], "a": {"x": True}})
    survey = read_survey_text(SKELETON)
    made["survey"] = survey.fingerprint
    often = SKELETON.replace("title", "rounds = 3\ntitle")
    made["survey in rounds"] = read_survey_text(often).fingerprint
    return made


def schema_values():
    return {
        f"{table.name} {what}": text
        for table in (VISITS, STAYS, FULL, EVERY, PLACES)
        for what, text in (("json", table.to_json()), ("version", table.version))
    }


CHECKS = (
    Check(Side.ABOVE, Fraction(7, 2), 3, 1, 1, COUNT, Fraction(5, 2), "1, 4", "then"),
    Check(Side.BELOW, None, 4, 2, 1, COUNT, Fraction(6), "4", "now"),
)
SPARSE = Sparse(
    threshold_scale=Fraction(3, 2), query_scale=9, alarms=2, thresholds=Thresholds.FRESH
)
STATES = {
    "monitor": MonitorState(
        question=COUNT,
        threshold=Fraction(5, 2),
        price=RHO,
        numbers=Fraction(1, 4),
        technique=NumericSparse(sparse=SPARSE, number_scale=Fraction(7, 3)),
        form=Form.MONOTONE,
        reach=Fraction(2),
        relation=Relation.ADD_REMOVE,
        population="patients",
        run=2,
        checks=4,
        alarms_in_all=1,
        standing=SvtState(noise=-17, used=1),
        alarms=CHECKS[:1],
        last=CHECKS[1],
    ),
    "monitor at its beginning": MonitorState(
        question="SELECT 'it''s \u00f6st'",
        threshold=Fraction(-6),
        price=HALF,
        numbers=None,
        technique=Sparse(threshold_scale=2, query_scale=4, alarms=1),
        form=Form.GENERAL,
        reach=Fraction(110),
        relation=Relation.REPLACE,
        population="patients",
        run=1,
        checks=0,
        alarms_in_all=0,
        standing=SvtState(noise=10**30, used=0),
    ),
    "counter": CounterState(
        MONTHS,
        VISITS.version,
        Fraction(12345, 1000),
        Reach(2, 12),
        (
            Stretch((1,), 0, Track((5, -7), (2, -3))),
            Stretch((3,), 2, Track((10**20,), (-(10**18),))),
        ),
    ),
    "counter at its beginning": CounterState(MONTHS, VISITS.version, Fraction(1), Reach(), ()),
    "holdout": HoldoutState(
        Settings("visits", HALF, Fraction(1, 20), 4, Fraction(1), Fraction(1, 2), 4),
        VISITS.version,
        (1, 2),
        58,
        SvtState(noise=5, used=2),
    ),
    "holdout at its beginning": HoldoutState(
        Settings("visits", RHO, Fraction(1, 20), 4, Fraction(1), Fraction(1), 2),
        VISITS.version,
        (1,),
        None,
        SvtState(noise=-5, used=0),
    ),
    "joint": JointState(
        table="visits",
        schema_version=VISITS.version,
        columns=("region", "smoker"),
        versions=(1,),
        epsilon=Fraction(1, 2),
        sensitivity=Fraction(4),
        questions=(COUNT, "SELECT 'it''s \u00f6st'"),
        answers=([[61]], None),
    ),
    "synopsis": SynopsisState(
        table="visits",
        schema_version=VISITS.version,
        columns=("region", "smoker"),
        versions=(1,),
        epsilon=Fraction(5),
        alpha=Fraction(3, 10),
        order=2,
        queries=10_000,
        reserve=Fraction(1, 4),
        rho=Fraction(3, 7),
        spent=Fraction(2, 7),
        releases=(
            Release(rho=Fraction(1, 7), noisy=(5, -3, 0)),
            Release(rho=Fraction(1, 9), noisy=None),
        ),
        updates=(Update(COUNT, 40, 5.25),),
        standing=-123,
        finished="yes",
    ),
    "synthesis": SynthesisState(
        Spec(COUNT, "1/2", "marginals; draw = a.b", (1, 2)),
        "f2bc32a6",
        (Fraction(1, 9), Fraction(1, 8), Fraction(1, 7)),
        (None, (Noisy((0, 2), np.array([5, -7, 2**40]), Fraction(9, 4)),)),
    ),
}


def texts_of(body):
    """What is packed and what stands behind it, which does not hang on a version of zlib."""
    packed = zlib.decompressobj()
    return [packed.decompress(body).decode(), packed.unused_data.decode()]


def snapshot():
    """A synopsis of two columns, whose measurements are known."""
    questions = Questions(FULL)
    variances = {(): Fraction(9, 4), (0,): Fraction(2), (1,): Fraction(10, 3)}
    parities = Parities(questions.domain, 1, variances)
    return Snapshot(
        questions,
        parities.reshape(np.array([64, 5, -7, 3])),
        updates=(
            Update("SELECT COUNT(*) FROM \"full\" WHERE x = 0 AND k = 'a'", 12, 5.25),
            Update("SELECT 'it''s \u00f6st'", -3, 0.1),
        ),
        weights=Weights.of(questions.domain, np.array([1, 2, 4, 1, 5, 3])),
        data_versions=(1, 12),
    )


def published_values(saved):
    """What a published synopsis holds, which does not hang on how numpy packs it."""
    with np.load(saved, allow_pickle=False) as arrays:
        assert sorted(arrays) == ["facts", "noisy", "weights"]
        return {
            "facts": arrays["facts"].tobytes().decode(),
            "noisy": arrays["noisy"].tolist(),
            "weights": arrays["weights"].tolist(),
        }


def chain_values():
    losses = {
        "pure": HALF,
        "zcdp": RHO,
        "zcdp with delta": ZCDP(rho=1, delta=Fraction(1, 10**6)),
        "bounded-range": BoundedRange(epsilon=Fraction(1, 3)),
        "approximate": Approximate(epsilon=1, delta=Fraction(1, 10**6)),
    }
    first, charge = entries()
    tail = Tail(bytes(range(32)), 0, "")
    row = (1, "ana", "fever", "monitor", 1, 7, b"secret")
    seals = [tail.seal("state", 1, digest(row)), tail.seal("source", "3:ab", digest(("x", None)))]
    accounts = [
        Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)),
        Account.open(Holder.POPULATION, "patients", Budget(epsilon=3, delta=Fraction(1, 10**6))),
    ]
    return {
        **{f"loss {name}": describe_loss(loss) for name, loss in losses.items()},
        "adoption": describe_adoption(accounts),
        "open": [first.event, first.memo, first.hash],
        "charge": [charge.event, charge.memo, charge.hash, charge.receipt.id],
        "canonical": canonical(["\u00f6", {"b": None, "a": [True, 1]}]),
        "seals": [list(seal) for seal in seals],
    }


def wire_values():
    account = Account.open(Holder.ANALYST, "ana", Budget(epsilon=1, delta=Fraction(1, 10**6)))
    answer = answered()
    body = release_body(answer.result.released, (1,))
    return {
        "answer": json.dumps(answer_values(answer)),
        "stored release": body.decode(),
        "account": json.dumps(account_values(account)),
        "entries": json.dumps([entry_values(entry) for entry in entries()]),
        "monitor": json.dumps(STATES["monitor"].values()),
        "check": json.dumps(CHECKS[0].values()),
        **requests(),
    }


def requests():
    """What a client sends: the path and the body of each request, read by a server of our own."""
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            sent.append([self.path, body.decode()])
            self.send_response(503)
            self.end_headers()

        def log_message(self, *_):
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = Client(f"http://127.0.0.1:{server.server_port}", "token")
        calls = {
            "explain": lambda: client.explain(COUNT, error={"n": Fraction(5, 2)}, count=3),
            "sql": lambda: client.sql(COUNT, epsilon=Fraction(1, 3), delta=1e-6, key="k"),
            "open monitor": lambda: client.open_monitor("m", COUNT, threshold=2, epsilon=0.5),
            "check": lambda: client.monitor("a/b").check(COUNT, threshold=0.25),
            "open counter": lambda: client.open_counter("c", MONTHS, rho=1, versions=2),
            "advance": lambda: client.counter("c").advance(upto=date(2024, 5, 6)),
            "open synopsis": lambda: client.open_synopsis(
                "s", "visits", ["age"], alpha=0.1, epsilon=1, order=2, reserve=Fraction(1, 4)
            ),
            "query": lambda: client.synopsis("s").query(COUNT),
        }
        for call in calls.values():
            with suppress(DiscreetError):
                call()
        server.shutdown()
        thread.join()
    return {f"request {name}": text for name, text in zip(calls, sent, strict=True)}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The names of services that were given none."""
    folder = tmp_path_factory.mktemp("names")
    with curator_of(folder / "c", people(), budget="epsilon = 1000\ndelta = 1e-3") as curator:
        curator.grant("ana", epsilon=900, delta=1e-3)
        curator.grant("pure", epsilon=50)
        session, pure = curator.session("ana"), curator.session("pure")
        monitor = Monitor.open(session, COUNT, threshold=2.5, alarms=2, epsilon=2, numbers=0.25)
        joint = Joint.open(session, epsilon=2, sensitivity=4)
        chosen = Joint.open(session, epsilon=2, sensitivity=Fraction(9, 2), columns=("region",))
        yield {
            "monitor": monitor.name,
            "monitor, pure": Monitor.open(pure, COUNT, threshold=-100, epsilon=2).name,
            "counter": Counter.open(session, MONTHS, epsilon=2, versions=2).name,
            "counter, rho": Counter.open(session, MONTHS, rho=0.5, versions=1, buckets=6).name,
            "holdout": Holdout.open(session, threshold=0.2, overfits=2, epsilon=3).name,
            "holdout, rho": Holdout.open(
                session, threshold=0.2, overfits=2, rho=3, reach=2, step=Fraction(1, 2)
            ).name,
            "joint": joint.name,
            "joint, columns": chosen.name,
            "synthesis": Spec(COUNT, "1/2", "marginals", (1, 2)).name,
            "stages": Stages(draw=draw_independently).said,
        }


def test_release_keys_are_those_that_are_stored():
    assert key_values() == GOLDEN["keys"]


def test_schemas_are_written_as_they_are_stored():
    assert schema_values() == GOLDEN["schemas"]
    for table in (FULL, EVERY):
        assert Table.from_json(GOLDEN["schemas"][f"{table.name} json"]) == table


def test_services_without_a_name_have_those_that_are_stored(names):
    assert names == GOLDEN["names"]


@pytest.mark.parametrize("name", STATES)
def test_states_are_written_and_read_byte_for_byte(name):
    golden, state = GOLDEN["states"][name], STATES[name]
    if name in ("synopsis", "synthesis"):
        stored = bytes.fromhex(golden["hex"])
        assert texts_of(state.to_bytes()) == golden["texts"] == texts_of(stored)
    else:
        stored = golden["text"].encode()
        assert state.to_bytes() == stored
    if name == "synthesis":
        again = type(state).from_bytes(stored)
        assert (again.spec, again.receipt, again.paid) == (state.spec, state.receipt, state.paid)
        assert again.to_bytes() == state.to_bytes()
    else:
        assert type(state).from_bytes(stored) == state


def test_a_published_synopsis_is_written_and_read_as_everybody_has_it(tmp_path):
    golden, saved, stored = GOLDEN["published"], tmp_path / "saved", tmp_path / "stored.npz"
    snapshot().save(saved)
    assert published_values(saved) == golden
    facts = np.frombuffer(golden["facts"].encode(), dtype=np.uint8)
    np.savez(stored, facts=facts, noisy=golden["noisy"], weights=golden["weights"])
    again = Snapshot.load(stored)
    assert (again.table.columns, again.updates) == (FULL.columns, snapshot().updates)
    assert (again.table.unit, again.table.rows_per_unit) == ("u", 3)
    assert (again.table.neighbours, again.data_versions) == (Relation.REPLACE, (1, 12))
    assert again.measured.parities.variances == snapshot().measured.parities.variances
    assert again.query(again.updates[0].question) == snapshot().query(again.updates[0].question)
    again.save(saved)
    assert published_values(saved) == golden


def test_the_chain_is_written_as_it_is_stored():
    made = chain_values()
    assert made == GOLDEN["chain"]
    for name in ("pure", "zcdp", "zcdp with delta", "bounded-range", "approximate"):
        assert describe_loss(loss_of(made[f"loss {name}"])) == made[f"loss {name}"]


def test_bodies_on_the_wire_are_those_that_clients_know():
    assert wire_values() == GOLDEN["wire"]
