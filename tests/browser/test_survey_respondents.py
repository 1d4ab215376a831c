"""A survey end to end in a real browser: what is on the wire, what is kept, what is found.

The wire is read byte by byte. Apart from the token and the body of a report, which are drawn at
random, every respondent sends the same bytes; so nothing else can carry an answer.
"""

import base64
import json
import re
import time
import urllib.parse

import numpy as np
import pytest

from discreet.noise import system
from discreet.survey import Endpoint, Reports, read_survey_text
from discreet.survey.findings import findings
from discreet.survey.invitations import invite, round_token
from discreet.survey.wire import length, pack
from support.browser import PATIENCE, Script, Wire, asset, requests
from support.fit import check_rate

PEOPLE = 200
OPTIONS = ("zebra-albatross", "walrus-kestrel", "gnu-chameleon")
SURVEY = f"""
[survey]
title = "Beasts"
introduction = "Canaries: no answer may be seen on the wire."
[questions.beast]
type = "choice"
text = "Which one?"
options = {list(OPTIONS)}
epsilon = 2.0
[questions.pets]
type = "yes-no"
text = "Any pets?"
epsilon = 1.5
randomizer = "unary"
[questions.weight]
type = "number"
text = "How heavy?"
lower = 0
upper = 4000
step = 0.25
epsilon = 2.0
"""
HOW_OPENED = ("Cache-Control: ", "Sec-Fetch-Site: ", "Sec-Fetch-User: ")  # typed, or loaded anew
PLACES = {"", "style.css", "survey.js", "randomize.js", "survey.json"}

ANSWER = """([beast, pets, weight]) => {
  document.querySelector(`#question-beast input[value='${beast}']`).checked = true;
  document.querySelector(`#question-pets input[value='${pets}']`).checked = true;
  document.querySelector("#question-weight input").value = weight;
  document.getElementById("send").click();
}"""
# A stream of words that a test knows, in place of the browser's generator.
KNOWN_WORDS = """(() => {
  let next = 0;
  const halves = %s;
  crypto.getRandomValues = (array) => {
    for (let index = 0; index < array.length; index += 1) array[index] = halves[next++];
    return array;
  };
})()"""

# One respondent after the other: a fresh store, the page loaded anew, answered and sent.
EVERYBODY = """(() => {
  const given = %s;
  const answer = %s;
  const kept = JSON.parse(sessionStorage.getItem("kept") ?? "[]");
  localStorage.clear();
  let asked = false;
  const look = () => {
    const button = document.getElementById("send");
    if (document.body?.dataset.state === "sent") {
      kept.push(Object.values(localStorage)[0]);
      sessionStorage.setItem("kept", JSON.stringify(kept));
      if (kept.length < given.length) location.reload();
      else document.body.dataset.everybody = "yes";
      return;
    }
    if (button && !button.disabled && !asked) {
      asked = true;
      answer(given[kept.length]);
    }
    setTimeout(look, 2);
  };
  look();
})()"""


class RunningSurvey:
    """A running survey behind a wire that is read."""

    def __init__(self, folder, text=SURVEY, invited=None):
        self.survey = read_survey_text(text)
        self.reports = Reports(folder / "reports.db", self.survey, invited=invited)
        self.endpoint = Endpoint(self.reports, port=0)
        self.wire = Wire(int(self.endpoint.address.rstrip("/").split(":")[-1]))

    @property
    def address(self):
        return self.wire.address

    def close(self):
        self.endpoint.close()
        self.wire.close()
        self.reports.close()


@pytest.fixture
def running(tmp_path):
    made = RunningSurvey(tmp_path)
    yield made
    made.close()


@pytest.fixture
def page(browser):
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def ready(page, address):
    page.set_default_timeout(PATIENCE)  # machines with much else to do
    page.goto(address)
    page.wait_for_selector("#send:not([disabled])", state="attached")


def state(page):
    page.set_default_timeout(PATIENCE)
    page.wait_for_selector("body[data-state]", state="attached")
    return page.get_attribute("body", "data-state")


def answer(page, address, beast, pets, weight):
    ready(page, address)
    page.evaluate(ANSWER, [beast, pets, weight])
    return state(page)


