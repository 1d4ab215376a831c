"""Reports as bytes and as a file: few, checked, only added, once for each token."""

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import InvalidValue, Unavailable
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
from discreet.noise import system
from discreet.survey import Arrival, Choice, Reports, Scale, Survey, read_survey_text
from discreet.survey.definition import SKELETON
from discreet.survey.invitations import invite, read_invitations
from discreet.survey.recipe import recipe
from discreet.survey.wire import check, length, pack, unpack
from support.browser import Script

VECTORS = json.loads(
    (Path(__file__).resolve().parents[2] / "browser" / "randomizer_vectors.json").read_text()
)
OPTIONS = tuple(f"option {place}" for place in range(9))
WIDE = Survey(
    title="Everything",
    questions=(
        *(
            Choice(
                name=kind.replace("-", ""), text="?", options=OPTIONS, epsilon=2, randomizer=kind
            )
            for kind in ("k-ary", "unary", "hashing", "hadamard", "subset")
        ),
        *(
            Scale(
                name=kind.replace("-", ""),
                text="?",
                lower=0,
                upper=9,
                step=0.5,
                epsilon=2,
                randomizer=kind,
            )
            for kind in ("one-bit", "piecewise", "hybrid")
        ),
    ),
)


def drawn(survey, people):
    answers = [place % 9 for place in range(people)]
    return {q.name: q.randomizer.release(answers) for q in survey.questions}


def token():
    return f"{system.bits(128):032x}"


@pytest.fixture
def survey():
    return read_survey_text(SKELETON)


@pytest.fixture
def reports(tmp_path, survey):
    made = Reports(tmp_path / "reports.db", survey)
    yield made
    made.close()


def rebuilt(told):
    """The randomizer of a recipe, for the vectors that both sides share."""
    lattice = told.get("lattice")
    facts = {"epsilon": 1.5, "coin_bits": 64}
    if lattice:
        facts |= {"lower": 0, "upper": 10, "step": 0.5}
        return {"one-bit": OneBit, "piecewise": Piecewise, "hybrid": Hybrid}[told["kind"]](**facts)
    if told["kind"] == "rappor":
        return Rappor(categories=3, blur=0.5, low=Fraction(1, 3), high=Fraction(2, 3))
    kinds = {"kary": KaryResponse, "unary": UnaryEncoding, "hadamard": HadamardResponse}
    kinds |= {"subset": SubsetSelection, "hashing": LocalHashing}
    return kinds[told["kind"]](**facts, categories=told["categories"])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_shared_vectors(vector):
    randomizer = rebuilt(vector["recipe"])
    assert recipe(randomizer) == vector["recipe"]
    script = Script([int(word) for word in vector["words"]])
    answer = vector["answer"] / 2 if "lattice" in vector["recipe"] else vector["answer"]
    report = np.atleast_1d(randomizer.release(answer, script))
    assert report.tolist() == vector["report"]
    assert script.used == vector["used"]


