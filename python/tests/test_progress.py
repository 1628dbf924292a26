"""What shows the progress of long calls."""

from __future__ import annotations

import pathlib
import sys
import types
from typing import Any

import pytest
import tesselle as ts


@pytest.fixture
def calls(field, plant, tmp_path: pathlib.Path) -> Any:  # type: ignore[no-untyped-def]
    """Every call that takes progress, by name."""
    path = plant[0]
    ts.convert(path, tmp_path / "same.parquet")
    return {
        "convert": lambda progress: ts.convert(path, tmp_path / "p.csv", overwrite=True, progress=progress),
        "verify": lambda progress: ts.verify(field[0], progress=progress),
        "diff": lambda progress: ts.diff(path, tmp_path / "same.parquet", progress=progress),
        "index": lambda progress: ts.index(
            path, tmp_path / "p.tatami", text="state", overwrite=True, progress=progress
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["convert", "verify", "diff", "index"])
def test_functions(name: str, calls: Any) -> None:
    seen: list[tuple[int, int]] = []
    calls[name](lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] > 0
    calls[name](False)
    calls[name](True)


def test_bars_of_tqdm(calls: Any) -> None:
    tqdm = pytest.importorskip("tqdm")
    with tqdm.tqdm(disable=False, file=_Nowhere()) as bar:
        calls["convert"](bar)
        assert bar.n == bar.total > 0
    made = []

    class Bar(tqdm.tqdm):  # type: ignore[misc, unused-ignore]
        def __init__(self, **options: Any) -> None:
            super().__init__(file=_Nowhere(), **options)
            made.append(self)

    calls["convert"](Bar)
    assert len(made) == 1 and made[0].n == made[0].total > 0 and made[0].unit == "B"


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, _: str) -> int:
        return 0

    def flush(self) -> None:
        pass


def test_bars_of_rich(calls: Any) -> None:
    progress = pytest.importorskip("rich.progress").Progress(disable=True)
    calls["convert"](progress)
    (task,) = progress.tasks
    assert task.completed == task.total > 0


def test_notebooks_have_a_bar_by_default(calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(thing: Any, display_id: bool = False) -> Any:
        shown.append(thing._repr_html_())
        return types.SimpleNamespace(update=lambda thing: shown.append(thing._repr_html_()))

    notebook, pages = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    notebook.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    pages.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    calls["convert"](None)
    assert "<progress" in shown[0] and "100%" in shown[-2] and shown[-1] == ""
    shown.clear()
    calls["convert"](False)
    assert not shown


def test_a_bar_that_fails_does_not_end_the_work(calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)

    def broken(done: int, total: int) -> None:
        raise RuntimeError("no terminal")

    assert calls["convert"](broken)["rows"] == 1000
    assert failed


@pytest.mark.parametrize("progress", [5, "bar", [print]])
def test_what_is_no_bar_is_refused(calls: Any, progress: Any) -> None:
    for call in calls.values():
        with pytest.raises(ts.InvalidCall, match="progress="):
            call(progress)
