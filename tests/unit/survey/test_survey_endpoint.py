"""The survey over HTTP, without a browser: what it serves, keeps and refuses."""

import http.client
import json
import re
import socket
import threading

import pytest

from discreet.errors import InvalidValue
from discreet.survey import Endpoint, Reports, read_survey_text
from discreet.survey.definition import SKELETON
from discreet.survey.form import form_page
from discreet.survey.invitations import invite, round_token

TOKEN = "0123456789abcdef" * 2


@pytest.fixture
def reports(tmp_path):
    made = Reports(tmp_path / "reports.db", read_survey_text(SKELETON))
    yield made
    made.close()


@pytest.fixture
def endpoint(reports, monkeypatch):
    """With patience for askers on a machine that has other things to do."""
    monkeypatch.setattr("discreet.survey.endpoint._Connection.timeout", 120)
    made = Endpoint(reports, port=0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """An endpoint for what is refused, and its reports: there are none."""
    reports = Reports(tmp_path_factory.mktemp("idle") / "reports.db", read_survey_text(SKELETON))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.survey.endpoint._Connection.timeout", 120)
        made = Endpoint(reports, port=0)
        yield made, reports
        made.close()
    reports.close()


def port(endpoint):
    return int(endpoint.address.rstrip("/").split(":")[-1])


def ask(endpoint, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port(endpoint), timeout=120)
    connection.request(method, path, body=body, headers=headers or {})
    reply = connection.getresponse()
    found = reply.status, dict(reply.getheaders()), reply.read()
    connection.close()
    return found


def test_the_page_and_its_files(endpoint):
    for path, kind in (
        ("/", "text/html"),
        ("/survey.js", "text/javascript"),
        ("/randomize.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/survey.json", "application/json"),
    ):
        status, headers, body = ask(endpoint, "GET", path)
        assert status == 200
        assert headers["Content-Type"].startswith(kind)
        assert len(body) > 100
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "form-action 'none'" in policy
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in headers
        assert "Python" not in headers["Server"]


def test_the_script_s_values_are_exact_text(endpoint, reports):
    values = json.loads(ask(endpoint, "GET", "/survey.json")[2])
    assert values["recipes"] == reports.survey.recipes
    assert values["fingerprint"] == reports.survey.fingerprint
    numerator, denominator = values["recipes"][0]["kept"]
    assert (type(numerator), type(denominator)) == (str, str)
    assert 2**64 % int(denominator) == 0


@pytest.mark.parametrize(
    "path", ["/nothing", "/../definition.py", "/assets/survey.js", "/%2e%2e/", "/?x", "/reports/"]
)
def test_nothing_else_is_served(path, idle):
    assert ask(idle[0], "GET", path)[0] == 404


def test_reports_arrive_once(endpoint, reports):
    assert ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\1\0")[0] == 201
    assert ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\1\0")[0] == 200
    assert ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\2\0")[0] == 409
    assert len(reports) == 1
    assert reports.piles()["smokes"].tolist() == [1]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"/reports/{TOKEN}", b"", 400),
        (f"/reports/{TOKEN}", b"\1", 400),
        (f"/reports/{TOKEN}", b"\1\0\0", 400),
        (f"/reports/{TOKEN}", b"\xff\xff", 400),
        (f"/reports/{TOKEN}?answer=1", b"\1\0", 400),
        (f"/reports/{TOKEN}/more", b"\1\0", 400),
        ("/reports/short", b"\1\0", 400),
        (f"/elsewhere/{TOKEN}", b"\1\0", 404),
        ("/", b"\1\0", 404),
    ],
)
def test_malformed_reports_are_refused(path, body, status, idle):
    endpoint, reports = idle
    assert ask(endpoint, "PUT", path, body)[0] == status
    assert len(reports) == 0


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_not_there(method, idle):
    endpoint, reports = idle
    status, headers, _ = ask(endpoint, method, f"/reports/{TOKEN}", b"\1\0")
    assert status == 501
    assert "Access-Control-Allow-Origin" not in headers  # so other sites' pages cannot PUT
    assert len(reports) == 0


