"""Stores of obstore, file systems and files of fsspec."""

from __future__ import annotations

import io
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest
import tesselle as ts
from conftest import plain

fsspec = pytest.importorskip("fsspec")
obstore = pytest.importorskip("obstore")
stores = pytest.importorskip("obstore.store")


@pytest.fixture(params=["obstore memory", "obstore local", "fsspec memory", "fsspec local"])
def store(request: pytest.FixtureRequest, tmp_path: pathlib.Path, field, pages) -> Any:  # type: ignore[no-untyped-def]
    """A store with a file, a file of rows, and an array that is a folder, below ``data``."""
    root = tmp_path / "root"
    (root / "data").mkdir(parents=True)
    (root / "data" / "field.tet").write_bytes(pathlib.Path(field[0]).read_bytes())
    (root / "data" / "pages.tatami").write_bytes(pathlib.Path(pages[0]).read_bytes())
    ts.write(field[1], root / "data" / "wind.tiledb", format="tiledb", table="wind")
    if request.param == "obstore local":
        return stores.LocalStore(root)
    if request.param == "fsspec local":
        return fsspec.filesystem("dir", path=str(root), fs=fsspec.filesystem("file"))
    files = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    if request.param == "obstore memory":
        memory = stores.MemoryStore()
        for name, content in files.items():
            memory.put(name, content)
        return memory
    memory = fsspec.filesystem("memory")
    memory.rm("/data", recursive=True) if memory.exists("/data") else None
    for name, content in files.items():
        memory.pipe(f"/{name}", content)
    return memory


def test_files_of_a_store(store, field, pages) -> None:  # type: ignore[no-untyped-def]
    container = ts.open("data/field.tet", store=store)
    assert container.format == "tet" and container.uri == "data/field.tet"
    array = container.table().array()
    assert numpy.array_equal(array[...], field[1]) and numpy.array_equal(array[1:4, ::3, 2], field[1][1:4, ::3, 2])
    assert array.sum() == pytest.approx(field[1].sum(dtype="f8"))
    assert container.layout() and container.info()["format"] == "tet"
    scan = ts.scan("data/pages.tatami", ["id", "name"], "id >= 4000", store=store)
    assert scan.count() == 1000 and plain(scan.to_arrow()).equals(plain(pages[1].slice(4000).select(["id", "name"])))
    assert ts.scan("data/pages.tatami", store=store, batch_rows=100).to_polars().height == 5000
    assert ts.dataset("data/pages.tatami", store=store).count_rows() == 5000
    assert ts.polars.scan("data/pages.tatami", store=store).collect().height == 5000


def test_folders_of_a_store(store, field) -> None:  # type: ignore[no-untyped-def]
    for name in ("data/wind.tiledb", "data/wind.tiledb/"):
        container = ts.open(name, store=store)
        assert container.format == "tiledb"
        assert numpy.array_equal(container.table().array()[...], field[1])


def test_names_of_tables_and_missing_files(store, field) -> None:  # type: ignore[no-untyped-def]
    name = next(iter(ts.open("data/field.tet", store=store)))
    assert ts.open(f"data/field.tet#{name}", store=store).table().num_rows == field[1].size
    with pytest.raises(KeyError):
        ts.open("data/field.tet#other", store=store).table()
    with pytest.raises(ts.NotFound, match="nowhere.tet"):
        ts.open("nowhere.tet", store=store)


@pytest.mark.parametrize("store", ["obstore memory", "fsspec memory"], indirect=True)
def test_what_a_store_holds_in_memory_stays_in_its_process(store) -> None:  # type: ignore[no-untyped-def]
    scan = ts.scan("data/pages.tatami", store=store)
    for value in (scan, ts.open("data/field.tet", store=store), scan.splits(2)[0]):
        with pytest.raises(ts.InvalidCall, match="this process only"):
            pickle.dumps(value)
    assert scan == ts.scan("data/pages.tatami", store=store)


