"""Threads, processes and interruptions."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import tesselle as ts


def test_threads_share_everything(field, pages) -> None:  # type: ignore[no-untyped-def]
    array = ts.open(field[0]).table().array()
    scan = ts.scan(pages[0], where="id > 100")

    def work(at: int) -> tuple[float, int]:
        return float(array[at % 6].sum()), scan.count()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(48)))
    assert len(set(answers)) == 6
    assert {count for _, count in answers} == {4899}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_reads_and_queries(field, pages) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    array = ts.open(path).table().array()
    scan = ts.scan(pages[0])
    assert (array[...] == cells).all() and scan.count() == 5000
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = (array[...] == cells).all() and array.sum() == array.sum()
            same = same and scan.to_arrow().num_rows == 5000
            same = same and ts.sql(f"SELECT count(*) AS n FROM '{pages[0]}'").fetchall() == [(5000,)]
            code = 0 if same else 2
        finally:
            os._exit(code)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        threading.Event().wait(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the forked process does not end")
    assert os.waitstatus_to_exitcode(status) == 0


def _total(scan: ts.Scan) -> int:
    return scan.count()


def test_a_spawned_process_takes_scans(pages) -> None:  # type: ignore[no-untyped-def]
    parts = ts.scan(pages[0]).splits(3)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert sum(pool.map(_total, parts)) == 5000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with files that take a while: ``big.tet``, ``big.parquet``, ``big.tatami``, a search segment, and ``endless.csv``."""
    folder = tmp_path_factory.mktemp("big")
    cells = numpy.random.default_rng(0).random((4000, 4000), "f4")
    ts.write(cells, folder / "big.tet", chunk=(50, 50), codec="zstd")
    words = [f"w{i % 1000} w{i % 77} w{i % 13} and more" for i in range(50_000)]
    ts.write({"id": list(range(len(words))), "body": words}, folder / "big.parquet")
    ts.index(folder / "big.parquet", folder / "big.tatami", text="body", stored="id")
    with open(folder / "endless.csv", "wb") as file:
        file.write(b"a,b\n1,2\n")
        file.truncate(1 << 40)
    return folder