def test_a_length_that_is_not_the_report_s_is_refused_before_reading(endpoint, reports):
    for length in ("99999999999", "-1", "2.0", "0x2", ""):
        with socket.create_connection(("127.0.0.1", port(endpoint)), timeout=120) as client:
            request = (
                f"PUT /reports/{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
            )
            client.sendall(request.encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", port(endpoint)), timeout=120) as client:
        client.sendall(
            f"PUT /reports/{TOKEN} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            "2\r\n\1\0\r\n0\r\n\r\n".encode()
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 400")
    assert len(reports) == 0


def test_a_report_that_breaks_off_is_not_kept(endpoint, reports):
    with socket.create_connection(("127.0.0.1", port(endpoint)), timeout=120) as client:
        client.sendall(
            f"PUT /reports/{TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n".encode()
        )
        client.sendall(b"\1")
    assert ask(endpoint, "GET", "/")[0] == 200
    assert len(reports) == 0


def test_many_at_once(endpoint, reports):
    found = []

    def send(number):
        found.append(ask(endpoint, "PUT", f"/reports/{number:032x}", bytes([number % 2, 0]))[0])

    threads = [threading.Thread(target=send, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [201] * 40
    assert sum(reports.piles()["smokes"].tolist()) == 20


def test_a_full_disk_is_told_and_nothing_is_confirmed(endpoint, reports):
    reports._connection.execute("PRAGMA query_only = ON")
    status, _, body = ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\1\0")
    assert status == 503
    assert body == b"not kept; send it again\n"  # and no path of the machine
    reports._connection.execute("PRAGMA query_only = OFF")
    assert ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\1\0")[0] == 201


def test_nothing_is_logged(endpoint, capfd):
    ask(endpoint, "PUT", f"/reports/{TOKEN}", b"\1\0")
    ask(endpoint, "GET", "/nothing")
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken(endpoint, reports):
    with pytest.raises(InvalidValue, match="cannot listen"):
        Endpoint(reports, port=port(endpoint))


def test_the_page_cannot_submit_by_itself():
    survey = read_survey_text(SKELETON)
    page = form_page(survey)
    assert not re.search(r"<form|action=|method=|type=.submit|onclick|<a ", page)
    assert page.count("<fieldset") == 3
    assert "Sent as it is with probability 73.1%" in page
    assert "epsilon = 3" in page


def test_the_page_escapes_the_designer_s_words():
    sly = "<script>alert(1)</script>\"'"
    text = SKELETON.replace("Do you smoke?", "<script>alert(1)</script>'")
    text = text.replace('"vegan"', '"<b>vegan</b>"')
    page = form_page(read_survey_text(text))
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert sly not in page
    assert "&lt;b&gt;vegan" in page


def test_many_options_become_a_list():
    options = json.dumps([f"town {number}" for number in range(40)])
    text = SKELETON.replace('["everything", "vegetarian", "vegan", "I prefer not to say"]', options)
    page = form_page(read_survey_text(text))
    assert page.count("<option") == 41
    assert "<select" in page


def test_rounds_are_announced_on_the_page_and_to_the_script(tmp_path):
    survey = read_survey_text(SKELETON.replace("title", "rounds = 3\ntitle"))
    page = form_page(survey)
    assert "All rounds together cost at most epsilon = 9: " in page
    assert "at most 8,104 times as likely" in page
    assert "One round costs epsilon = 3: " in page
    assert "up to 3 times" in page
    assert "remember" not in page
    reports = Reports(tmp_path / "round.db", survey, round_number=2)
    endpoint = Endpoint(reports, port=0)
    values = json.loads(ask(endpoint, "GET", "/survey.json")[2])
    assert (values["round"], values["rounds"], values["epsilons"]) == (2, 3, [1.0, 1.0, 1.0])
    endpoint.close()
    reports.close()
    for number in (0, 4):
        other = Reports(tmp_path / f"{number}.db", survey, round_number=number)
        with pytest.raises(InvalidValue, match="this survey has 3"):
            Endpoint(other, port=0)
        other.close()


def test_rounds_that_come_to_more_than_a_question_may_cost_are_not_collected(tmp_path):
    for rounds, words in ((16, None), (17, "come to 17; the most .* is 16. Set its epsilon to at")):
        survey = read_survey_text(SKELETON.replace("title", f"rounds = {rounds}\ntitle"))
        reports = Reports(tmp_path / f"{rounds}.db", survey)
        if words is None:
            Endpoint(reports, port=0).close()
        else:
            with pytest.raises(InvalidValue, match=words):
                Endpoint(reports, port=0)
        reports.close()


def test_every_round_has_tokens_of_its_own(tmp_path):
    """An invitation does not report by itself, nor under another round's token."""
    survey = read_survey_text(SKELETON.replace("title", "rounds = 3\ntitle"))
    people = invite(4)
    tokens = [
        [round_token(each, fingerprint=survey.fingerprint, round_number=number) for each in people]
        for number in (1, 2, 3)
    ]
    assert len({*people, *(token for each in tokens for token in each)}) == 4 * 4
    for number in (1, 2, 3):
        reports = Reports(
            tmp_path / f"{number}.db", survey, invited=frozenset(people), round_number=number
        )
        endpoint = Endpoint(reports, port=0)
        assert json.loads(ask(endpoint, "GET", "/survey.json")[2])["invited"] is True
        for other in (1, 2, 3):
            expected = 201 if other == number else 403
            for token in tokens[other - 1]:
                assert ask(endpoint, "PUT", f"/reports/{token}", b"\1\0")[0] == expected
        for token in people:
            assert ask(endpoint, "PUT", f"/reports/{token}", b"\1\0")[0] == 403
        assert len(reports) == 4
        endpoint.close()
        reports.close()
