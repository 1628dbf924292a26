"""Forks while other threads work."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import numpy
import pytest
import tesselle as ts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_children_read_while_other_threads_of_the_parent_do(tmp_path: pathlib.Path) -> None:
    cells = numpy.random.default_rng(0).random((400, 400), "f4")
    path = str(tmp_path / "cells.tet")
    ts.write(cells, path, chunk=(50, 50), codec="zstd")
    script = f"""
        import os, signal, threading, time
        import tesselle as ts

        def work():
            while True:
                ts.open({path!r}).table().array()[...]
                ts.scan({path!r}, where="value > 0.9").count()

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        for _ in range(50):
            child = os.fork()
            if child == 0:
                read = ts.open({path!r}).table().array()[...].shape == (400, 400)
                os._exit(0 if read and ts.scan({path!r}, where="value > 2").count() == 0 else 1)
            for _ in range(2000):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    assert status == 0
                    break
                time.sleep(0.005)
            else:
                os.kill(child, signal.SIGKILL)
                raise SystemExit("a child does not end")
        print("all", flush=True)
        os._exit(0)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["all"], run.stderr
