"""Kills a process of Tesselle that writes, merges and cleans up, anywhere, and opens what it left with the original engine.

    kill.py INTEROP-BINARY FOLDER RUNS
"""
import pathlib
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import tiledb

CELLS = 2000


def state(folder):
    with tiledb.open(str(folder)) as array:
        cells = array[:]["a"]
    if len(cells) != CELLS or np.unique(cells).size != 1:
        raise AssertionError(f"{len(cells)} cells of the rounds {np.unique(cells)}")
    return int(cells[0])


def main():
    binary, folder, runs = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    seed = random.randrange(1 << 32)
    rng, failed = random.Random(seed), 0
    for kind in ("dense", "sparse"):
        array = folder / kind
        shutil.rmtree(array, ignore_errors=True)
        before = None
        for _ in range(runs):
            first = 1 if before is None else before + 1
            child = subprocess.Popen([binary, "churn", array, kind, str(first)], stdout=subprocess.PIPE, text=True)
            # The first round ends, so that there is an old state; then some more, and part of one.
            for _ in range(rng.randint(2, 6)):
                printed = child.stdout.readline()
            time.sleep(rng.random() * 0.02)
            child.kill()
            printed = ([printed] + child.stdout.readlines())[-1]
            child.wait()
            try:
                after = state(array)
                if after not in (int(printed) - 1, int(printed)):
                    raise AssertionError(f"round {printed.strip()} was under way, but {after} is there")
                before = after
            except Exception as error:
                failed += 1
                print(f"FAIL kill, {kind}, seed {seed}: {type(error).__name__}: {error}")
                break
    print(f"{2 * runs} writers killed, " + ("all arrays open with the old state or the new" if not failed else f"{failed} arrays broken"))
    return 1 if failed else 0


sys.exit(main())