def in_another_process(value: Any) -> str:
    """Returns the number of rows that a new process counts."""
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count())"
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(value), capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_stores_that_others_can_have_travel(tmp_path: pathlib.Path, pages, field) -> None:  # type: ignore[no-untyped-def]
    name = pathlib.Path(pages[0]).name
    for store, path in [
        (stores.LocalStore(str(pathlib.Path(pages[0]).parent)), name),
        (fsspec.filesystem("file"), pages[0]),
    ]:
        scan = ts.scan(path, store=store, where="id < 100")
        assert in_another_process(scan) == "100"
        assert sum(int(in_another_process(part)) for part in scan.splits(2)) == 100
        assert pickle.loads(pickle.dumps(scan)) == scan
    container = ts.open(field[0], store=fsspec.filesystem("file"))
    array = container.table().array()
    assert numpy.array_equal(pickle.loads(pickle.dumps(container)).table()[0], field[1][0])
    assert numpy.array_equal(pickle.loads(pickle.dumps(array))[0], field[1][0])


def test_scans_of_urls_travel(server: str, plant) -> None:  # type: ignore[no-untyped-def]
    scan = ts.scan(f"{server}/plant.tsfile#root.fleet.truck1", ["speed"], "speed > 200")
    assert in_another_process(scan) == str(scan.count())
    assert sum(int(in_another_process(part)) for part in scan.splits(3)) == scan.count()
    assert pickle.loads(pickle.dumps(ts.open(f"{server}/field.tet"))).format == "tet"


def test_threads_share_a_store(store, field) -> None:  # type: ignore[no-untyped-def]
    import concurrent.futures

    array = ts.open("data/field.tet", store=store).table().array()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for at, found in enumerate(pool.map(lambda at: array[at % 6], range(24))):
            assert numpy.array_equal(found, field[1][at % 6])


def test_files_of_fsspec_and_obstore(field) -> None:  # type: ignore[no-untyped-def]
    content = pathlib.Path(field[0]).read_bytes()
    memory = fsspec.filesystem("memory")
    memory.pipe("/alone.tet", content)
    with memory.open("/alone.tet", "rb") as file:
        assert numpy.array_equal(ts.open(file).table()[...], field[1])
        assert ts.scan(file).count() == field[1].size
    assert numpy.array_equal(ts.open(fsspec.open("memory://alone.tet")).table()[...], field[1])
    with pytest.raises(TypeError, match="compressed"):
        ts.open(fsspec.open("memory://alone.tet", compression="gzip"))
    held = stores.MemoryStore()
    held.put("alone.tet", content)
    assert numpy.array_equal(ts.open(obstore.open_reader(held, "alone.tet")).table()[...], field[1])


def test_paths_that_are_not_local(field) -> None:  # type: ignore[no-untyped-def]
    paths = pytest.importorskip("upath")
    fsspec.filesystem("memory").pipe("/alone.tet", pathlib.Path(field[0]).read_bytes())
    assert numpy.array_equal(ts.open(paths.UPath("memory://alone.tet")).table()[...], field[1])
    assert numpy.array_equal(ts.open(paths.UPath(field[0])).table()[...], field[1])


def test_what_is_no_store_is_refused(field) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match="a store is one of obstore"):
        ts.open(field[0], store={})
    with pytest.raises(TypeError, match="a path in a store"):
        ts.open(3, store=stores.MemoryStore())


def test_a_store_that_fails(field) -> None:  # type: ignore[no-untyped-def]
    from fsspec.implementations.memory import MemoryFileSystem

    class Failing(MemoryFileSystem):  # type: ignore[misc, unused-ignore]
        def cat_ranges(self, *_: Any, **__: Any) -> Any:
            raise PermissionError("no key for this bucket\nand much more")

    fsspec.filesystem("memory").pipe("/alone.tet", pathlib.Path(field[0]).read_bytes())
    with pytest.raises(ts.StorageError, match="no key for this bucket") as failed:
        ts.open("/alone.tet", store=Failing())
    assert "much more" not in str(failed.value)


