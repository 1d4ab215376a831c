"""Docstrings teach: a sentence each, `Privacy:` where the structure asks, examples that can fail.

Each lint is one test that lists all failures, and has a planted fault beside it. Who needs a
`Privacy:` line is decided from signatures alone, never from what a docstring says.
"""

import ast
import doctest
import re
from collections.abc import Iterable, Iterator

import pytest

from support.surface import (
    ROOT,
    Definition,
    Source,
    definitions,
    exports,
    is_public,
    module_files,
    public_sources,
    sources,
    tracked_files,
)

KEY = r"[A-Z][A-Za-z]*\d\d[a-z]?"
REFERENCES = ROOT / "docs" / "references.md"

LOSSES = {"Approximate", "BoundedRange", "Loss", "Price", "Pure", "ZCDP"}
SECRETS = {"BitSource", "Exact", "Session"}
PRIVACY_PARAMETERS = {"epsilon", "rho", "sigma", "sigma_squared"}
# Measured or shown, not calibrated: what comes back for a privacy parameter and proves nothing.
MEASURED = {
    *("Any", "Iterator", "NDArray", "None", "bool", "bool_", "bytes", "dict", "float", "float64"),
    *("int", "int64", "list", "np", "str", "tuple", "Outcome", "Study", "Table"),
}
CANNOT_FAIL = (
    *("__name__", "__qualname__", "__doc__", "__slots__", "fget", "callable(", "hasattr("),
    *("isinstance(",),
)


