"""Deletions and resource files: what tess writes next to a file is read by IoTDB's own classes, and the other way round.

Every case draws points and deletions from its seed. The points that remain are computed here as well. Usage:
deletions.py --tess TESS --work DIR [--old CLASSPATH] [--tree …] [--table …] [--cases N] [--seed S]
"""

import argparse
import pathlib
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.ipc as ipc

DEVICES = ["root.sg.d1", "root.sg.d2", "root.other.d1", "root.sg.deep.d1"]
PATTERNS = ["root.sg.d1.s0", "root.sg.*.s1", "root.sg.d2.*", "root.*.d1.*", "root.sg.**", "root.**"]
FIRST, LAST = -(1 << 63), (1 << 63) - 1


def matches(pattern, path):
    """Whether a path matches a pattern: * is one node, ** one or more."""
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return any(matches(pattern[1:], path[n:]) for n in range(1, len(path) + 1))
    return pattern[0] in ("*", path[0]) and matches(pattern[1:], path[1:])


def time_range(rng, times, with_start):
    """A range of times that touches some of them; None for an open end."""
    low, high = sorted(rng.choice(times) + rng.randrange(-2, 3) for _ in range(2))
    start = low if with_start and rng.random() < 0.7 else None
    return start, high if start is None or rng.random() < 0.8 else None


