"""A secret is never compared in a time that says how much of it was right.

No timing test would see it, so this is a rule over the syntax tree of every module: what is named like a
secret is compared by `compare_digest` alone, and whoever makes a keyed digest to check one ends with it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import portaria

SOURCE = Path(portaria.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
SECRET = re.compile(
    r"secret|token|signature|hmac|digest|password|claimed|accepted|expected|bearer|api_key|cookie|\bmac\b",
    re.I,
)

COMPARED_OTHERWISE = {
    "accounts/envelope.py": "the brackets of a JSON text",
    "console/assets.py": "the digest of a file that everybody may read, in its address",
}
"""Modules that compare something of such a name which is no secret, and what it is."""

CHECKED_HERE = {
    "accounts/credentials.py": {"match"},
    "intake/providers/signatures.py": {"is_hex_hmac_sha256"},
    "console/same_site.py": {"check_request"},
}
"""Where credentials are checked: each of these functions must compare in constant time."""

SIGNS_ONLY = {"intake/providers/samples.py"}
"""Plays the sender: makes digests and checks none."""


def names_in(node: ast.AST) -> set[str]:
    """The identifiers that an expression is made of; a secret's length is none, nor is a CONSTANT."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("len", "type", "bool")
    ):
        return set()
    own = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}.get(type(node))
    found = {name for name in [str(getattr(node, own))] if not name.isupper()} if own else set()
    return found.union(*(names_in(child) for child in ast.iter_child_nodes(node)))


def is_secret(node: ast.AST) -> bool:
    return any(SECRET.search(name) for name in names_in(node))


def is_plain(node: ast.AST) -> bool:
    """What no secret can be: a constant, a type, one of our own enumerations."""
    return isinstance(node, ast.Constant | ast.Tuple | ast.Set) and not is_secret(node)


def violations(tree: ast.AST) -> Iterator[int]:
    """The lines on which something named like a secret is compared by other means."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            compares = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops)
            if compares and any(map(is_secret, sides)) and not any(map(is_plain, sides)):
                yield node.lineno
        elif isinstance(node, ast.Match) and is_secret(node.subject):
            yield node.lineno


def calls(node: ast.AST, pattern: str) -> bool:
    """Whether a function whose dotted name looks like `pattern` is called anywhere inside."""
    called = (ast.unparse(each.func) for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(re.fullmatch(pattern, name) for name in called)


def functions(tree: ast.AST) -> dict[str, ast.AST]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in ast.walk(tree) if isinstance(node, kinds)}


def test_no_secret_is_compared_by_its_first_wrong_byte() -> None:
    for path in MODULES:
        name, tree = str(path.relative_to(SOURCE)), ast.parse(path.read_text())
        found = [] if name in COMPARED_OTHERWISE else list(violations(tree))
        assert found == [], f"{name}, lines {found}: use hmac.compare_digest"
        for function, body in functions(tree).items():
            if name not in SIGNS_ONLY and calls(body, r"hmac\.(digest|new)|HMAC"):
                assert calls(body, r".*compare_digest"), f"{name}: {function}"


def test_every_place_that_checks_a_credential_compares_in_constant_time() -> None:
    for name, wanted in CHECKED_HERE.items():
        known = functions(ast.parse((SOURCE / name).read_text()))
        for function in wanted:
            assert calls(known[function], r".*compare_digest"), f"{name}: {function}"


@pytest.mark.parametrize(
    "planted",
    [
        "def f(token, given): return token == given",
        "def f(self, given): return given in self._tokens",
        "def f(given, raw, key): return hmac.digest(key, raw, 'sha256') == given",
        "def f(given, expected): return not (expected != given)",
        "def f(signature):\n  match signature:\n    case b'x': return True",
    ],
)
def test_the_rule_sees_what_it_forbids(planted: str) -> None:
    assert list(violations(ast.parse(planted)))


def test_the_rule_lets_pass_what_is_no_comparison_of_secrets() -> None:
    for fine in ("token is None", "len(secret) < 16", "secret == b''", "hmac.compare_digest(token, given)"):
        assert list(violations(ast.parse(fine))) == []