def words(annotation: ast.expr | None) -> set[str]:
    """The names in an annotation; none in one of a function, which hands nothing over."""
    found = set(re.findall(r"[A-Za-z_]\w*", ast.unparse(annotation))) if annotation else set()
    return set() if "Callable" in found else found


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    rest = [one for one in (given.vararg, given.kwarg) if one]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def takes_secrets(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Exact data, random bits or a session among the parameters (a count of bits is no source)."""
    return any(
        words(one.annotation) & SECRETS
        or (
            re.fullmatch(r"exact(_\w+)?|bits|session", one.arg) and words(one.annotation) != {"int"}
        )
        for one in parameters(node)
    )


def returns_a_loss(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(words(node.returns) & LOSSES)


def calibrates(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A privacy parameter goes in, and a proved number or an object of ours comes out."""
    given = {one.arg for one in parameters(node)}
    return bool(given & PRIVACY_PARAMETERS) and not words(node.returns) <= MEASURED


def asks_for_privacy(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a name takes exact data, bits or a session, or returns a loss or a calibration.

    A class does if its constructor or a public member does, if it holds a session or bits, if it
    has a field `loss` or `cost`, or if it is itself a loss, a session or a source of bits.
    """
    if not isinstance(node, ast.ClassDef):
        return takes_secrets(node) or returns_a_loss(node) or calibrates(node)
    members = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return (
        node.name in LOSSES | SECRETS
        or any(asks_for_privacy(one) for one in members if is_public(one.name))
        or any(takes_secrets(one) for one in members if one.name == "__init__")
        or any(words(one.annotation) & SECRETS for one in fields)
        or any(
            words(one.annotation) & LOSSES and ast.unparse(one.target) in ("loss", "cost")
            for one in fields
        )
    )


def states_privacy(docstring: str) -> bool:
    return re.search(r"^\s*Privacy:", docstring, flags=re.MULTILINE) is not None


def without_a_sentence(modules: Iterable[Source]) -> Iterator[str]:
    for definition in public_definitions(modules):
        sentence = re.split(r"\n\n|Privacy:|>>>", definition.docstring)[0].strip()
        if len(sentence) < 10 or sentence[-1] not in ".:)":
            yield definition.where


def public_definitions(modules: Iterable[Source]) -> Iterator[Definition]:
    for source in modules:
        if is_public(source.name):
            yield from (one for one in definitions(source) if is_public(one.where))


def without_privacy(modules: Iterable[Source]) -> Iterator[str]:
    for definition in public_definitions(modules):
        said = re.search(r"^\s*Privacy: \S.{5,}", definition.docstring, flags=re.MULTILINE)
        if asks_for_privacy(definition.node) and not said:
            yield definition.where


def with_needless_privacy(modules: Iterable[Source]) -> Iterator[str]:
    """Private names too: what the structure does not ask for is said in a plain sentence."""
    for source in modules:
        for definition in definitions(source):
            if states_privacy(definition.docstring) and not asks_for_privacy(definition.node):
                yield definition.where


def weak_examples(modules: Iterable[Source]) -> Iterator[str]:
    """Examples that a wrong implementation would pass."""
    for source in modules:
        for definition in definitions(source):
            body = definition.node.body[0]
            if not definition.docstring or not isinstance(body, ast.Expr):
                continue
            examples = doctest.DocTestParser().get_examples(ast.literal_eval(body.value))
            if examples and not any(one.want for one in examples):
                yield f"{definition.where}: no expected output"
            for one in examples:
                weak = [token for token in CANNOT_FAIL if token in one.source]
                if re.fullmatch(r".* is not None\s*", one.source):
                    weak.append("is not None")
                yield from (f"{definition.where}: {token}" for token in weak)


def undescribed_constants(modules: Iterable[Source]) -> Iterator[str]:
    """Public constants without a string below them; an annotated option carries its own help."""
    for source in modules:
        body = source.tree.body
        for node, after in zip(body, [*body[1:], None], strict=True):
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
            named = [one.id for one in targets if isinstance(one, ast.Name)]
            described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if not described and not ast.unparse(node).partition("= ")[2].startswith("Annotated["):
                public = set(named) & set(exports(source) or [])
                yield from (f"{source.name}.{one}" for one in sorted(public))


def unknown_citations(modules: Iterable[Source], known: set[str]) -> Iterator[str]:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for source in modules:
        for node in ast.walk(source.tree):
            text = ast.get_docstring(node) if isinstance(node, kinds) else None
            yield from (f"{source.name}: {key}" for key in cited_keys(text or "") - known)


def listed_keys() -> list[str]:
    return re.findall(rf"^- \*\*({KEY})\*\* \S", REFERENCES.read_text(), flags=re.MULTILINE)


def cited_keys(text: str) -> set[str]:
    brackets = re.findall(r"\[([^\[\]]*)\]", text)
    return {key for inside in brackets for key in re.findall(rf"\b{KEY}\b", inside)}


@pytest.mark.parametrize(
    "lint", [without_a_sentence, without_privacy, with_needless_privacy, weak_examples]
)
def test_docstrings(lint):
    faults = list(lint(sources()))
    assert not faults, "\n".join(faults)


def planted(signature: str, *lines: str, indent: str = "") -> list[Source]:
    """A module with one definition and its docstring."""
    inside = indent + "    "
    text = "\n".join([signature, f'{inside}"""{lines[0]}', *(inside + one for one in lines[1:])])
    return [Source("discreet.planted", f'{text}\n{inside}"""\n')]


SAID = ("Does one thing.", "", "Privacy: epsilon-DP under add/remove [DMNS06, Prop. 3.3].")


@pytest.mark.parametrize("lines", [("",), ("Short.",), ("Privacy: of one.",), ("No full stop",)])
def test_a_missing_sentence_is_found(lines):
    assert list(without_a_sentence(planted("def work():", *lines))) == ["discreet.planted.work"]
    assert not list(without_a_sentence(planted("def _work():", *lines)))


@pytest.mark.parametrize(
    "signature",
    [
        "def work(exact):",
        "def work(exact_codes: Integers):",
        "def work(bits=system):",
        "def work(source: BitSource | None):",
        "def work(session):",
        "def work(self, asked: Session) -> int:",
        "def work(self) -> Pure | ZCDP:",
        "def work(*, epsilon: Number) -> Fraction:",
        "def work(cls, *, rho: Number) -> 'Design':",
        "class Pure:",
        "class Work:\n    loss: ZCDP",
        "class Work:\n    _session: Session",
        "class Work:\n    def __init__(self, bits): ...",
        "class Work:\n    def loss(self) -> Pure: ...",
        "class Work:\n    def release(self, exact): ...",
    ],
)
def test_a_missing_privacy_line_is_found(signature):
    head, _, body = signature.partition("\n")
    modules = [Source("discreet.planted", f'{head}\n    """Does one thing."""\n{body}')]
    (where, *_) = without_privacy(modules)
    assert where.startswith("discreet.planted.")
    said = "\n".join(["    " + one for one in SAID]).strip()
    modules = [Source("discreet.planted", f'{head}\n    """{said}"""\n{body}')]
    assert f"discreet.planted.{re.split(r'[ (:]', head)[1]}" not in set(without_privacy(modules))
    assert not list(with_needless_privacy(modules))


@pytest.mark.parametrize(
    "signature",
    [
        "def work(rows, bits: int):",
        "def work(make: Callable[[BitSource], int]) -> None:",
        "def _work(rows) -> float:",
        "def work(*, epsilon: Number) -> float:",
        "def check(*, epsilon: Number) -> None:",
        "class Work:\n    def _draw(self, bits): ...",
    ],
)
def test_a_needless_privacy_line_is_found(signature):
    head, _, body = signature.partition("\n")
    said = "\n".join(["    " + one for one in SAID]).strip()
    modules = [Source("discreet.planted", f'{head}\n    """{said}"""\n{body}')]
    assert len(list(with_needless_privacy(modules))) == 1
    assert not list(without_privacy(modules))


@pytest.mark.parametrize(
    "example",
    [
        (">>> work()",),
        (">>> work.__name__", "'work'"),
        (">>> Work.size.fget(Work())", "3"),
        (">>> callable(work)", "True"),
        (">>> isinstance(work(), int)", "True"),
        (">>> hasattr(work, 'size')", "True"),
        (">>> work() is not None", "True"),
        (">>> Work.__slots__", "('size',)"),
    ],
)
def test_an_example_that_cannot_fail_is_found(example):
    assert len(list(weak_examples(planted("def _work():", "Does one thing.", "", *example)))) == 1


def test_an_example_that_can_fail_is_left_alone():
    example = (">>> size = 3", ">>> work(size)", "4")
    assert not list(weak_examples(planted("def work(size):", "Does one thing.", "", *example)))


def test_public_constants_are_described():
    faults = list(undescribed_constants(public_sources()))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("text", ["SIZE = 3", "SIZE: int = 3\nOTHER = 4"])
def test_a_constant_without_a_description_is_found(text):
    text = f"__all__ = ['OTHER', 'SIZE']\n{text}"
    assert "discreet.planted.SIZE" in undescribed_constants([Source("discreet.planted", text)])
    described = [Source("discreet.planted", f'{text}\n"""How many."""')]
    assert len(list(undescribed_constants(described))) == text.count("\n") - 1


def test_references_are_sorted_and_unique():
    keys = listed_keys()
    assert len(keys) > 5
    assert keys == sorted(set(keys), key=str.casefold)


def test_citations_in_docstrings_resolve():
    assert list(unknown_citations(sources(), set(listed_keys()))) == []


def test_an_unknown_citation_is_found():
    module = planted("class Work:", "Follows [DMNS06, Prop. 3.3] and [NOBODY99, Sec. 1].")
    assert list(unknown_citations(module, {"DMNS06"})) == ["discreet.planted: NOBODY99"]


def test_citations_in_documents_resolve():
    known = set(listed_keys())
    unknown = {
        path.name: cited_keys(path.read_text()) - known
        for path in tracked_files()
        if path.suffix == ".md"
    }
    assert {name: keys for name, keys in unknown.items() if keys} == {}


def test_every_reference_is_used():
    used = "\n".join(path.read_text() for path in module_files().values())
    used += "\n".join(path.read_text() for path in (ROOT / "docs" / "proofs").glob("*.md"))
    unused = [key for key in listed_keys() if not re.search(rf"\b{key}\b", used)]
    assert unused == []
