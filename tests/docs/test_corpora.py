"""The SQL in tests/corpora is answered or refused on purpose; docs/sql.md holds how much of it."""

from collections import Counter

from discreet.errors import UnsafeQuery
from support.corpora import (
    FOLDER,
    Reply,
    Statement,
    ask_all,
    counts,
    general,
    read_corpora,
    read_corpus,
    report,
)

FORBIDDEN = Statement("x", 3, "rows", "rows of people", "SELECT * FROM visits")
ALLOWED = Statement("x", 7, "count", "", "SELECT COUNT(*) FROM visits")


def test_nothing_forbidden_is_taken_and_every_error_is_meant():
    assert [reply.fault for replies in ask_all().values() for reply in replies if reply.fault] == []


def test_a_forbidden_answer_and_an_internal_error_are_noticed():
    assert Reply(FORBIDDEN, None).fault == "x.sql:3 is forbidden and taken"
    for statement in (FORBIDDEN, ALLOWED):
        assert Reply(statement, KeyError("age")).fault.endswith("raises KeyError: 'age'")
        assert Reply(statement, UnsafeQuery("No.")).fault == ""
    assert Reply(ALLOWED, None).fault == ""


def test_every_line_of_a_corpus_belongs_to_a_statement():
    faults = []
    for path in sorted(FOLDER.iterdir()):
        text, statements = path.read_text(), read_corpora()[path.stem]
        marks = Counter(line[:7] for line in text.splitlines() if line.startswith("-- "))
        forbidden = sum(bool(each.forbidden) for each in statements)
        faults += [] if text.startswith("-- kind: ") else [f"{path.name} begins with no kind"]
        faults += [] if marks["-- forb"] == forbidden else [f"{path.name}: a mark without a kind"]
        faults += [f"{path.name}:{each.line} is empty" for each in statements if not each.sql]
    assert faults == []


def test_corpora_are_of_a_size_and_repeat_nothing():
    corpora = read_corpora()
    assert len(corpora) > 10
    assert [name for name, statements in corpora.items() if len(statements) < 25] == []
    kinds = Counter((each.corpus, each.kind) for corpus in corpora.values() for each in corpus)
    assert [key for key, times in kinds.items() if times > 1] == []
    for corpus in corpora.values():
        texts = Counter(" ".join(each.sql.split()) for each in corpus)
        assert [text for text, times in texts.items() if times > 1] == []


def test_statements_are_read_with_their_comments_and_lines():
    text = "-- kind: one\n-- tool: 7\nSELECT 1\n\n-- kind: two\n-- forbidden: why\nSELECT\n  2\n"
    one, two = read_corpus("x", text)
    assert (one.line, one.forbidden, one.sql) == (1, "", "-- tool: 7\nSELECT 1")
    assert (two.line, two.forbidden, two.sql) == (5, "why", "SELECT\n  2")


def test_counts_leave_the_forbidden_ones_out():
    refused = UnsafeQuery("No.")
    replies = [Reply(FORBIDDEN, refused), Reply(ALLOWED, refused), Reply(ALLOWED, None)]
    assert counts(replies) == (3, 1, 1)
    assert counts([Reply(FORBIDDEN, None)]) == (1, 1, 0)


def test_the_report_lists_what_is_refused_and_counts_alike_reasons():
    replies = [reply for reply in ask_all()["jooq"] if not reply.statement.forbidden]
    refused = [reply for reply in replies if reply.refusal is not None]
    listed = report(["jooq"], reasons=False)
    assert len(listed) == len(refused)
    assert all(reply.reason in line for reply, line in zip(refused, listed, strict=True))
    tallied = report(["jooq"], reasons=True)
    assert sum(int(line.split()[0]) for line in tallied) == len(refused)
    assert general("OVER (line 2) is no. A way.") == general("over (line 1, column 3) is no. Else.")