@pytest.fixture
def server(field, plant) -> Any:  # type: ignore[no-untyped-def]
    """The url of a server of ranges, with ``field.tet`` and ``plant.tsfile``."""
    import http.server
    import threading

    folder = pathlib.Path(field[0]).parent

    class Ranges(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(with_content=True)

        def do_HEAD(self) -> None:
            self.answer(with_content=False)

        def answer(self, with_content: bool) -> None:
            file = folder / self.path.lstrip("/")
            if not file.is_file():
                self.send_error(404)
                return
            content = file.read_bytes()
            wanted = self.headers.get("Range")
            if wanted is None:
                self.send_response(200)
                part = content
            else:
                first, last = wanted.removeprefix("bytes=").split("-")
                part = content[int(first) : int(last) + 1 if last else None]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.end_headers()
            if with_content:
                self.wfile.write(part)

        def log_message(self, *_: Any) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    thread.join()
    running.server_close()


def test_urls_are_read_through_obstore(server: str, field, plant) -> None:  # type: ignore[no-untyped-def]
    container = ts.open(f"{server}/field.tet")
    assert container.format == "tet" and numpy.array_equal(container.table()[1:4, ::3], field[1][1:4, ::3])
    scan = ts.scan(f"{server}/plant.tsfile#root.fleet.truck1", ["speed"], "speed > 200")
    assert scan.count() == sum(speed > 200 for speed in plant[1]["speed"].to_pylist())
    with pytest.raises(ts.NotFound, match="nowhere.tet"):
        ts.open(f"{server}/nowhere.tet")


def test_urls_of_other_schemes_are_read_through_fsspec(field) -> None:  # type: ignore[no-untyped-def]
    fsspec.filesystem("memory").pipe("/alone.tet", pathlib.Path(field[0]).read_bytes())
    assert numpy.array_equal(ts.open("memory://alone.tet").table()[...], field[1])
    name = next(iter(ts.open("memory://alone.tet")))
    assert ts.scan(f"memory://alone.tet#{name}").count() == field[1].size


def test_settings_of_an_object_store(field, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    asked = []

    def from_url(url: str, **options: Any) -> Any:
        asked.append((url, options))
        held = stores.MemoryStore()
        held.put("runs/field.tet", pathlib.Path(field[0]).read_bytes())
        return held

    monkeypatch.setattr(stores, "from_url", from_url)
    options = {"aws_region": "eu-west-1"}
    assert numpy.array_equal(ts.open("s3://bucket/runs/field.tet", storage_options=options).table()[...], field[1])
    assert ts.scan("s3://bucket/runs/field.tet", storage_options=options).count() == field[1].size
    assert asked == [("s3://bucket", {"config": options})] * 2
    asked.clear()
    client = {"AWS_ALLOW_HTTP": "true", "timeout": "5s"}
    assert ts.open("s3://bucket/runs/field.tet", storage_options=options | client).format == "tet"
    assert asked == [("s3://bucket", {"config": options, "client_options": {"allow_http": "true", "timeout": "5s"}})]
    for call in (ts.open, ts.scan, ts.verify):
        with pytest.raises(ts.InvalidCall, match="s3://"):
            call(field[0], storage_options=options)
    with open(field[0], "rb") as file, pytest.raises(ts.InvalidCall, match="its own"):
        ts.open(file, storage_options={"mapped": True})


@pytest.mark.parametrize(
    ("url", "options"), [("s3://bucket/a.tet", {"nonsense": "1"}), ("nowhere://a.tet", {})]
)
def test_a_store_that_cannot_be_opened(url: str, options: dict[str, str]) -> None:
    with pytest.raises(ts.InvalidCall, match="cannot be accessed: "):
        ts.open(url, storage_options=options)


def test_local_files_can_be_mapped(tmp_path: pathlib.Path, field, plant, pages) -> None:  # type: ignore[no-untyped-def]
    mapped = {"mapped": "true"}
    for ending in ("npy", "tiledb", "zarr"):
        ts.write(field[1], tmp_path / f"cells.{ending}")
    for path in (field[0], *(tmp_path / f"cells.{ending}" for ending in ("npy", "tiledb", "zarr"))):
        array = ts.open(path, storage_options=mapped).table().array()
        for _ in range(40):
            assert numpy.array_equal(array[1:5, 2:9, ::2], field[1][1:5, 2:9, ::2])
        assert numpy.array_equal(array, field[1])
        assert numpy.array_equal(pickle.loads(pickle.dumps(array)), field[1])
    for path in (plant[0], pages[0]):
        assert ts.scan(path, storage_options={"mapped": True}).to_arrow().equals(ts.scan(path).to_arrow())
    assert ts.scan(field[0], storage_options=mapped).splits(2)[0].count()
    assert ts.verify(field[0], storage_options={"mapped": False}).ok
    with pytest.raises(ts.InvalidCall, match="true or false"):
        ts.open(field[0], storage_options={"mapped": "maybe"})


def test_a_file_object_that_gives_too_much_is_an_error(field) -> None:  # type: ignore[no-untyped-def]
    class Odd(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return b"abc"

    with pytest.raises(ts.Error):
        ts.open(Odd(pathlib.Path(field[0]).read_bytes()), format="tet")
