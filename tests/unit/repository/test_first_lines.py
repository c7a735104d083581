"""The first line of a docstring is short enough to be read at a glance (CONTRIBUTING.md)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOST_WORDS = 12
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize(
    "package", ["propagation", "propagation_client", "services", "cypher", "benchmarks"]
)
def test_first_lines_have_at_most_a_dozen_words(package):
    files = [file for file in (ROOT / package).rglob("*.py") if "v1" not in file.parts]
    texts = {
        f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}": ast.get_docstring(node)
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, DOCUMENTED)
    }
    firsts = {place: text.splitlines()[0].split() for place, text in texts.items() if text}
    assert firsts, "no docstring was found"
    assert not [place for place, words in firsts.items() if len(words) > MOST_WORDS]