def spellings(secret):
    """How a text might be written on a wire."""
    yield secret.encode()
    yield urllib.parse.quote(secret, safe="").encode()
    yield secret.encode("utf-16-le")
    yield secret.encode().hex().encode()
    for shift in range(3):  # base64 of the text at each offset, less the ends that vary
        coded = base64.b64encode(b" " * shift + secret.encode() + b"   ")
        yield coded[4 if shift else 0 : -6]


def leaks(sent, secrets):
    """The secrets that can be read on the wire in some spelling."""
    seen = sent.lower()
    return [s for s in dict.fromkeys(secrets) if any(e.lower() in seen for e in spellings(s))]


def reported(sent, size):
    """Tokens and bodies of the reports; everything else on the wire must be fixed."""
    found, fixed = [], set()
    for method, path, headers, body in requests(sent):
        if method == "GET":
            assert path.removeprefix("/") in PLACES
            assert body == b""
            how = HOW_OPENED if path == "/" else ()
            fixed.add((path, tuple(line for line in headers if not line.startswith(how))))
            continue
        assert method == "PUT"
        token = re.fullmatch(r"/reports/([0-9a-f]{32})", path)
        assert token
        assert len(body) == size
        found.append((token[1], body))
        fixed.add(("PUT", headers))
    names = [each[0] for each in fixed]
    assert len(set(names)) == len(names), "two requests to one place differ in their headers"
    return found


def test_two_hundred_respondents(running, page):
    truth = {
        "beast": [int(system.bits(8)) % 3 for _ in range(PEOPLE)],
        "pets": [int(system.bits(1)) for _ in range(PEOPLE)],
        "weight": [1000.25 + 1.25 * (index % 100) for index in range(PEOPLE)],
    }
    given = [
        [beast, pets, str(weight)] for beast, pets, weight in zip(*truth.values(), strict=True)
    ]
    page.add_init_script(EVERYBODY % (json.dumps(given), ANSWER))
    page.goto(running.address)
    page.wait_for_selector("body[data-everybody]", state="attached", timeout=4 * PATIENCE)
    stored = json.loads(page.evaluate("sessionStorage.getItem('kept')"))
    kept = {one["token"]: bytes.fromhex(one["body"]) for one in map(json.loads, stored)}
    sent = running.wire.sent()
    assert dict(reported(sent, length(running.survey))) == kept
    assert len(kept) == len(running.reports) == PEOPLE
    assert leaks(sent, [*OPTIONS, *(str(weight) for weight in truth["weight"])]) == []
    # Five intervals and a mean, each of 1e-13: one check of the suite.
    found = findings(running.survey, running.reports.piles(), confidence=1 - 1e-13)
    shares = [
        *(truth["beast"].count(place) / PEOPLE for place in range(3)),
        *(truth["pets"].count(place) / PEOPLE for place in range(2)),
        sum(truth["weight"]) / PEOPLE,
    ]
    rows = [row for finding in found for row in finding.rows]
    inside = sum(row.low <= share <= row.high for row, share in zip(rows, shares, strict=True))
    assert check_rate(inside, 6, 1.0, name="two hundred respondents in a browser") > 0
    usual = findings(running.survey, running.reports.piles())
    assert all(row.high - row.low < 0.7 for finding in usual[:2] for row in finding.rows)
    assert usual[2].rows[0].high - usual[2].rows[0].low < 2000


def with_known_words(browser, running, words, given, script=None, part=b""):
    """The raw bytes that one respondent sends whose browser draws these words, this part too."""
    context = browser.new_context()
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    context.add_init_script(KNOWN_WORDS % json.dumps(halves))
    page = context.new_page()
    if script is not None:
        page.route(
            "**/survey.js", lambda route: route.fulfill(body=script, content_type="text/javascript")
        )
    running.wire.forget()
    answer(page, running.address, *given)
    deadline = time.monotonic() + PATIENCE / 1000
    while part not in running.wire.sent() and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    sent = running.wire.sent()
    context.close()
    return sent


def body_by_the_library(survey, words, given):
    script = Script(words)
    exact = dict(
        zip(("beast", "pets", "weight"), (given[0], given[1], float(given[2])), strict=True)
    )
    drawn = {q.name: q.randomizer.release(exact[q.name], script) for q in survey.questions}
    return pack(survey, {name: [report] for name, report in drawn.items()})[0].tobytes()


