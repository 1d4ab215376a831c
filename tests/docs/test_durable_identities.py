"""Nothing durable hangs on how Python prints a value or what a class is called: where keys, names,
states and entries are made, `repr` and the names of classes stand in refusals only, and `asdict`,
which writes fields as they are called today, nowhere.
"""

import ast
from pathlib import Path

from discreet import errors

SOURCE = Path(__file__).resolve().parents[2] / "src" / "discreet"
MAKERS = (
    "curator",
    "encoding.py",
    "estimates",
    "ledger",
    "local/diary.py",
    "plan",
    "query/identity.py",
    "release",
    "schema/column.py",
    "schema/format.py",
    "schema/table.py",
    "server/accounts.py",
    "server/api/publications.py",
    "streams",
    "survey/definition.py",
    "survey/invitations.py",
    "survey/recipe.py",
    "survey/wire.py",
)
ERRORS = {"Broken"} | {
    name
    for name, each in vars(errors).items()
    if isinstance(each, type) and issubclass(each, Exception)
}
NAMES = {"__module__", "__name__", "__qualname__"}
# Functions whose texts are read by people and kept by nobody, and the two that write down what
# somebody calls a function of his own.
ALLOWED = {
    "curator/tables/intake.py:refuse_unreadable": "a message",
    "estimates/blocks.py:sample_and_aggregate": "the name of the custodian's own function",
    "ledger/account.py:_name_limit": "a refusal",
    "ledger/ledger.py:_refusal_of_amount": "a refusal",
    "ledger/store/file.py:_refuse": "a refusal",
    "ledger/store/server.py:refuse": "a refusal",
    "ledger/verification.py:check_accounts": "a refusal",
    "plan/sql/preparation/statement.py:source_column": "a refusal",
    "release/synth/stages.py:__post_init__": "a refusal",
    "release/synth/stages.py:_name_stage": "the name of the analyst's own function",
    "schema/column.py:nearest": "a hint in a refusal",
    "server/accounts.py:remove": "a refusal",
}


def _prints(node):
    """Whether a value is printed here, a class or function named, or fields as they are called."""
    match node:
        case ast.Call(func=ast.Name(id="repr" | "ascii")):
            return True
        case ast.keyword(arg="key", value=ast.Name(id="repr" | "ascii")):
            return True
        case ast.FormattedValue(conversion=97 | 114):
            return True
        case ast.alias(name="asdict") | ast.Attribute(attr="asdict"):
            return True
        case ast.Attribute(attr=name) | ast.Constant(value=name):
            return isinstance(name, str) and name in NAMES
    return False


def _refuses(node):
    """Whether what stands in here is told as an error, or is how a value shows itself."""
    match node:
        case ast.Raise() | ast.FunctionDef(name="__repr__"):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in ERRORS
    return False


def _found(path):
    place = path.relative_to(SOURCE).as_posix()

    def visit(node, function):
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if _refuses(node):
            return
        if _prints(node):
            where = f"{place}:{function}"
            used.add(where)
            if where not in ALLOWED:
                found.append(f"{place}:{node.lineno} in {function}")
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    found, used = [], set()
    visit(ast.parse(path.read_text()), "")
    return found, used


def test_no_identity_hangs_on_how_python_prints():
    paths = [
        path
        for name in MAKERS
        for path in (
            [SOURCE / name] if name.endswith(".py") else sorted((SOURCE / name).rglob("*.py"))
        )
    ]
    results = [_found(path) for path in paths]
    found = [each for found, _ in results for each in found]
    assert not found, found
    assert set(ALLOWED) <= set().union(*(used for _, used in results))
