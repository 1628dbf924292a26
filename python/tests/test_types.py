"""The types of the package are complete, and those of the native module are true."""

from __future__ import annotations

import doctest
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import tesselle

PROJECT = pathlib.Path(__file__).parent.parent


def run(*command: str, folder: pathlib.Path | None = None) -> None:
    """Runs a tool."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_passes_the_strict_checker(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    run("mypy", "--cache-dir", str(tmp_path), folder=PROJECT)


def test_the_package_passes_pyright() -> None:
    pytest.importorskip("pyright")
    run("pyright", "--pythonpath", sys.executable, "--project", str(PROJECT), folder=PROJECT)


def test_users_know_the_type_of_every_name() -> None:
    pytest.importorskip("pyright")
    folder = os.fspath(pathlib.Path(sys.executable).parent)
    command = [sys.executable, "-m", "pyright", "--verifytypes", "tesselle", "--ignoreexternal", "--outputjson"]
    environment = os.environ | {"PATH": folder + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    assert {"tesselle.Array", "tesselle.open", "tesselle.xarray.TesselleBackend"} <= {symbol["name"] for symbol in symbols}
    unknown = [symbol["name"] for symbol in symbols if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]]
    # Torch is too large to be among the test dependencies.
    assert [name for name in unknown if not name.startswith("tesselle.torch.")] == []


PAGES = [PROJECT.parent / page for page in ("docs/guides/python.md", "README.md", "python/README.md")]
NOTEBOOKS = sorted((PROJECT.parent / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_examples_pass_the_strict_checker(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    else:
        sources = [_source(block) for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]
    assert sources
    example = tmp_path / "example.py"
    example.write_text("\n".join(sources) + "\n", encoding="utf-8")
    run("mypy", "--strict", "--config-file", str(PROJECT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"), str(example))


def _source(block: str) -> str:
    """Returns the statements of an example, without what they print."""
    if not block.startswith(">>> "):
        return block
    return "".join(part.source for part in doctest.DocTestParser().get_examples(block))


def test_users_see_types(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    example = tmp_path / "example.py"
    example.write_text(
        """
import tesselle as ts

container: ts.Container = ts.open("run.tet")
table: ts.Table = container["temperature"]
rows: int | None = table.num_rows
count: int = table.scan(columns=["value"], where="value > 3").count()
parts: list[ts.Scan] = ts.scan("run.tet").splits(4)
shape: tuple[int, ...] = table.array().shape
hits: list[float] = [hit.score for hit in ts.search("crawl.tatami", "river")]
ok: bool = ts.verify("run.tet").ok
names: list[str] = ts.sql("SELECT 1").columns
try:
    ts.convert("a.tet", "b.parquet", codec="zstd")
except ts.Error as error:
    where: int | None = error.offset
"""
    )
    run("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(example), folder=tmp_path)


def test_the_stub_of_the_native_module_is_true(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    run("mypy.stubtest", "tesselle._native", folder=tmp_path)
    assert (pathlib.Path(tesselle.__file__).parent / "py.typed").is_file()
