"""A text is read once, for the analyst who wrote it and the tables as they are; and the catalogue
is looked at once for a question.
"""

import pytest

from discreet.curator.runs import questions as module
from discreet.curator.runs.questions import Questions
from discreet.errors import UnsafeQuery
from discreet.ledger.catalogue import Catalogue
from discreet.schema import Column, Table
from support.vaults import copied_curator, people, write_schema

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def read(monkeypatch):
    """The texts that were really read."""
    texts, read = [], module.read_statement
    monkeypatch.setattr(
        module, "read_statement", lambda text, known: texts.append(text) or read(text, known)
    )
    return texts


def visits(upper=110):
    return Table("visits", columns=(Column("age", "integer", upper=upper),))


def test_a_text_is_read_once_for_each_analyst(read):
    questions, tables = Questions(), {"visits": visits()}
    first = questions.read(COUNT, tables, analyst="ana")
    assert questions.read(COUNT, dict(tables), analyst="ana") is first
    assert read == [COUNT]
    assert questions.read(COUNT, tables, analyst="bob") == first
    assert read == [COUNT, COUNT]


@pytest.mark.parametrize(
    "now",
    [
        {"visits": visits(20)},
        {"visits": visits()},  # equal, and yet another registration
        {"visits": visits(), "others": Table("others")},
    ],
)
def test_other_tables_are_another_question(read, now):
    questions = Questions()
    questions.read(COUNT, {"visits": visits()}, analyst="ana")
    questions.read(COUNT, now, analyst="ana")
    assert len(read) == 2


def test_a_refusal_is_found_again_each_time(read):
    questions = Questions()
    for _ in range(2):
        with pytest.raises(UnsafeQuery):
            questions.read("SELECT age FROM visits", {"visits": visits()}, analyst="ana")
    assert len(read) == 2


def test_few_and_short_texts_are_kept(read, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    questions, tables = Questions(), {"visits": visits()}
    texts = [f"{COUNT} WHERE age < {n}" for n in range(3)]
    for text in (*texts, texts[2], texts[0]):
        questions.read(text, tables, analyst="ana")
    assert read == [*texts, texts[0]]
    long = COUNT + " " * module._LONGEST
    for _ in range(2):
        questions.read(long, tables, analyst="ana")
    assert read[-2:] == [long, long]


def test_a_changed_schema_is_read_anew(tmp_path):
    sql = "SELECT SUM(age) AS s FROM visits"
    with copied_curator(tmp_path / "here", people()) as curator:
        curator.grant("ana", epsilon=5)
        session = curator.session("ana")
        before = session.explain(sql, epsilon=0.5)
        file = write_schema(tmp_path / "here")
        file.write_text(file.read_text().replace("upper = 110", "upper = 1100"))
        curator.add(file)
        after = session.explain(sql, epsilon=0.5)
        assert after.noises[0].scale == 10 * before.noises[0].scale
        assert not session.sql(sql, epsilon=0.5).free


def test_a_question_looks_at_the_catalogue_once_until_it_runs(tmp_path, monkeypatch):
    with copied_curator(tmp_path / "here", people()) as curator:
        curator.grant("ana", epsilon=5)
        session = curator.session("ana")
        looks = []
        for name in ("table", "tables"):
            original = getattr(Catalogue, name)

            def look(self, *names, original=original):
                looks.append(names)
                return original(self, *names)

            monkeypatch.setattr(Catalogue, name, look)
        session.explain(COUNT, epsilon=0.5)
        assert looks == [()]
        assert list(curator.tables) == ["visits"]  # and once more, since the glance is over
        assert looks == [(), ()]
