#!/usr/bin/env python3
"""Runs the same jobs through Tesselle, the original engine and its rivals, one after the other, and prints ratios.

    compare.py tet [--folder DIR] [--only SUBSTR] [--json FILE]

Each job runs in a process of its own (so that peak memory is its own), several times inside it; the median counts.
All engines must give the same answer, or the row says so.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-5
PATIENCE_S = 60       # a job that takes longer is shown as such


def run(command):
    """(seconds, answer, peak bytes) of one job; None where the engine does not do it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=err)
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == -9:
            return None
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            print(f"  {' '.join(map(str, command))}: {err.read().decode(errors='replace').strip()[-200:]}", file=sys.stderr)
            return None
        result = json.loads(out.read())
    return statistics.median(result["seconds"]), result["answer"], usage.ru_maxrss * 1024


class Suite:
    """The jobs of one format: a title, how much work it is, and each engine's command."""

    def __init__(self, folder):
        self.folder = folder
        self.release = HERE / "rust" / "target" / "release"


class Tet(Suite):
    GIB = 1 << 30
    ENGINES = ("tesselle", "tetration", "numpy", "h5py", "zarr", "zarrs")

    def prepare(self):
        base = self.folder / "base.npy"
        if not base.exists():
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            subprocess.run([sys.executable, HERE / "engines" / "tet_python.py", "numpy", "make-raw", self.folder], check=True)
        subprocess.run([self.release / "ours-tet", "make-many", self.folder], check=True, stdout=subprocess.DEVNULL)

    def jobs(self):
        for codec in ("raw", "zstd"):
            yield f"write-{codec}", f"write 1 GiB, {codec}", self.GIB
            yield f"read-{codec}", f"read 1 GiB, {codec}", self.GIB
            yield f"windows-{codec}", f"100 windows of 512x512, {codec}", None
            yield f"mean-{codec}", f"mean of all, {codec}", self.GIB
            yield f"mean0-{codec}", f"mean over axis 0, {codec}", self.GIB
            yield f"verify-{codec}", f"verify --deep, {codec}", self.GIB
        yield "info-many", "info, 1 M chunks", None
        yield "one-many", "one element, 1 M chunks", None
        yield "sum-many", "sum of all, 1 M chunks", None

    def command(self, engine, job):
        verb, codec = job.split("-")
        if engine == "tesselle":
            return [self.release / "ours-tet", job, self.folder]
        if engine == "tetration":
            return [self.release / "original-tet", job, self.folder]
        if verb == "verify" or codec == "many" or (engine == "numpy" and codec != "raw"):
            return None
        return [sys.executable, HERE / "engines" / "tet_python.py", engine, job, self.folder]


SUITES = {"tet": Tet}


def rate(seconds, size):
    return f"{size / seconds / 1e9:.2f} GB/s" if size else (f"{seconds:.3f} s" if seconds >= 0.001 else f"{seconds * 1e6:.0f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--folder", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--only", default="")
    parser.add_argument("--engines", default="")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    suite = SUITES[args.suite](args.folder.resolve())
    suite.prepare()
    engines = args.engines.split(",") if args.engines else suite.ENGINES
    print("| job | " + " | ".join(f"{e}" for e in engines) + " |")
    print("|---|" + "---|" * len(engines))
    records = []
    for job, title, size in suite.jobs():
        if args.only not in job:
            continue
        cells, ours = [], None
        for engine in engines:
            command = suite.command(engine, job)
            result = run(command) if command else None
            if result is None:
                cells.append(f"> {PATIENCE_S} s, or failed" if command else "–")
                continue
            seconds, answer, peak = result
            if engine == "tesselle":
                ours = result
            text = f"{rate(seconds, size)}, {peak >> 20} MiB"
            if ours and engine != "tesselle":
                text += f" ({seconds / ours[0]:.2f}x)"
                if abs(answer - ours[1]) > TOLERANCE * max(1.0, abs(ours[1])):
                    text += f" DIFFERS: {answer} against {ours[1]}"
            cells.append(text)
            records.append({"job": job, "engine": engine, "seconds": seconds, "answer": answer, "peak_bytes": peak})
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
    print("\nMiB is the peak resident memory of the process, pages of mapped files included. (2.00x): Tesselle took half the time.")
    if args.json:
        args.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
