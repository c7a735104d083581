"""Only kernels call an inner kernel: it has no wrapper for Python, and such a call is a crash."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("propagation", "services", "benchmarks", "tests")
DECORATORS = ("kernel", "inner_kernel", "njit")


def list_decorators(function: ast.FunctionDef) -> set[str]:
    bare = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return {one.id for one in bare if isinstance(one, ast.Name)}


def list_names_outside_kernels(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and list_decorators(child) & set(DECORATORS):
            continue
        if isinstance(child, ast.Name):
            yield child.id
        if isinstance(child, ast.Attribute):
            yield child.attr
        yield from list_names_outside_kernels(child)


def test_python_calls_no_inner_kernel():
    found, imported = set[str](), set[str]()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            nodes = list(ast.walk(tree := ast.parse(file.read_text())))
            imported |= {
                alias.name
                for node in nodes
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            inner = {
                node.name
                for node in nodes
                if isinstance(node, ast.FunctionDef) and "inner_kernel" in list_decorators(node)
            }
            assert all(name.startswith("_") for name in inner), "other files may call it"
            if inner:
                assert not inner & set(list_names_outside_kernels(tree))
            found |= inner
    assert len(found) > 20, "the decorator has another name now"
    assert not found & imported
