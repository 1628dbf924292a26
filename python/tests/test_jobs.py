"""Verify, repair, diff, search, SQL and the command line."""

from __future__ import annotations

import pathlib
import shlex
import signal
import subprocess
import sys

import numpy
import pandas
import polars
import pyarrow
import pytest
import tesselle as ts
from conftest import plain


def test_verify_and_repair(plant, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    path, wanted = plant
    for depth in ("quick", "pieces", "deep"):
        report = ts.verify(path, depth)
        assert report.ok and report and not [f for f in report.findings if f.severity == "error"]
    with pytest.raises(KeyError):
        ts.verify(path, "deeper")
    cut = tmp_path / "cut.tsfile"
    cut.write_bytes(pathlib.Path(path).read_bytes()[:-50])
    report = ts.verify(cut)
    assert not report.ok and not report
    assert report.findings[0].severity == "error" and report.findings[0].kind in repr(report)
    repaired = ts.repair(cut, tmp_path / "whole.tsfile")
    assert repaired.findings and repaired.details["kept_bytes"] > 0
    assert plain(ts.scan(tmp_path / "whole.tsfile").to_arrow()).equals(plain(wanted))


def test_diff(plant, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    path, _ = plant
    ts.convert(path, tmp_path / "same.parquet")
    same = ts.diff(path, tmp_path / "same.parquet")
    assert same.equal and not same and same.first == []
    ts.convert(path, tmp_path / "less.parquet", where="speed < 100")
    less = ts.diff(path, tmp_path / "less.parquet", key="time")
    assert not less.equal and less and "only_left" in less.details
    assert "only_left" in repr(less)


def test_search(tmp_path: pathlib.Path) -> None:
    ts.write({"title": ["River", "Stone"], "body": ["a stone bridge", "the river and the stone"]}, tmp_path / "n.parquet")
    made = ts.index(tmp_path / "n.parquet", tmp_path / "n.tatami", text=["title", "body"], stored=["title"])
    assert made["documents"] == 2
    hits = ts.search(tmp_path / "n.tatami", "+river stone", k=5)
    assert {hit.doc for hit in hits} == {0, 1} and hits[0].score >= hits[1].score
    assert hits[0].fields["title"] and hits[0].segment
    assert len(ts.search(tmp_path / "n.tatami", "river", k=1)) == 1
    assert ts.search(tmp_path / "n.tatami", "nothing") == []
    with pytest.raises(ts.InvalidCall, match="k="):
        ts.search(tmp_path / "n.tatami", "river", k=-1)
    with pytest.raises(TypeError, match="'fuzzy'"):
        ts.search(tmp_path / "n.tatami", "river", fuzzy=True)


def test_sql_reads_of_a_whole_scan_what_it_needs(pages, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    import tesselle._write

    path, wanted = pages
    read = []
    arrow_of = tesselle._write.arrow_of
    monkeypatch.setattr("tesselle._write.arrow_of", lambda data: read.append(data) or arrow_of(data))
    query = "SELECT count(*) AS n, max(name) AS last FROM t WHERE id >= 4000"
    assert ts.sql(query, t=ts.scan(path)).fetchall() == [(1000, "name 9")]
    assert ts.sql(query, t=ts.open(path).table()).fetchall() == [(1000, "name 9")]
    assert read == []
    some = ts.scan(path, columns=["id", "name"], where="id % 2 = 0")
    assert ts.sql(query, t=some).fetchall() == [(500, "name 8")] and len(read) == 1
    part = ts.scan(path).splits(5)[-1]
    assert ts.sql(query, t=part).fetchall() == [(part.count(), "name 9")]


def test_sql(plant, field) -> None:  # type: ignore[no-untyped-def]
    path, wanted = plant
    answer = ts.sql(f"SELECT count(*) AS n, max(speed) AS top FROM '{path}'")
    assert answer.columns == ["n", "top"] and answer.num_rows == 1 == len(answer)
    assert answer.fetchall() == [(1000, 999 * 0.25)]
    assert answer.to_arrow().equals(pyarrow.table(answer)) and answer.to_polars().shape == (1, 2)
    assert answer.to_pandas()["n"][0] == 1000 and "top" in repr(answer)
    assert "<table" in answer._repr_html_()
    names = polars.DataFrame({"count": [1, 2], "name": ["one", "two"]})
    joined = ts.sql(
        "SELECT name, avg(speed) AS mean FROM plant JOIN names USING (count) GROUP BY name ORDER BY name",
        plant=ts.open(path).table(),
        names=names,
    )
    assert joined.to_arrow()["name"].to_pylist() == ["one", "two"]
    frame = pandas.DataFrame({"a": [1, 2, 3]})
    assert ts.sql("SELECT sum(a) AS s FROM t", t=frame).fetchall() == [(6,)]
    scan = ts.scan(field[0], where="value > 0")
    assert ts.sql("SELECT count(*) AS n FROM s", s=scan).fetchall() == [(scan.count(),)]
    assert ts.sql("SELECT count(*) AS n FROM d", d={"x": [1, 2]}).fetchall() == [(2,)]
    with pytest.raises(KeyError, match="plant"):
        ts.sql("SELECT * FROM plnt", plant=wanted)
    with pytest.raises(ts.Error):
        ts.sql("SELEC 1")
    assert ts.sql(f"SELECT * FROM '{path}' LIMIT 0").to_arrow().num_rows == 0


def test_the_command_line(plant) -> None:  # type: ignore[no-untyped-def]
    run = subprocess.run(
        [sys.executable, "-m", "tesselle", "cat", plant[0], "--limit", "2", "--as", "jsonl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0 and len(run.stdout.splitlines()) == 2
    run = subprocess.run([sys.executable, "-m", "tesselle", "cat", "nowhere.tet"], capture_output=True, text=True, check=False)
    assert run.returncode == 3 and "nowhere.tet" in run.stderr
    help_text = subprocess.run([sys.executable, "-m", "tesselle", "--version"], capture_output=True, text=True, check=True)
    assert ts.__version__ in help_text.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("start", ["-m tesselle", "-c from\\ tesselle.__main__\\ import\\ run;\\ run()"])
def test_ctrl_c_ends_the_command_line(start: str, tmp_path: pathlib.Path) -> None:
    numpy.save(tmp_path / "many.npy", numpy.arange(20_000_000))
    command = [sys.executable, *shlex.split(start), "cat", str(tmp_path / "many.npy"), "--as", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.read(1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in errors, errors