def test_only_the_body_depends_on_the_answers(browser, running):
    words = [system.bits(64) for _ in range(40)]
    size = length(running.survey)
    seen = []
    for given in ((0, 0, "3.25"), (2, 1, "3999.75")):
        sent = with_known_words(browser, running, words, given)
        [(token, body)] = reported(sent, size)
        assert body == body_by_the_library(running.survey, words, given)
        at = sent.index(token.encode())
        place = sent.index(b"\r\n\r\n", at) + 4
        assert sent[place : place + size] == body
        seen.append((token, sorted(requests(sent[:place] + bytes(size) + sent[place + size :]))))
    assert seen[0] == seen[1]


def test_planted_leaks_are_seen(browser, running):
    words = [system.bits(64) for _ in range(40)]
    page = asset("survey.js")
    size = length(running.survey)
    # The answer as the first digit of the token: the tokens differ where they must not.
    source = page.replace(
        "new Uint8Array(16)));", "new Uint8Array(16))).replace(/^./, String(found[0]));"
    )
    assert source != page
    tokens = [
        reported(with_known_words(browser, running, words, (beast, 0, "7"), source), size)[0][0]
        for beast in (0, 2)
    ]
    assert tokens[0] != tokens[1]
    # The answer's label as a header, or in an address: neither is a fixed request.
    label = "document.querySelector('input:checked').parentElement.textContent.trim()"
    header = page.replace(
        "clear();\n    void send(report);", f"void send(report, {label}); clear();"
    )
    header = header.replace("async function send(report)", "async function send(report, seen)")
    header = header.replace('credentials: "omit",\n      cache', "headers: { seen }, cache")
    sent = with_known_words(browser, running, words, (1, 0, "7"), header)
    assert leaks(sent, OPTIONS) == [OPTIONS[1]]
    address = page.replace(
        "clear();\n    void send(report);",
        f"fetch('survey.json?' + btoa({label})); clear(); void send(report);",
    )
    sent = with_known_words(browser, running, words, (1, 0, "7"), address, b"survey.json?")
    assert leaks(sent, OPTIONS) == [OPTIONS[1]]
    with pytest.raises(AssertionError):
        reported(sent, size)


def test_a_report_is_kept_before_it_is_sent_and_sent_again_byte_for_byte(running, page):
    kept_when_sent = []

    def lose(route):
        kept_when_sent.append(page.evaluate("Object.values(localStorage)[0]"))
        route.abort()

    bodies = []
    page.on(
        "request",
        lambda request: (
            bodies.append((request.url, request.post_data_buffer))
            if request.method == "PUT"
            else None
        ),
    )
    page.route("**/reports/*", lose)
    assert answer(page, running.address, 1, 1, "12") == "kept"
    stored = page.evaluate("Object.values(localStorage)[0]")
    assert kept_when_sent == [stored]
    assert len(running.reports) == 0
    page.unroute("**/reports/*")
    page.click("#send")
    page.wait_for_selector("body[data-state=sent]", state="attached")
    for _ in range(2):  # opened again: the same bytes, nothing is drawn anew
        page.goto(running.address)
        assert state(page) == "sent"
    assert page.evaluate("Object.values(localStorage)[0]") == stored
    assert len(bodies) == 4
    assert len(set(bodies)) == 1
    assert bodies[0][1] == bytes.fromhex(json.loads(stored)["body"])
    assert len(running.reports) == 1
    assert "epsilon of 5.5" in page.text_content("#spent")


def test_two_tabs_make_one_report(running, page):
    other = page.context.new_page()
    ready(page, running.address)
    ready(other, running.address)
    page.evaluate(ANSWER, [0, 0, "1"])
    assert state(page) == "sent"
    other.evaluate(ANSWER, [2, 1, "4000"])
    assert state(other) == "sent"
    assert len(running.reports) == 1
    assert len(set(reported(running.wire.sent(), length(running.survey)))) == 1


def test_no_answer_stays_in_the_browser_or_the_page(running, page):
    answer(page, running.address, 1, 1, "1234.5")
    stored = json.loads(page.evaluate("Object.values(localStorage)[0]"))
    assert set(stored) == {"token", "body", "epsilon"}
    assert page.evaluate("document.querySelectorAll('input:checked').length") == 0
    assert page.evaluate("document.querySelector('#question-weight input').value") == ""
    assert page.context.cookies() == []
    assert page.url == running.address


