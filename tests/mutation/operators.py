"""Small faults in Python source: every comparison, sum, constant, check that could be wrong by one
step. Each mutant is one changed expression; texts, annotations and messages of errors are left
alone, because no test has to notice them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}
_ANNOTATIONS = ("annotation", "returns", "decorator_list", "type_params")


@dataclass(frozen=True)
class Mutant:
    """One changed expression of one file."""

    file: str
    function: str
    line: int
    before: str
    after: str
    start: int  # bytes of the source
    end: int

    def apply(self, source: str) -> str:
        """The source with this fault in it."""
        data = source.encode()
        return (data[: self.start] + f"({self.after})".encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before}  ->  {self.after}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a source text."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for function, node, changed in _changes(ast.parse(source), "module"):
        after = ast.unparse(changed)
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node)
        found.append(Mutant(file, function, node.lineno, before, after, start, end))
    return found


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    if isinstance(node, ast.Raise | ast.JoinedStr) or _is_export(node) or _is_assertion(node):
        return  # what a message says
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    if isinstance(node, ast.If) and all(isinstance(each, ast.Raise) for each in node.body):
        yield function, node.test, ast.Constant(False)
    if isinstance(node, ast.expr):
        for changed in _changed(node):
            yield function, node, changed
    for name, value in ast.iter_fields(node):
        if name in _ANNOTATIONS:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child, function)


def _is_export(node: ast.AST) -> bool:
    """Whether this is `__all__ = ...`, or code for type checkers alone."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets)


def _is_assertion(node: ast.AST) -> bool:
    """Whether this is the `strict` of a zip, which no correct program meets."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, [first, *others], rights) if type(first) in _COMPARISONS:
            yield ast.Compare(left, [_COMPARISONS[type(first)](), *others], rights)
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            if not _is_type(left) and not _is_type(right):
                yield ast.BinOp(left, _ARITHMETIC[type(operator)](), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in _CALLS:
            yield ast.Call(ast.Name(_CALLS[name]), arguments, keywords)
        case ast.Call(ast.Attribute(owner, name), arguments, keywords) if name in _CALLS:
            yield ast.Call(ast.Attribute(owner, _CALLS[name]), arguments, keywords)


def _is_type(node: ast.expr) -> bool:
    """Whether this looks like a part of `int | None`."""
    if isinstance(node, ast.BinOp):
        return _is_type(node.left) or _is_type(node.right)
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return _is_type(node.value)
    return isinstance(node, ast.Name) and (
        node.id[:1].isupper() or node.id in {"int", "str", "float", "bool", "bytes", "tuple"}
    )
