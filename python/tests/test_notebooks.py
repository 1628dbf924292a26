"""The notebooks run from top to bottom, and everything they show can be shown."""

from __future__ import annotations

import ast
import json
import pathlib
from typing import Any

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_notebook_runs(notebook: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            run("".join(cell["source"]), names)
    assert any(cell["cell_type"] == "code" for cell in cells)


def run(source: str, names: dict[str, Any]) -> None:
    """Runs a cell as a notebook does: the last expression is shown."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        page = shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown)
        assert page