def test_what_is_not_kept_is_not_sent(browser, running):
    context = browser.new_context()
    context.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full'); }")
    page = context.new_page()
    assert answer(page, running.address, 0, 1, "5") == "not-kept"
    assert "nothing was sent" in page.text_content("#says")
    context.close()
    assert reported(running.wire.sent(), length(running.survey)) == []


def test_a_missing_answer_or_one_that_is_no_number_is_asked_for(running, page):
    ready(page, running.address)
    for weight in ("", "heavy"):
        page.evaluate(ANSWER, [0, 1, weight])
        assert "every question" in page.text_content("#says")
    assert page.evaluate("localStorage.length") == 0
    page.evaluate(ANSWER, [0, 1, "9"])
    assert state(page) == "sent"


def test_without_scripts_nothing_can_be_sent(browser, running):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(running.address)
    assert "needs JavaScript" in page.text_content("noscript")
    page.check("#question-beast input[value='1']")
    page.fill("#question-weight input", "77")
    page.keyboard.press("Enter")
    assert page.is_disabled("#send")
    context.close()
    assert reported(running.wire.sent(), length(running.survey)) == []


def test_a_refusal_is_final(running, page):
    ready(page, running.address)
    fingerprint = running.survey.fingerprint
    stored = json.dumps({"token": "0" * 32, "body": "ff" * length(running.survey), "epsilon": 1})
    page.evaluate(
        "([key, text]) => localStorage.setItem(key, text)", [f"discreet/{fingerprint}/1", stored]
    )
    page.goto(running.address)
    assert state(page) == "refused"
    assert len(running.reports) == 0


def test_the_page_reaches_no_other_place(running, page):
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    answer(page, running.address, 0, 0, "1")
    assert [url for url in seen if not url.startswith((running.address, "data:"))] == []
    blocked = page.evaluate(
        "() => fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.name)"
    )
    assert blocked == "TypeError"
    assert np.unique(seen).size >= 5


ROUNDS = SURVEY.replace("title", "rounds = 3\ntitle", 1)
THREE = [(1, 1, "12"), (2, 0, "4000"), (0, 1, "12.1")]  # 12.1 is 12 on the lattice
RETURNS = [(0, 1, 0), (2, 1, 0), (0, 0, 0), (0, 0, 1)]  # histories of places in THREE


def over_rounds(browser, folder, history, invitation=None):
    """Three rounds on one origin, the wire leading to each round's endpoint in turn.

    What is sent in every round (a token, a body), what the library draws from the same words, and
    the words of the page on what was spent.
    """
    folder.mkdir()
    survey = read_survey_text(ROUNDS)
    invited = None if invitation is None else frozenset([invitation])
    running = RunningSurvey(folder)
    context = browser.new_context()
    page = context.new_page()
    sent, expected, spent = [], [], []
    for number, place in enumerate(history, start=1):
        given = THREE[place]
        words = [system.bits(64) for _ in range(80)]
        halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
        context.add_init_script(KNOWN_WORDS % json.dumps(halves))
        reports = Reports(folder / f"{number}.db", survey, invited=invited, round_number=number)
        endpoint = Endpoint(reports, port=0)
        running.wire.lead_to(int(endpoint.address.rstrip("/").split(":")[-1]))
        running.wire.forget()
        address = running.address + ("" if invitation is None else f"#{invitation}")
        assert answer(page, address, *given) == "sent"
        sent += reported(running.wire.sent(), length(survey))
        assert leaks(running.wire.sent(), OPTIONS) == []
        assert len(reports) == 1
        script = Script(words)
        drawn = {
            question.name: [question.randomizer.release(exact, script)]
            for question, exact in zip(
                survey.questions, (given[0], given[1], float(given[2])), strict=True
            )
        }
        expected.append(pack(survey, drawn)[0].tobytes())
        spent.append(re.search(r"epsilon of (\S+)\.$", page.text_content("#spent"))[1])
        assert not any("drawn" in kept for kept in page.evaluate("Object.values(localStorage)"))
        page.goto("about:blank")
        endpoint.close()
        reports.close()
    context.close()
    running.close()
    return sent, expected, spent


