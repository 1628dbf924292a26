"""The examples of the guide and of the docstrings run as they are written."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import warnings

import pytest

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "python.md"


def test_the_examples_of_the_guide_run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "duckdb", "polars", "xarray"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        failed, tried = doctest.testfile(os.fspath(GUIDE), module_relative=False, optionflags=options)
    assert failed == 0 and tried > 0


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_example_of_the_readme_runs(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})
