"""Mutants of a module: the same source with one small fault, of the kinds that people make.

A mutant replaces one expression, or deletes one statement. Docstrings, annotations, decorators, patterns, the text of
errors, f-strings and `strict=` are left alone: what they change is no result.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

_COMPARISONS: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
_OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = [("min", "max"), ("any", "all"), ("argmin", "argmax"), ("floor", "ceil"), ("minimum", "maximum")]
_NAMES = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}
_DELETED = ast.AugAssign | ast.Raise | ast.Continue | ast.Break
_LEFT_ALONE = {"annotation", "returns", "decorator_list", "pattern", "type_params", "bases"}
_NUMBERS = {"int", "float", "Fraction"}


@dataclass(frozen=True)
class Mutant:
    """One fault: the statement that has it, how that reads without and with it, and what to replace in the source."""

    key: str  # the same for as long as the function's name and the statement are
    place: str
    line: int
    before: str
    after: str
    start: int
    end: int
    replacement: str

    def __str__(self) -> str:
        return f"{self.line}: {self.place}: {self.before} -> {self.after}"

    def source(self, original: str) -> str:
        """The whole module with the fault."""
        return original[: self.start] + self.replacement + original[self.end :]


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a module's source, in the order of its lines."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        """The position in the text of a column that is counted in UTF-8 bytes."""
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for place, statement, node, replacement in _faults(ast.parse(source).body, "", None):
        head = offset(statement.lineno, statement.col_offset)
        foot = offset(*_end_of_head(statement))
        start = offset(node.lineno, node.col_offset)
        end = offset(node.end_lineno, node.end_col_offset)
        before = " ".join(source[head:foot].split())
        after = " ".join((source[head:start] + replacement + source[end:foot]).split())
        seen[place, before, after] += 1
        text = repr((place, before, after, seen[place, before, after]))
        key = hashlib.sha256(text.encode()).hexdigest()[:10]
        found.append(Mutant(key, place or "module", node.lineno, before, after, start, end, replacement))
    return found


def _end_of_head(statement: ast.stmt) -> tuple[int, int]:
    """Line and column at which a statement ends, of a compound one its head."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.end_lineno, statement.end_col_offset
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return min((node.lineno, node.col_offset) for node in (first, *getattr(first, "decorator_list", ())))


def _faults(body: list[ast.stmt], place: str, returns: str | None) -> Iterator[tuple[str, ast.stmt, ast.AST, str]]:
    """Place, statement, node to replace and its replacement, of all faults in these statements."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Assert | ast.Global | ast.Nonlocal):
            continue
        documents = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, _DELETED) or (isinstance(statement, ast.Expr) and not documents):
            yield place, statement, statement, "pass"
        if isinstance(statement, ast.Return) and statement.value is not None:
            value = ast.unparse(statement.value)
            if returns in _NUMBERS:
                yield place, statement, statement.value, f"({value}) + 1"
            if returns == "bool":
                yield place, statement, statement.value, f"(not {value})"
        inner, result = place, returns
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            inner = f"{place}.{statement.name}".lstrip(".")
            result = ast.unparse(statement.returns) if getattr(statement, "returns", None) else None
        if not isinstance(statement, ast.Raise) and not documents:
            for node, replacement in _in_expressions(statement):
                yield inner if isinstance(statement, ast.FunctionDef) else place, statement, node, replacement
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for child in getattr(statement, name, ()):
                nested = child.body if isinstance(child, ast.ExceptHandler | ast.match_case) else [child]
                yield from _faults(nested, inner, result)


def _in_expressions(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The faults of the expressions below a node, down to the next statements."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name in _LEFT_ALONE or not isinstance(child, ast.AST) or isinstance(child, ast.stmt | ast.JoinedStr):
                continue
            if isinstance(child, ast.ExceptHandler | ast.match_case | ast.arg):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            if isinstance(child, ast.expr) and not isinstance(child, ast.Slice):
                yield from ((child, f"({ast.unparse(other)})") for other in _neighbours(child))
            yield from _in_expressions(child)


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _one_more(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _neighbours(node: ast.expr) -> Iterator[ast.AST]:
    """The expressions that one fault makes of this one."""
    match node:
        case ast.Compare():
            for index, kind in enumerate(node.ops):
                for other in _COMPARISONS[type(kind)]:
                    yield _changed(node, ops=[*node.ops[:index], other(), *node.ops[index + 1 :]])
        case ast.BinOp():
            if type(node.op) in _OPERATORS and not isinstance(node.left, ast.JoinedStr):
                yield _changed(node, op=_OPERATORS[type(node.op)]())
        case ast.BoolOp():
            yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp():
            yield node.operand
        case ast.IfExp():
            yield _changed(node, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
        case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
            yield _changed(node, func=ast.Name(_NAMES[name]))
        case ast.Call(func=ast.Attribute(attr=name)) if name in _NAMES:
            yield _changed(node, func=_changed(node.func, attr=_NAMES[name]))
        case ast.Subscript(slice=ast.Slice() as cut):
            for bound in ("lower", "upper"):
                limit = getattr(cut, bound)
                if limit is not None:
                    yield _changed(node, slice=_changed(cut, **{bound: None}))
                    if not isinstance(limit, ast.Constant | ast.UnaryOp):
                        yield _changed(node, slice=_changed(cut, **{bound: _one_more(limit)}))
        case ast.Subscript(slice=ast.Name() as index):
            yield _changed(node, slice=_one_more(index))
