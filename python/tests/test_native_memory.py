"""The allocator of the native module: large blocks are used again, by any thread, and few are kept."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import numpy
import pyarrow
import pytest
import tesselle as ts


@pytest.fixture
def columns(tmp_path: pathlib.Path) -> tuple[str, pyarrow.Table]:
    """A Parquet file whose columns and pages take blocks of many sizes, and its rows."""
    random = numpy.random.default_rng(5)
    rows = 300_000
    table = pyarrow.table(
        {
            "number": random.normal(size=rows),
            "small": random.integers(0, 100, rows).astype("i2"),
            "text": [f"row {i % 1000}" * (1 + i % 5) for i in range(rows)],
            "listed": pyarrow.array([[i] * (i % 4) for i in range(rows)]),
        }
    )
    path = str(tmp_path / "columns.parquet")
    ts.write(table, path)
    return path, table


def test_threads_read_columns_of_many_sizes(columns: tuple[str, pyarrow.Table]) -> None:
    import concurrent.futures

    path, table = columns

    def read(at: int) -> bool:
        names = table.column_names[at % 4 :] or table.column_names
        found = ts.scan(path, columns=names, batch_rows=1000 * (at % 37 + 1)).to_arrow()
        return bool(found.combine_chunks().equals(table.select(names).combine_chunks()))

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, range(60)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is that of Linux")
def test_what_is_kept_is_little(columns: tuple[str, pyarrow.Table]) -> None:
    script = f"""
        import ctypes, os
        import pyarrow
        import tesselle as ts

        def resident():
            # Without what the allocator of the system keeps itself.
            getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

        ts.scan({columns[0]!r}, limit=1).to_arrow()
        before = resident()
        held = [ts.scan({columns[0]!r}).to_arrow() for _ in range(12)]
        full = resident() - before
        del held
        print(full, resident() - before)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    full, after = map(int, run.stdout.split())
    assert full > 128 << 20 and after < 64 << 20


def test_forked_processes_read_columns(columns: tuple[str, pyarrow.Table]) -> None:
    path, _ = columns
    script = f"""
        import os, signal, threading, time
        import tesselle as ts

        def work():
            while True:
                ts.scan({path!r}).to_arrow()

        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        for _ in range(60):
            child = os.fork()
            if child == 0:
                # A library that has blocks of the parent frees them; others are taken.
                found = ts.sql("SELECT count(*) AS n, sum(small) AS s FROM '{path}'")
                batches = found._collect()
                os._exit(0 if len(batches) == 1 else 1)
            for _ in range(2000):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    assert status == 0, status
                    break
                time.sleep(0.005)
            else:
                os.kill(child, signal.SIGKILL)
                print("a child does not end", flush=True)
                os._exit(1)
        print("all", flush=True)
        os._exit(0)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["all"], run.stdout + run.stderr