def test_reports_are_a_few_bytes_and_come_back(survey):
    assert length(survey) == 2
    assert length(WIDE) == -(-sum(q.randomizer.report_bits for q in WIDE.questions) // 8)
    for asked in (survey, WIDE):
        made = drawn(asked, 300)
        bodies = pack(asked, made)
        assert bodies.shape == (300, length(asked))
        back = unpack(asked, bodies)
        for name, reports in made.items():
            assert back[name].tolist() == np.asarray(reports).tolist()
        for body in bodies[:20]:
            check(asked, body.tobytes())


def test_malformed_bytes_are_refused(survey):
    good = pack(survey, drawn(survey, 1))[0].tobytes()
    for bad in (b"", good[:1], good + b"\0", b"\xff\xff"):
        with pytest.raises(InvalidValue, match="malformed"):
            check(survey, bad)


def test_impossible_reports_are_refused():
    made = drawn(WIDE, 1)
    for name, wrong in (
        ("kary", [9]),
        ("subset", np.ones((1, 9), dtype=int)),
        ("hashing", [[2**31 - 1, 0, 0]]),
        ("piecewise", [WIDE.question("piecewise").randomizer.cells]),
        ("hybrid", [WIDE.question("hybrid").randomizer.cells]),
    ):
        check(WIDE, pack(WIDE, made)[0].tobytes())
        with pytest.raises(InvalidValue, match="malformed"):
            check(WIDE, pack(WIDE, made | {name: wrong})[0].tobytes())


def test_every_body_is_either_read_back_or_refused(survey):
    found = 0
    for number in [*range(2**11), *(1 << bit for bit in range(11, 16)), 2**16 - 1]:
        body = number.to_bytes(2, "little")
        try:
            check(survey, body)
        except InvalidValue:
            continue
        found += 1
        again = pack(survey, unpack(survey, np.frombuffer(body, np.uint8).reshape(1, 2)))
        assert again.tobytes() == body
    assert found == 2 * 4 * survey.question("sleep").randomizer.cells


def test_a_token_reports_once(reports):
    mine = token()
    assert reports.add(mine, b"\1\0") is Arrival.FIRST
    assert reports.add(mine, b"\1\0") is Arrival.AGAIN
    assert reports.add(mine, b"\2\0") is Arrival.OTHER
    assert reports.add(token(), b"\1\0") is Arrival.FIRST
    assert len(reports) == 2
    assert sorted(reports.piles()["smokes"].tolist()) == [1, 1]


@pytest.mark.parametrize("bad", ["", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "../" + "0" * 29])
def test_malformed_tokens_are_refused(bad, reports):
    with pytest.raises(InvalidValue, match="token is malformed"):
        reports.add(bad, b"\1\0")
    assert len(reports) == 0


def test_a_malformed_report_uses_no_token(reports):
    mine = token()
    with pytest.raises(InvalidValue):
        reports.add(mine, b"\xff\xff")
    assert reports.add(mine, b"\1\0") is Arrival.FIRST


def test_reports_are_only_added(reports):
    reports.add(token(), b"\1\0")
    with sqlite3.connect(reports.path) as other:
        for statement in ("DELETE FROM reports", "UPDATE reports SET body = x'0000'"):
            with pytest.raises(sqlite3.IntegrityError, match="only added"):
                other.execute(statement)
    other.close()
    assert len(reports) == 1


def test_the_file_is_private_and_holds_no_order_of_arrival(reports):
    tokens = [token() for _ in range(50)]
    for each in tokens:
        reports.add(each, b"\1\0")
    assert stat.S_IMODE(reports.path.stat().st_mode) == 0o600
    with sqlite3.connect(reports.path) as other:
        names = [row[1] for row in other.execute("PRAGMA table_info(reports)")]
        assert names == ["token", "body"]
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            other.execute("SELECT rowid FROM reports")
        found = [row[0].hex() for row in other.execute("SELECT token FROM reports")]
    other.close()
    assert found == sorted(tokens)


def test_many_threads_and_one_token(reports):
    mine, found = token(), []
    bodies = [bytes([number, 0]) for number in range(16)]

    def send(body):
        found.append((reports.add(mine, body), body))

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [body for arrival, body in found if arrival is Arrival.FIRST]
    assert len(kept) == 1
    assert [body for arrival, body in found if arrival is Arrival.AGAIN] == kept
    assert len(reports) == 1


def test_a_confirmed_report_survives_a_kill(tmp_path, survey):
    path = tmp_path / "killed.db"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from discreet.survey import Reports, read_survey_text\n"
        "from discreet.survey.definition import SKELETON\n"
        "reports = Reports(Path(sys.argv[1]), read_survey_text(SKELETON))\n"
        "print(reports.add('ab' * 16, bytes([5, 0])).value, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "first\n"
    assert done.returncode == -9
    reports = Reports.existing(path, survey)
    assert reports.add("ab" * 16, bytes([5, 0])) is Arrival.AGAIN
    reports.close()


def test_another_survey_is_refused(tmp_path, survey):
    path = tmp_path / "reports.db"
    Reports(path, survey).close()
    Reports(path, survey).close()
    with pytest.raises(InvalidValue, match="edited since"):
        Reports(path, WIDE)


def test_a_file_that_is_not_there_or_no_database(tmp_path, survey):
    with pytest.raises(InvalidValue, match="there are no reports"):
        Reports.existing(tmp_path / "none.db", survey)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("no database, whatever it is called" * 100)
    with pytest.raises(Unavailable, match="could not be read or kept"):
        Reports(tmp_path / "text.db", survey)


def test_only_the_invited_report(tmp_path, survey):
    links = tmp_path / "links.txt"
    tokens = invite(3)
    links.write_text(f"https://example.org/#{tokens[0]}\n\n{tokens[1]}\n")
    reports = Reports(tmp_path / "r.db", survey, invited=read_invitations(links))
    assert reports.add(tokens[0], b"\1\0") is Arrival.FIRST
    assert reports.add(tokens[1], b"\1\0") is Arrival.FIRST
    assert reports.add(tokens[1], b"\2\0") is Arrival.OTHER
    assert reports.add(tokens[2], b"\1\0") is Arrival.UNINVITED
    assert len(reports) == 2
    reports.close()


def test_invitations_that_cannot_be_read(tmp_path):
    for text in ("", "https://example.org/", "0" * 32 + "\nshort"):
        (tmp_path / "links.txt").write_text(text)
        with pytest.raises(InvalidValue, match="32 hexadecimal digits"):
            read_invitations(tmp_path / "links.txt")
    with pytest.raises(InvalidValue, match="survey invite"):
        read_invitations(tmp_path / "none.txt")
    for people in (0, -1, True, 1.5):
        with pytest.raises(InvalidValue, match="an integer from 1"):
            invite(people)
