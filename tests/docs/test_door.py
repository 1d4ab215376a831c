"""One door: packages above `curator` use public methods of sessions and curators, and one function
holds exact rows. Read from the source, so that a new way around the door is noticed when it is
written.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "discreet"
BELOW_SESSIONS = ("curator", "engines")  # Spark has sessions of its own
HOLDERS = ("session", "curator")
PARTS = ("_access", "_draft", "_planner", "_vault", "_warehouse")

READER = "curator/access.py:_read_and_release"
"""The only function that may hold exact rows on their way to a release."""

REGISTRATION = {
    "curator/tables/admission.py:advise_seconds",
    "curator/tables/admission.py:check_in_place",
    "curator/tables/admission.py:check_missing",
    "curator/tables/intake.py:_count_faults",
    "curator/tables/intake.py:_places",
    "curator/tables/warehouse.py:Warehouse.inspect",
}
"""Counts of a source for its custodian alone, who adds, refreshes or inspects a table."""


PREPAID = [
    "release/synth/service.py",
    "streams/counter/counter.py",
    "streams/holdout/holdout.py",
    "streams/joint/joint.py",
    "streams/monitor/monitor.py",
    "streams/synopsis/synopsis.py",
]
"""The services whose runs an earlier charge of their own has paid for."""


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _attributes(tree: ast.AST) -> Iterator[tuple[int, ast.expr, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.value, node.attr
        elif isinstance(node, ast.Call) and _last_name(node.func) in ("getattr", "attrgetter"):
            for word in node.args:
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    yield node.lineno, node.args[0], word.value


def private_reaches(source: str) -> list[str]:
    """Where a module reaches into the private parts of a session or a curator."""
    found = []
    for line, holder, name in _attributes(ast.parse(source)):
        if not name.startswith("_") or name.startswith("__"):
            continue
        own = isinstance(holder, ast.Name) and holder.id == "self"
        held = _last_name(holder).strip("_").endswith(HOLDERS) or name in PARTS
        if held and not own:
            found.append(f"{line}: {ast.unparse(holder)}.{name}")
    return found


def _asks_for_rows(node: ast.AST) -> bool:
    """Whether it is a call of some `rows` with a statement, or an engine's method itself."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        asked = node.args or any(each.arg == "sql" for each in node.keywords)
        own = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
        # An engine's own methods are elsewhere.
        return node.func.attr in ("rows", "rows_together") and bool(asked) and not own
    if isinstance(node, ast.Call) and _last_name(node.func) in ("getattr", "attrgetter"):
        return any(isinstance(word, ast.Constant) and word.value == "rows" for word in node.args)
    if isinstance(node, ast.Attribute) and node.attr in ("rows", "rows_together"):
        return _last_name(node.value).strip("_").endswith("engine")
    return False


def readers(source: str) -> set[str]:
    """The functions that ask an engine for rows, or hand on its method that does."""
    found = set()

    def visit(node: ast.AST, inside: tuple[str, ...]) -> None:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            inside = (*inside, node.name)
        if _asks_for_rows(node):
            found.add(".".join(inside))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(source), ())
    return found


def _modules(*without: str) -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.split("/")[0] not in without:
            yield name, path.read_text()


def test_nothing_outside_the_curator_reaches_into_a_session():
    modules = _modules(*BELOW_SESSIONS)
    assert [f"{name}:{each}" for name, text in modules for each in private_reaches(text)] == []


def test_one_function_holds_exact_rows():
    found = {f"{name}:{each}" for name, text in _modules("engines") for each in readers(text)}
    assert found == {READER, *REGISTRATION}


def test_measurements_without_a_charge_are_those_that_were_paid_ahead():
    free = [name for name, text in _modules() if "cost=None" in text]
    assert free == PREPAID


def test_only_the_door_calls_the_function_that_holds_exact_rows():
    words = (READER.split(":")[1], "release_rows")
    users = [name for name, text in _modules() if any(f"{word}(" in text for word in words)]
    assert users == ["curator/access.py"]


@pytest.mark.parametrize(
    "fault",
    [
        "session._warehouse.tables()",
        "self._session._vault.ledger",
        "frame.session._planner",
        "curator.session(name)._access.answer(plan)",
        "server.curator._grid",
        "made._draft(sql, None)",
        'getattr(session, "_vault")',
        'operator.attrgetter("_vault")(session)',
    ],
)
def test_a_planted_reach_is_noticed(fault):
    assert private_reaches(f"def serve(session):\n    return {fault}\n")


@pytest.mark.parametrize(
    "innocent", ["session.prepare(sql)", "self._vault", "session.__class__", "plan._replace(a=1)"]
)
def test_what_is_no_reach_is_let_through(innocent):
    assert private_reaches(f"def serve(session):\n    return {innocent}\n") == []


@pytest.mark.parametrize(
    "fault",
    [
        "engine.rows(sql)",
        "engine.rows_together(statements)",
        "warehouse.engine(names).rows(plan.sql)",
        "list(map(lane.engine.rows, statements))",
        "session.door.rows(sql)",
        "held.rows(sql=text)",
        "held.rows(sql, limit)",
        'getattr(held, "rows")(sql)',
    ],
)
def test_a_planted_second_reader_is_noticed(fault):
    assert readers(f"class Service:\n    def check(self):\n        return {fault}\n") == {
        "Service.check"
    }