@pytest.mark.parametrize(
    "call",
    [
        "ts.scan(tet, where='value > 2e9').to_arrow()",
        "ts.scan(tet, where='value > 2e9').count()",
        "for _ in ts.scan(tet, columns='value').to_batches(): pass",
        "pyarrow.table(ts.scan(tet, where='value > 2e9'))",
        "polars.DataFrame(ts.scan(tet, where='value > 2e9'))",
        "ts.scan(tet).splits(4)",
        "ts.open(tet).table().array()[...]",
        "ts.open(tet).table().array()[::400, ::400]",
        "ts.open(tet).table().array().sum()",
        "ts.open(tet).layout()",
        "ts.open(open(tet, 'rb')).table().array()[...]",
        "ts.verify(tet)",
        "ts.diff(tet, tet)",
        "ts.repair(tet, out, overwrite=True)",
        "ts.convert(tet, out + '.csv', overwrite=True)",
        "ts.write(numpy.zeros((4000, 4000)), out + '.tet', codec='zstd', chunk=(50, 50), overwrite=True)",
        "ts.append(numpy.zeros((400, 4000), 'f4'), grown)",
        "ts.index(parquet, out + '.tatami', text='body', overwrite=True)",
        "ts.search(segment, 'w1 w2 w3', k=1000)",
        "ts.sql(f\"SELECT sum(a.value) FROM '{tet}' a, '{tet}' b\").to_arrow()",
        "ts.open(tet).table().array()[[0, 3999], ::7]",
        "ts.open(tet).table().array().median(axis=0)",
        "ts.open(tet).table().array().to_dask().sum().compute(scheduler='synchronous')",
        "ts.dataset(tet).to_table(columns=['value'])",
        "ts.open(endless)",
        "ts.open(Endless())",
        "ts.scan(endless)",
        "ts.scan(str(pathlib.Path(endless).parent) + '/*.csv')",
        "ts.verify(endless)",
        "ts.convert(endless, out + '.parquet')",
        "ts.sql(f\"SELECT count(*) FROM '{endless}'\")",
    ],
)
def test_ctrl_c_ends_every_call(call: str, big: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = f"""
        import os, pathlib, shutil, signal, sys, threading, time
        import numpy, polars, pyarrow
        import tesselle as ts

        class Endless:
            "A file of rows that takes hours to read."
            name, at = "endless.csv", 0
            def seek(self, offset, whence=0):
                self.at = offset + (1 << 42 if whence == 2 else 0)
                return self.at
            def read(self, size):
                rows = b"1,2\\n" * (size // 4 + 2)
                return rows[self.at % 4 :][:size]

        endless = {str(big)!r} + "/endless.csv"
        big, out = {str(big)!r}, {str(tmp_path / "out")!r}
        tet, parquet, segment = big + "/big.tet", big + "/big.parquet", big + "/big.tatami"
        grown = out + "-grown.tet"
        if "append" in {call!r}:
            shutil.copy(tet, grown)
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        print("ready", flush=True)
        try:
            try:
                while True:
                    {call}
            except (polars.exceptions.ComputeError, pyarrow.ArrowInvalid):
                # The stream has ended; what its reader makes of that may come first, the interrupt with the next call.
                time.sleep(10)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.split() == ["ready", "interrupted"], run.stderr


def test_a_second_interpreter_of_the_process_is_refused(field) -> None:  # type: ignore[no-untyped-def]
    script = f"""
        import tesselle as ts
        try:
            import _interpreters as interpreters
            create, run = (lambda: interpreters.create("legacy")), interpreters.run_string
        except ImportError:
            import _xxsubinterpreters as interpreters
            create, run = (lambda: interpreters.create(isolated=False)), interpreters.run_string
        other = create()
        try:
            failed = run(other, "import tesselle._native")
        except Exception as error:
            failed = error
        print("refused" if "ImportError" in str(failed) or "subinterpreters" in str(failed) else failed)
        print(ts.open({field[0]!r}).table().num_rows)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["refused", "1800"], run.stderr


def test_nothing_else_is_imported() -> None:
    script = "import sys, tesselle; print([m for m in ('numpy', 'pyarrow', 'polars', 'pandas', 'xarray') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def _repeated(call: str, before: int, counted: int) -> None:
    """Repeats a call in a new process; after the first times it takes no more memory and no more open files."""
    script = f"""
        import io, os, pathlib, pyarrow
        import tesselle as ts

        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

        def repeat(times):
            for _ in range(times):
                {call}

        repeat({before})
        memory, files = resident(), len(os.listdir("/proc/self/fd"))
        repeat({counted})
        print(resident() - memory, len(os.listdir("/proc/self/fd")) - files)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    memory, files = map(int, run.stdout.split())
    assert memory < 4 << 20 and files <= 2


def test_opening_leaks_nothing(field) -> None:  # type: ignore[no-untyped-def]
    _repeated(f"ts.open({field[0]!r}).table().array()[0, 0, 0]", 2000, 10_000)


@pytest.mark.parametrize("ending", ["npy", "zarr", "tiledb", "tsfile", "tatami", "parquet", "arrow", "csv"])
def test_no_format_leaks(ending: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / f"small.{ending}")
    if ending in ("npy", "zarr", "tiledb"):
        ts.write(numpy.arange(12.0).reshape(3, 4), path)
        _repeated(f"ts.open({path!r}).table().array()[1, 2]", 500, 1500)
    else:
        options = {"device": "root.d"} if ending == "tsfile" else {}
        ts.write({"time": [1, 2, 3], "v": ["a", "b", None]}, path, **options)
        _repeated(f"ts.scan({path!r}, where=\"v = 'b'\").to_arrow()", 500, 1500)


@pytest.mark.parametrize(
    "call",
    [
        "ts.open(io.BytesIO(pathlib.Path({path!r}).read_bytes())).table().array()[0, 0, 0]",
        "ts.sql('SELECT count(*) AS n FROM t', t=pyarrow.table({{'a': [1]}})).to_arrow()",
        "pyarrow.table(ts.scan({path!r}, where='value > 1'))",
        "ts.open({path!r}).table().array().mean(axis=0)",
    ],
)
def test_no_call_leaks(call: str, field) -> None:  # type: ignore[no-untyped-def]
    _repeated(call.format(path=field[0]), 60, 240)


@pytest.mark.parametrize("ending", ["tet", "tiledb", "zarr", "npy"])
def test_a_full_read_takes_the_array_and_little_more(ending: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / f"large.{ending}")
    cells = numpy.zeros((512, 512, 256), "f4")
    options = {"tet": {"chunk": (64, 64, 64), "codec": "zstd"}, "zarr": {"chunk": (64, 64, 64)}}.get(ending, {})
    ts.write(cells, path, **options)
    script = f"""
        import numpy, resource
        import tesselle as ts
        ts.open({path!r}).table().array()[0, 0, 0]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = ts.open({path!r}).table().array()[...]
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, found.nbytes)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    grown, size = map(int, run.stdout.split())
    assert grown * 1024 <= size + (64 << 20)


@pytest.mark.parametrize("when", ["never", "before", "after"])
def test_windows_of_a_file_that_became_shorter_are_an_error(tmp_path: pathlib.Path, when: str) -> None:
    program = textwrap.dedent("""
        import faulthandler, os, sys
        import numpy
        import tesselle as ts

        path, when = sys.argv[1:]
        if when == "before":
            faulthandler.enable()
        cells = numpy.arange(4096 * 128, dtype="f4").reshape(128, 4096)
        numpy.save(path, cells)
        array = ts.open(path).table().array()
        assert (array[:, 100:300] == cells[:, 100:300]).all()
        if when == "after":
            faulthandler.enable()
        assert (array[:, 200:400] == cells[:, 200:400]).all()
        os.truncate(path, 100_000)
        try:
            array[:, 100:300]
        except ts.Error as error:
            assert "became shorter" in str(error), error
            print("refused")
    """)
    command = [sys.executable, "-c", program, str(tmp_path / "cells.npy"), when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")
