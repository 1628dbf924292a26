#!/usr/bin/env python3
"""Runs the same jobs through Tesselle, the original engine and its rivals, one after the other, and prints ratios.

    compare.py SUITE [--folder DIR] [--only SUBSTR] [--engines A,B] [--rounds N] [--json FILE] [--tiny]

Each job runs in a process of its own (so that peak memory is its own), several times inside it; the best run counts:
what disturbs a run only makes it slower. With --rounds, the engines take turns: every job has N processes per engine, and
how far their best runs differ is the noise of the machine.
All engines must return the same result, or the row is marked.
"""
import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
SUITES = sorted(path.stem for path in (HERE / "suites").glob("*.py") if "_" not in path.stem)
TOLERANCE = 1e-5
PATIENCE_S = 60       # a job that takes longer is shown as such


def run(command):
    """The report of one job, with the seconds of its best run and its peak bytes; None if the engine does not support it."""
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
    return {**result, "seconds": min(result["seconds"]), "peak_bytes": usage.ru_maxrss * 1024}


def take_turns(commands, rounds):
    """The best report of each engine after `rounds` processes each, in turn; None for an engine that fails once. Then how
    much slower the slowest process of each engine was than its fastest."""
    found = {engine: [] for engine in commands}
    for _ in range(rounds):
        for engine, command in commands.items():
            if None not in found[engine]:
                found[engine].append(run(command))
    best, spread = {}, {}
    for engine, reports in found.items():
        if None in reports:
            best[engine] = None
            continue
        best[engine] = min(reports, key=lambda report: report["seconds"])
        best[engine]["peak_bytes"] = max(report["peak_bytes"] for report in reports)
        spread[engine] = max(report["seconds"] for report in reports) / best[engine]["seconds"] - 1
    return best, spread


def rate(seconds, work):
    """`work` is None (the time is shown), bytes, or (count, unit)."""
    if work is None:
        return f"{seconds:.3f} s" if seconds >= 0.001 else f"{seconds * 1e6:.0f} us"
    count, unit = work if isinstance(work, tuple) else (work, None)
    if unit is None:
        return f"{count / seconds / 1e9:.2f} GB/s"
    per = count / seconds
    return f"{per / 1e6:.2f} M {unit}/s" if per >= 1e6 else f"{per:,.0f} {unit}/s"


def extras(result):
    """Results of some jobs besides their time: the written size, the 99th percentile."""
    text = ""
    if "bytes" in result:
        text += f", {result['bytes'] / 1e6:.1f} MB"
    if "p99" in result:
        text += f", p99 {result['p99'] * 1e3:.3f} ms"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--folder", type=pathlib.Path, default=None, help="where the data is made (benches/compare/data/SUITE)")
    parser.add_argument("--only", default="")
    parser.add_argument("--engines", default="")
    parser.add_argument("--rounds", type=int, default=1, help="processes per job and engine, in turn [default: 1]")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--tiny", action="store_true", help="little data: do the drivers run and agree?")
    args = parser.parse_args()
    args.folder = args.folder or HERE / "data" / (f"{args.suite}-tiny" if args.tiny else args.suite)
    args.folder.mkdir(parents=True, exist_ok=True)
    kind = importlib.import_module(f"suites.{args.suite}").Suite
    if args.tiny:
        os.environ["COMPARE_TINY"] = "1"
        for name, value in kind.TINY.items():
            setattr(kind, name, value)
    suite = kind(args.folder.resolve(), HERE / "rust" / "target" / ("debug" if args.tiny else "release"))
    jobs = [job for job in suite.jobs() if args.only in job[0]]
    suite.prepare([job for job, _, _ in jobs])
    engines = args.engines.split(",") if args.engines else suite.ENGINES
    print("| job | " + " | ".join(f"{e}" for e in engines) + " |")
    print("|---|" + "---|" * len(engines))
    records, wrong, spreads = [], [], []
    for job, title, work in jobs:
        cells, ours = [], None
        commands = {engine: suite.command(engine, job) for engine in engines}
        best, spread = take_turns({engine: command for engine, command in commands.items() if command}, args.rounds)
        spreads.extend(spread.values())
        for engine, command in commands.items():
            result = best.get(engine)
            if result is None:
                cells.append(f"> {PATIENCE_S} s, or failed" if command else "–")
                if command:
                    wrong.append(f"{job}: {engine} failed")
                continue
            # An engine that is slow at a job of many like parts may do only `done` of them.
            share = work[0] / result["done"] if "done" in result else 1.0
            seconds, answer = result["seconds"] * share, result["answer"]
            if engine == "tesselle":
                ours = seconds, answer
            text = f"{rate(seconds, work)}{extras(result)}, {result['peak_bytes'] >> 20} MiB"
            if ours and engine != "tesselle":
                text += f" ({seconds / ours[0]:.2f}x)"
                if share == 1.0 and abs(answer - ours[1]) > TOLERANCE * max(1.0, abs(ours[1])):
                    text += f" DIFFERS: {answer} against {ours[1]}"
                    wrong.append(f"{job}: {engine} differs")
            cells.append(text)
            records.append({"job": job, "engine": engine, **result, "seconds": seconds})
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
    for line in suite.notes() if hasattr(suite, "notes") else ():
        print(line)
    print("\nMiB is the peak resident memory of the process, pages of mapped files included. (2.00x): Tesselle took half the time.")
    if args.rounds > 1 and spreads:
        spreads.sort()
        print(f"Of {args.rounds} processes per cell the slowest took {spreads[len(spreads) // 2]:.0%} longer than the fastest (median of all cells), "
              f"{spreads[len(spreads) * 9 // 10]:.0%} in nine of ten cells at most.")
    if args.json:
        args.json.write_text(json.dumps(records, indent=1))
    if args.tiny and wrong:
        sys.exit("; ".join(wrong))


if __name__ == "__main__":
    main()