def test_every_round_is_drawn_afresh_whatever_was_answered_before(browser, tmp_path):
    """So the law of all reports is the product of the rounds', for every history."""
    for number, history in enumerate(RETURNS):
        sent, expected, spent = over_rounds(browser, tmp_path / f"{number}", history)
        assert [body for _, body in sent] == expected
        assert len({token for token, _ in sent}) == 3
        assert spent == ["5.5", "11", "16.5"]


def test_an_invited_person_has_another_token_in_every_round(browser, tmp_path):
    [mine] = invite(1)
    sent, expected, _ = over_rounds(browser, tmp_path / "mine", (0, 1, 0), mine)
    fingerprint = read_survey_text(ROUNDS).fingerprint
    tokens = [
        round_token(mine, fingerprint=fingerprint, round_number=number) for number in (1, 2, 3)
    ]
    assert [token for token, _ in sent] == tokens
    assert len({mine, *tokens}) == 4
    assert [body for _, body in sent] == expected


def test_answers_that_an_earlier_version_kept_are_deleted(running, page):
    ready(page, running.address)
    memo = {"epsilon": 3.5, "drawn": {"beast": {"1": [2]}, "pets": {"1": [0, 1]}}}
    name = f"discreet/{'0' * 32}/answers"
    for key in (name, f"{name}/{'a' * 32}"):
        page.evaluate("([key, text]) => localStorage.setItem(key, text)", [key, json.dumps(memo)])
    ready(page, running.address)
    kept = json.loads(page.evaluate("(key) => localStorage.getItem(key)", name))
    assert kept == {"epsilon": 3.5, "drawn": {}}
    said = page.text_content("#spent")
    assert "a total epsilon of 7." in said
    assert "which of those answers were the same is not protected" in said


LONG = """
[survey]
title = "Long lists"
[questions.town]
type = "choice"
text = "Which town?"
options = %s
epsilon = 1.0
[questions.village]
type = "choice"
text = "Which village?"
options = %s
epsilon = 1.0
"""


def test_long_lists_are_reported_as_the_library_would(browser, tmp_path):
    towns, villages = ([f"place {number}" for number in range(count)] for count in (40, 300))
    running = RunningSurvey(tmp_path, LONG % (json.dumps(towns), json.dumps(villages)))
    kinds = [type(question.randomizer).__name__ for question in running.survey.questions]
    assert kinds == ["SubsetSelection", "LocalHashing"]
    words = [system.bits(64) for _ in range(80)]
    script = Script(words)
    drawn = {
        name: [running.survey.question(name).randomizer.release(exact, script)]
        for name, exact in (("town", 17), ("village", 299))
    }
    context = browser.new_context()
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    context.add_init_script(KNOWN_WORDS % json.dumps(halves))
    page = context.new_page()
    ready(page, running.address)
    page.click("#send")
    assert "every question" in page.text_content("#says")
    page.select_option("#question-town select", "17")
    page.select_option("#question-village select", label="place 299")
    page.click("#send")
    assert state(page) == "sent"
    [(_, body)] = reported(running.wire.sent(), length(running.survey))
    assert body == pack(running.survey, drawn)[0].tobytes()
    assert leaks(running.wire.sent(), ["place 17", "place 299"]) == []
    context.close()
    running.close()


def test_only_an_invitation_opens_the_survey(page, tmp_path):
    mine, other = invite(2)
    running = RunningSurvey(tmp_path, invited=frozenset([mine]))
    page.goto(running.address)
    assert state(page) == "uninvited"
    assert page.is_disabled("#send")
    page.goto("about:blank")
    assert answer(page, f"{running.address}#{mine}", 0, 1, "5") == "sent"
    page.goto("about:blank")
    page.goto(f"{running.address}#{mine}")  # again: the same report
    assert state(page) == "sent"
    page.goto("about:blank")
    assert answer(page, f"{running.address}#{other}", 2, 0, "6") == "refused"
    found = reported(running.wire.sent(), length(running.survey))
    assert sorted(token for token, _ in found) == sorted([mine, mine, other])
    assert len(set(found)) == 2
    assert len(running.reports) == 1
    running.close()