class Suite:
    def __init__(self, options):
        self.tess, self.work = options.tess, pathlib.Path(options.work)
        self.failures = 0

    def run(self, *command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command[:6]))}: {done.stderr.strip()[-900:]}")
        return done.stdout

    def java(self, library, mode, *args):
        class_path, name = library
        lines = self.run("java", "-cp", class_path, name, mode, *args).splitlines()
        # A library may log to standard output.
        return sorted(tuple(line.split("\t")) for line in lines if line.count("\t") == 2)

    def compare(self, what, got, want):
        if got != want:
            self.failures += 1
            print(f"FAIL {what}: {len(got)} for {len(want)}; {sorted(set(got) ^ set(want))[:4]}"[:900])

    def write(self, fields, arrays, *settings):
        """A file of the rows, in a folder without side files."""
        folder = self.work / "data"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        source, target = self.work / "rows.arrow", folder / "1-1-0-0.tsfile"
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        with ipc.new_file(str(source), table.schema) as sink:
            sink.write_table(table)
        self.run(self.tess, "convert", source, target, *settings)
        return target

    def rows(self, file, table):
        out = self.work / "cat.arrow"
        self.run(self.tess, "cat", file, "--table", table, "--as", "arrow", "-o", out, "--force")
        with ipc.open_file(str(out)) as reader:
            table = reader.read_all()
        times = table.column("time").cast(pa.int64())
        return table.set_column(table.schema.get_field_index("time"), "time", times).to_pylist()

    def put(self, lines):
        file = self.work / "lines.tsv"
        file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
        return file

    def check_compacted(self, what, library, file, points):
        """The devices and times of the resource file that a compaction writes."""
        if not points:
            return
        target = file.with_name("2-2-0-0.tsfile")
        self.run(self.tess, "tsfile", "compact", file, target)
        ranges = {}
        for device, _, time in points:
            low, high = ranges.get(device, (time, time))
            ranges[device] = (min(low, time), max(high, time))
        want = sorted((device, str(low), str(high)) for device, (low, high) in ranges.items())
        self.compare(f"resource file of {what}", self.java(library, "resource", target), want)

    def tree_file(self, rng, version):
        """A file of devices of the tree model, and its points."""
        rows, points = [], []
        for device in rng.sample(DEVICES, rng.randrange(1, len(DEVICES) + 1)):
            time = rng.randrange(0, 1000)
            for _ in range(rng.choice([1, 5, 60])):
                values = [rng.randrange(100) if rng.random() < 0.8 else None for _ in range(3)]
                values[0] = time if not any(v is not None for v in values) else values[0]
                rows.append((time, device, *values))
                points += [(device, f"s{i}", time) for i, value in enumerate(values) if value is not None]
                time += rng.randrange(1, 50)
        fields = [pa.field("time", pa.timestamp("ms"), False), pa.field("device", pa.string())]
        fields += [pa.field(f"s{i}", pa.int32()) for i in range(3)]
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows), fields)]
        sets = [f"version={version}", "device_column=device", f"page_points={rng.choice([3, 1000])}"]
        if version > 2:
            sets.append(f"aligned={rng.choice(['true', 'false'])}")
        return self.write(fields, arrays, *(part for value in sets for part in ("--set", value))), points

    def drawn(self, rng, version, points):
        """Deletions that each hit a series of the file, as (pattern, first time, last time)."""
        times = sorted(time for _, _, time in points)
        patterns = [p for p in PATTERNS if any(matches(p.split("."), f"{d}.{s}".split(".")) for d, s, _ in points)]
        return [(rng.choice(patterns), *time_range(rng, times, version > 1)) for _ in range(rng.randrange(1, 4))]

    @staticmethod
    def remaining(points, deletions):
        def gone(device, series, time):
            path = f"{device}.{series}".split(".")
            inside = lambda low, high: (low is None or low <= time) and (high is None or time <= high)
            return any(matches(p.split("."), path) and inside(low, high) for p, low, high in deletions)

        return [point for point in points if not gone(*point)]

    def tree_to_library(self, rng, version, library):
        file, points = self.tree_file(rng, version)
        deletions = self.drawn(rng, version, points)
        for pattern, low, high in deletions:
            times = ["--from", low] * (low is not None) + ["--to", high] * (high is not None)
            self.run(self.tess, "tsfile", "delete", file, "--series", pattern, *times)
        want = self.remaining(points, deletions)
        text = lambda points: sorted((d, s, str(t)) for d, s, t in points)
        what = f"version {version} {deletions}"
        self.compare(what, self.java(library, "read", file, self.put(points)), text(want))
        own = [(row["device"], row["measurement"], row["time"]) for row in self.rows(file, "*")]
        self.compare("own " + what, text(own), text(want))
        self.check_compacted(what, library, file, want)

    def library_to_tree(self, rng, version, library):
        file, points = self.tree_file(rng, version)
        if version == 1:
            # Its deletions are of one series each, up to a time.
            series = sorted({(device, name) for device, name, _ in points})
            times = [time for _, _, time in points]
            deletions = [(".".join(rng.choice(series)), None, rng.choice(times)) for _ in range(rng.randrange(1, 4))]
        else:
            deletions = self.drawn(rng, version, points)
        bounds = lambda low, high: (FIRST if low is None else low, LAST if high is None else high)
        self.java(library, "write", file, self.put((p, *bounds(low, high)) for p, low, high in deletions))
        own = sorted((row["device"], row["measurement"], row["time"]) for row in self.rows(file, "*"))
        self.compare(f"written by the library: {deletions}", own, sorted(self.remaining(points, deletions)))

    def table_to_library(self, rng, library):
        rows, points = [], []
        for site, pump in {(rng.choice("ab"), rng.choice("xyz")) for _ in range(4)}:
            time = rng.randrange(0, 1000)
            for _ in range(rng.choice([1, 30])):
                values = [rng.randrange(100) if rng.random() < 0.8 else None for _ in range(2)]
                rows.append((time, site, pump, *values))
                points += [(site, pump, n, time) for n, v in zip(("flow", "heat"), values) if v is not None]
                time += rng.randrange(1, 50)
        fields = [pa.field("time", pa.timestamp("ms"), False)]
        fields += [pa.field(name, pa.string()) for name in ("site", "pump")]
        fields += [pa.field(name, pa.int32()) for name in ("flow", "heat")]
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows), fields)]
        sets = ["--set", "model=table", "--set", "tags=site,pump", "--into", "plant"]
        file = self.write(fields, arrays, *sets)
        deletions = []
        for _ in range(rng.randrange(1, 4)):
            site, pump, column, _ = rng.choice(points) if points else ("a", "x", "flow", 0)
            tags = {name: value for name, value in (("site", site), ("pump", pump)) if rng.random() < 0.5}
            columns = rng.choice([[], [column]])
            low, high = time_range(rng, [row[0] for row in rows], True)
            deletions.append((tags, columns, low, high))
            call = [part for name, value in tags.items() for part in ("--tag", f"{name}={value}")]
            call += ["--columns", ",".join(columns)] * bool(columns)
            call += ["--from", low] * (low is not None) + ["--to", high] * (high is not None)
            self.run(self.tess, "tsfile", "delete", file, "--table", "plant", *call)

        def gone(site, pump, column, time):
            return any(
                tags.get("site", site) == site and tags.get("pump", pump) == pump
                and (not columns or column in columns)
                and (low is None or low <= time) and (high is None or time <= high)
                for tags, columns, low, high in deletions
            )

        want = [(f"plant|{site}|{pump}", column, time) for site, pump, column, time in points
                if not gone(site, pump, column, time)]
        lines = [(f"plant|{site}|{pump}", column, time) for site, pump, column, time in points]
        text = lambda points: sorted((d, s, str(t)) for d, s, t in points)
        what = f"table {deletions}"
        self.compare(what, self.java(library, "read", file, self.put(lines)), text(want))
        own = [(f"plant|{row['site']}|{row['pump']}", name, row["time"]) for row in self.rows(file, "plant")
               for name in ("flow", "heat") if row[name] is not None]
        self.compare("own " + what, text(own), text(want))
        self.check_compacted(what, library, file, want)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tess", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--old", help="class path of IoTDB 0.9.3 and DeletionsOld; without it: no such cases")
    parser.add_argument("--tree", help="class path of IoTDB 1.2.2 and DeletionsTree")
    parser.add_argument("--table", help="class path of IoTDB 2.0.1 and Deletions")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two cases of each kind, for every commit")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.quick:
        options.cases = 2
    suite = Suite(options)
    suite.work.mkdir(parents=True, exist_ok=True)
    kinds = []
    for class_path, name, version in [
        (options.old, "DeletionsOld", 1),
        (options.tree, "DeletionsTree", 3),
        (options.table, "Deletions", 4),
    ]:
        if class_path:
            library = (class_path, name)
            kinds += [
                (f"deletions of version {version} to IoTDB", lambda r, v=version, l=library: suite.tree_to_library(r, v, l)),
                (f"deletions of version {version} from IoTDB", lambda r, v=version, l=library: suite.library_to_tree(r, v, l)),
            ]
    if options.table:
        library = (options.table, "Deletions")
        kinds.append(("deletions of tables to IoTDB", lambda rng: suite.table_to_library(rng, library)))
    for name, case in kinds:
        before = suite.failures
        for i in range(options.cases):
            seed = f"{options.seed}/{name}/{i}"
            try:
                case(random.Random(seed))
            except Exception as error:
                suite.failures += 1
                print(f"FAIL case {seed}: {error}"[:900])
        print(f"{name}: {options.cases} cases, {suite.failures - before} failures", flush=True)
    sys.exit(1 if suite.failures else 0)


if __name__ == "__main__":
    main()
