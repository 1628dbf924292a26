"""Ctrl-C in calls that wait for what others provide."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import numpy
import pytest
import tesselle as ts


@pytest.mark.parametrize(
    "call",
    [
        "ts.sql('SELECT count(*) FROM t', t=endless())",
        "ts.write(endless(), out)",
        "ts.write(blocked(), out)",
        "ts.open(Blocked())",
        "ts.sql('SELECT count(*) FROM t', t=ts.scan(tet, where=slow))",
        "ts.write(ts.scan(tet, where=slow), out, overwrite=True)",
    ],
)
def test_ctrl_c_does_not_wait_for_others(call: str, tmp_path: pathlib.Path) -> None:
    tet = str(tmp_path / "cells.tet")
    ts.write(numpy.zeros((1500, 1500), "f4"), tet, chunk=(50, 50), codec="zstd")
    script = f"""
        import os, signal, threading, time
        import pyarrow
        import tesselle as ts

        schema = pyarrow.schema([("a", pyarrow.int64())])
        batch = pyarrow.record_batch([list(range(10))], schema=schema)

        def batches(pause):
            yield batch
            while True:
                time.sleep(pause)
                yield batch

        def endless():
            return pyarrow.RecordBatchReader.from_batches(schema, batches(0.001))

        def blocked():
            return pyarrow.RecordBatchReader.from_batches(schema, batches(20))

        class Blocked:
            name = "cells.tet"
            def seek(self, offset, whence=0):
                return 1 << 20
            def tell(self):
                return 0
            def read(self, size=-1):
                time.sleep(20)

        tet, out = {tet!r}, {str(tmp_path / "out.parquet")!r}
        slow = "regexp_like(cast(value AS varchar), '(a|b)*c.*d')"
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            os._exit(0)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=15, check=False
    )
    assert run.stdout.split() == ["interrupted"], run.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []
