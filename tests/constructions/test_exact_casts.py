"""The exact core holds no bare cast and no bare arithmetic on arrays: every conversion is in
`constructions.verification.integers`.

Read off the source, so that it fails when one comes back.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import constructions.verification

FOLDER = Path(constructions.verification.__file__).parent
CORE = ["exact.py", "exhaustive.py", "certificate.py", *sorted(path.name for path in FOLDER.glob("certify_*.py"))]

# Types as functions, and methods that reinterpret memory; `Fraction` is exact.
CASTS = {"int", "float", "astype", "view", "array", "asarray", "full", "fromiter", "cumsum", "prod"} | {
    f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
}
# Of these, the calls that convert only if a type is given.
ONLY_WITH_A_TYPE = {"array": 1, "asarray": 1, "full": 2}
IN_PLACE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.MatMult, ast.Pow, ast.LShift)


def faults(source: str) -> list[str]:
    """Every bare cast, product of matrices and arithmetic in place, with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            typed = len(node.args) > ONLY_WITH_A_TYPE.get(name, 0) or any(k.arg == "dtype" for k in node.keywords)
            if name in CASTS and (name not in ONLY_WITH_A_TYPE or (typed and not _python_integers(node))):
                found.append((node.lineno, f"{name}(..)"))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, IN_PLACE):
            found.append((node.lineno, "arithmetic in place"))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append((node.lineno, "@"))
    return [f"line {line}: {what}" for line, what in sorted(found)]


def _python_integers(call: ast.Call) -> bool:
    """Whether the type given is `object`, Python's integers, or that of the entry given."""
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    return any(isinstance(value, ast.Name) and value.id == "object" for value in given)


# The one product of matrices, whose type `Product` has chosen, and the float64 product that its choice stands on.
ALLOWED = {"exact.py": 2}


@pytest.mark.parametrize("name", CORE)
def test_the_core_casts_nothing_itself(name: str) -> None:
    found = faults((FOLDER / name).read_text(encoding="utf-8"))
    products = [fault for fault in found if fault.endswith("@")]
    assert [fault for fault in found if fault not in products] == []
    assert len(products) == ALLOWED.get(name, 0), products


@pytest.mark.parametrize(
    "line",
    [
        "x.astype(np.int64)",
        "np.int64(x)",
        "np.float32(x)",
        "float(x)",
        "int(x)",
        "x.view(np.uint8)",
        "np.array(x, np.int64)",
        "np.asarray(x, dtype=np.int8)",
        "np.full(3, x, np.int64)",
        "x += y",
        "x //= y",
        "x @ y",
    ],
)
def test_a_bare_cast_is_found(line: str) -> None:
    assert len(faults(line)) == 1


@pytest.mark.parametrize("line", ["np.asarray(x)", "converted(x, np.int64)", "np.array([1], object)", "x |= y"])
def test_what_changes_nothing_is_not_found(line: str) -> None:
    assert faults(line) == []
