"""Arrays index as numpy's do."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import numpy
import pytest
import tesselle as ts
from conftest import PEAK, needs_peak
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPE = (7, 12, 5)
CELLS = numpy.random.default_rng(3).integers(-1000, 1000, SHAPE).astype("i4")
FOLDER = tempfile.TemporaryDirectory()
ARRAYS: dict[str, ts.Array] = {}


def array(ending: str) -> ts.Array:
    """Returns the array in a file of this kind, written once."""
    if ending not in ARRAYS:
        path = pathlib.Path(FOLDER.name) / f"cells.{ending}"
        ts.write(CELLS, path, **({} if ending == "npy" else {"chunk": (3, 5, 5)} if ending != "tiledb" else {}))
        ARRAYS[ending] = ts.open(path).table().array()
    return ARRAYS[ending]


def parts(extent: int) -> st.SearchStrategy[Any]:
    """Returns indices of one axis that do not drop it: slices, lists, masks."""
    bound = st.none() | st.integers(-extent - 3, extent + 3)
    slices = st.builds(slice, bound, bound, st.none() | st.integers(1, extent + 2))
    lists = st.lists(st.integers(-extent, extent - 1), max_size=6)
    masks = st.lists(st.booleans(), min_size=extent, max_size=extent).map(numpy.array)
    return slices | lists | lists.map(lambda found: numpy.array(found, "i8")) | masks


@st.composite
def keys(draw: st.DrawFn) -> tuple[Any, ...]:
    """Draws an index of up to three axes, perhaps with an ellipsis."""
    chosen = [draw(parts(extent) | st.integers(-extent, extent - 1)) for extent in SHAPE]
    cut = draw(st.integers(0, len(SHAPE)))
    if draw(st.booleans()):
        end = draw(st.integers(cut, len(SHAPE)))
        return (*chosen[:cut], Ellipsis, *chosen[end:])
    return tuple(chosen[:cut])


def outer(cells: Any, key: tuple[Any, ...]) -> Any:
    """Indexes axis by axis: what numpy does with slices and integers, and outer with lists."""
    dotted = any(part is Ellipsis for part in key)
    if dotted:
        at = next(i for i, k in enumerate(key) if k is Ellipsis)
        rest = len(key) - 1
        key = (*key[:at], *[slice(None)] * (cells.ndim - rest), *key[at + 1 :])
    axis = 0
    for part in key:
        if isinstance(part, list):
            part = numpy.array(part, "i8")
        cells = cells[(slice(None),) * axis + (part,)]
        axis += not isinstance(part, int)
    return numpy.asarray(cells) if dotted else cells


@pytest.mark.parametrize("ending", ["tet", "npy", "zarr", "tiledb"])
@given(key=keys())
@settings(max_examples=150, deadline=None)
def test_indices_are_those_of_numpy(ending: str, key: tuple[Any, ...]) -> None:
    found, wanted = array(ending)[key], outer(CELLS, key)
    assert numpy.shape(found) == numpy.shape(wanted)
    assert numpy.array_equal(found, wanted)
    assert numpy.asarray(found).dtype == CELLS.dtype
    assert isinstance(found, numpy.ndarray) == isinstance(wanted, numpy.ndarray)


@given(
    key=st.tuples(
        *[
            st.integers(-extent - 2, extent + 1) | st.builds(slice, st.none() | st.integers(-20, 20), st.none())
            for extent in SHAPE
        ]
    )
)
@settings(max_examples=100, deadline=None)
def test_plain_indices_fail_where_numpy_fails(key: tuple[Any, ...]) -> None:
    try:
        wanted = CELLS[key]
    except IndexError:
        with pytest.raises(IndexError):
            array("tet")[key]
    else:
        assert numpy.array_equal(array("tet")[key], wanted)


@pytest.mark.parametrize(
    "key", [None, (0, None), (..., ...), (0, 0, 0, 0), slice(None, None, -1), 1.5, "x", True, [[0, 1]], [1.5], [99], [True]]
)
def test_what_has_no_meaning_is_refused(key: Any) -> None:
    with pytest.raises(IndexError):
        array("tet")[key]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("op", ["sum", "mean", "min", "max", "std", "var", "median"])
def test_reductions_are_those_of_numpy(op: str, axis: Any) -> None:
    found = getattr(array("tet"), op)(axis=axis)
    wanted = getattr(numpy, op)(CELLS, axis=axis)
    assert numpy.shape(found) == numpy.shape(wanted)
    assert numpy.allclose(found, wanted, rtol=1e-12)
    if op in ("sum", "min", "max"):
        assert numpy.array_equal(found, wanted)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("ending", ["tet", "npy"])
def test_medians_and_quantiles_are_read_in_bands(ending: str, axis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesselle._array._SLAB", 200)
    found = array(ending)
    wanted = numpy.median(CELLS, axis)
    assert numpy.shape(found.median(axis)) == numpy.shape(wanted) and numpy.array_equal(found.median(axis), wanted)
    for q in (0.25, [0.1, 0.5], [[0.0], [1.0]]):
        wanted = numpy.quantile(CELLS, q, axis)
        assert numpy.shape(found.quantile(q, axis)) == numpy.shape(wanted)
        assert numpy.array_equal(found.quantile(q, axis), wanted)


@needs_peak
def test_a_median_along_an_axis_takes_little_memory(tmp_path: pathlib.Path) -> None:
    cells = numpy.random.default_rng(0).random((64, 1024, 1024), "f4")
    # Pages of a raw file that the process maps would count, although the system takes them back at will.
    ts.write(cells, tmp_path / "large.tet", chunk=(64, 128, 128), codec="zstd")
    script = f"""
import numpy
import tesselle as ts
{PEAK}
array = ts.open({str(tmp_path / "large.tet")!r}).table().array()
array[0, 0, 0], numpy.median(numpy.zeros((2, 2)), axis=0)
print(peak(lambda: array.median(axis=0))[0])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Of 256 MiB, in bands of 64 MiB.
    assert 16 << 20 < int(run.stdout) < 200 << 20


def test_axes_have_names(tmp_path: pathlib.Path) -> None:
    found = array("tet")
    assert numpy.array_equal(found.max(axis="i1"), CELLS.max(1))
    assert numpy.array_equal(found.sum(axis=("i2", 0)), CELLS.sum((0, 2)))
    assert numpy.array_equal(found.median("i0"), numpy.median(CELLS, 0))
    with pytest.raises(KeyError, match="i0, i1, i2"):
        found.mean("time")
    with pytest.raises(ValueError):
        found.mean((0, "i0"))


def test_reductions_of_floats_keep_nan(tmp_path: pathlib.Path) -> None:
    cells = numpy.array([[1.0, numpy.nan], [3.0, -2.0]], "f4")
    ts.write(cells, tmp_path / "nan.tet")
    found = ts.open(tmp_path / "nan.tet").table().array()
    with numpy.errstate(invalid="ignore"):
        for op in ("sum", "mean", "min", "max"):
            for axis in (None, 0, 1):
                wanted = getattr(numpy, op)(cells, axis=axis)
                assert numpy.array_equal(getattr(found, op)(axis), wanted, equal_nan=True), (op, axis)
    assert found.min(1).dtype == numpy.float32
    assert found.quantile(0.5, axis=1)[1] == 0.5


def test_sums_are_exact_beyond_64_bits(tmp_path: pathlib.Path) -> None:
    cells = numpy.array([[2**63 - 1, 2**63 - 1], [-1, 5]], "i8")
    ts.write(cells, tmp_path / "large.tet")
    found = ts.open(tmp_path / "large.tet").table().array()
    assert found.sum() == 2 * (2**63 - 1) + 4
    assert found.sum(1).tolist() == [2 * (2**63 - 1), 4]
    assert found.sum(0).tolist() == [2**63 - 2, 2**63 + 4]
    ts.write(cells[1:].astype("u8") % 100, tmp_path / "unsigned.tet")
    assert ts.open(tmp_path / "unsigned.tet").table().array().sum(0).dtype == numpy.uint64


def test_an_array_states_what_it_is() -> None:
    found = array("tet")
    assert (found.shape, found.dtype, found.ndim, found.chunks) == (SHAPE, CELLS.dtype, 3, (3, 5, 5))
    assert (found.size, found.nbytes, len(found)) == (CELLS.size, CELLS.nbytes, 7)
    assert found.dims == ("i0", "i1", "i2")
    assert numpy.array_equal(numpy.asarray(found), CELLS)
    assert numpy.array_equal(numpy.from_dlpack(found), CELLS)
    with pytest.raises(ValueError):
        numpy.asarray(found, copy=False)
    with pytest.raises(BufferError):
        numpy.from_dlpack(found, copy=False)
    assert "i4" in repr(found) or "int32" in repr(found)


def test_regions_go_straight_into_any_buffer() -> None:
    found = array("tet")
    out = numpy.zeros((2, 12), "i4")
    assert found.read((slice(1, 6, 4), slice(None), 2), out=out) is out
    assert numpy.array_equal(out, CELLS[1:6:4, :, 2])
    single = numpy.zeros((), "i4")
    assert found.read((1, 2, 3), out=single) is single and single == CELLS[1, 2, 3]
    raw = bytearray(CELLS.nbytes)
    found.read(out=raw)
    assert bytes(raw) == CELLS.tobytes()
    for locked in (numpy.zeros(SHAPE, "i4"), numpy.zeros(SHAPE[::-1], "i4").T, bytes(CELLS.nbytes)):
        if isinstance(locked, numpy.ndarray):
            locked.flags.writeable = False
        with pytest.raises(BufferError, match="read-only"):
            found.read(out=locked)
    floats = memoryview(bytearray(CELLS.nbytes)).cast("f")
    for wrong in (numpy.zeros(SHAPE, "f4"), numpy.zeros((7, 5, 12), "i4"), bytearray(8), bytearray(), floats):
        with pytest.raises(ValueError):
            found.read(out=wrong)


def test_regions_go_into_tensors() -> None:
    class Tensor:
        """Memory that only DLPack shows, as that of torch."""

        def __init__(self, cells: Any) -> None:
            self.cells = cells

        def __dlpack__(self, **options: Any) -> Any:
            return self.cells.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.cells.__dlpack_device__()

    for cells in (numpy.zeros((7, 5), "i4"), numpy.zeros((5, 7), "i4").T):
        tensor = Tensor(cells)
        assert array("tet").read((slice(None), 3), out=tensor) is tensor
        assert numpy.array_equal(cells, CELLS[:, 3])
    with pytest.raises(ts.InvalidCall, match="float32"):
        array("tet").read(0, out=Tensor(numpy.zeros((12, 5), "f4")))
    with pytest.raises(TypeError):
        array("tet").read(0, out=object())


@pytest.mark.parametrize("slab", [1, 200, 600, 1 << 20])
def test_regions_go_into_buffers_with_gaps(slab: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesselle._array._SLAB", slab)
    found = array("tet")
    for make in (
        lambda shape: numpy.zeros((*shape[:-1], shape[-1] * 2), "i4")[..., ::2],
        lambda shape: numpy.zeros(shape[::-1], "i4").T,
        lambda shape: numpy.zeros(shape, "i4")[::-1],
    ):
        for key in ((), (3,), (slice(1, 7, 2), slice(None), slice(3)), (slice(None), 4), (slice(2, 3), 5, slice(None, None, 2))):
            out = make(CELLS[key].shape)
            assert found.read(key, out=out) is out and numpy.array_equal(out, CELLS[key]), key
            out[...] = 0
            found.read(key, out=memoryview(out))
            assert numpy.array_equal(out, CELLS[key]), key
    gaps = memoryview(bytearray(CELLS.nbytes * 2))[::2]
    for wrong in (gaps, memoryview(numpy.zeros((7, 12, 10), "f4"))[::2], numpy.zeros((7, 12, 10), "u4")[..., ::2]):
        with pytest.raises(ValueError):
            found.read(out=wrong)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f8", ">i2"])
@pytest.mark.parametrize("ending", ["tet", "npy", "zarr", "tiledb"])
def test_types_come_back(ending: str, dtype: str, tmp_path: pathlib.Path) -> None:
    if ending == "tet" and dtype in ("i1", "u1") or ending == "tiledb" and dtype == "f2":
        pytest.skip("the format has no such type")
    cells = numpy.arange(12, dtype=dtype).reshape(3, 4).T
    path = tmp_path / f"cells.{ending}"
    ts.write(cells, path)
    found = ts.open(path).table().array()
    assert found.dtype == cells.dtype.newbyteorder("<")
    assert numpy.array_equal(found[...], cells)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (1,), (1, 1, 1, 1)])
def test_odd_shapes_come_back(shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    cells = numpy.ones(shape, "f4")
    for ending in ("npy", "tet", "zarr"):
        path = tmp_path / f"cells.{ending}"
        try:
            ts.write(cells, path)
        except ts.InvalidCall:
            continue
        found = ts.open(path).table().array()
        assert found.shape == shape
        assert numpy.array_equal(found[...], cells)


def test_coordinates_that_do_not_begin_at_zero(tmp_path: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    path = str(tmp_path / "moved")
    axes = [("y", (-5, 4), 5), ("x", (1, 6), 3)]
    domain = tiledb.Domain(*[tiledb.Dim(name=n, domain=d, tile=t, dtype="int32") for n, d, t in axes])
    tiledb.Array.create(path, tiledb.ArraySchema(domain, [tiledb.Attr("a", dtype="f8")], sparse=False))
    cells = numpy.random.default_rng(0).normal(size=(10, 6))
    with tiledb.open(path, "w") as original:
        original[:] = cells
    found = ts.open(path).table().array("a")
    assert found.origin == (-5, 1)
    assert numpy.array_equal(found[...], cells)
    assert numpy.array_equal(found[-3:, [0, 5]], cells[-3:, [0, 5]])
    labelled = found.to_xarray()
    assert labelled.sel(y=-5, x=6) == cells[0, 5]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_reductions_of_no_cells_are_those_of_numpy(shape: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    cells = numpy.zeros(shape, "f4")
    numpy.save(tmp_path / "none.npy", cells)
    found = ts.open(tmp_path / "none.npy").table().array()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for axis in [None, *range(len(shape))]:
            for op in ("sum", "mean", "std", "var"):
                wanted = getattr(cells, op)(axis=axis, keepdims=True)
                kept = getattr(found, op)(axis=axis, keepdims=True)
                assert kept.shape == wanted.shape and numpy.array_equal(kept, wanted, equal_nan=True), (op, axis)
            for op in ("min", "max"):
                if shape[axis or 0] and axis is not None:
                    assert getattr(found, op)(axis).shape == getattr(cells, op)(axis).shape
                else:
                    with pytest.raises(ValueError):
                        getattr(found, op)(axis)


def test_masks_of_all_axes(tmp_path: pathlib.Path) -> None:
    found, mask = array("tet"), CELLS > 100
    numpy.save(tmp_path / "mask.npy", mask)
    for key in (mask, (mask,), ts.open(tmp_path / "mask.npy").table().array()):
        assert numpy.array_equal(found[key], CELLS[mask])


def test_ranges_and_arrays_of_others_are_indices() -> None:
    import pyarrow

    found = array("tet")
    assert numpy.array_equal(found[range(1, 6, 2)], CELLS[1:6:2])
    assert numpy.array_equal(found[range(5, 0, -2), range(2)], CELLS[5:0:-2, :2])
    assert numpy.array_equal(found[pyarrow.array([4, 0, 4])], CELLS[[4, 0, 4]])
    assert numpy.array_equal(found[:, pyarrow.chunked_array([[1], [3]])], CELLS[:, [1, 3]])
    assert numpy.array_equal(found[pyarrow.array([i % 2 == 0 for i in range(7)])], CELLS[::2])


@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("op", ["sum", "mean", "min", "max", "std", "var"])
def test_functions_of_numpy_reduce_in_the_engine(op: str, axis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ts.Array, "__array__", None)
    found, function = array("tet"), getattr(numpy, op)
    wanted = function(CELLS, axis=axis)
    assert numpy.allclose(function(found, axis=axis), wanted)
    kept = function(found, axis=axis, keepdims=True)
    assert numpy.shape(kept) == numpy.shape(function(CELLS, axis=axis, keepdims=True)) and numpy.allclose(kept.ravel(), wanted.ravel())
    out = numpy.zeros(numpy.shape(wanted))
    assert function(found, axis=axis, out=out) is out and numpy.allclose(out, wanted)
    if op not in ("min", "max"):
        assert function(found, axis=axis, dtype="f4").dtype == numpy.float32
    if op in ("std", "var"):
        with pytest.raises(ts.InvalidCall, match="population"):
            function(found, axis=axis, ddof=1)


@pytest.fixture
def typed(tmp_path: pathlib.Path) -> tuple[str, dict[str, Any]]:
    """A dense array of the original engine with an attribute of each kind, and their cells."""
    tiledb = pytest.importorskip("tiledb")
    names = {
        "number": "i4", "flag": "bool", "day": "M8[D]", "second": "M8[s]", "milli": "M8[ms]", "micro": "M8[us]",
        "nano": "M8[ns]", "lasted": "m8[s]", "hour": "M8[h]",
    }  # fmt: skip
    dims = [tiledb.Dim(name, domain=(3, 3 + extent - 1), tile=tile, dtype="int64") for name, extent, tile in (("y", 4, 2), ("x", 5, 3))]
    attrs = [tiledb.Attr(name, dtype=numpy.dtype(kind)) for name, kind in names.items()]
    attrs += [tiledb.Attr("text", dtype=str, var=True), tiledb.Attr("maybe", dtype="i4", nullable=True)]
    path = str(tmp_path / "typed")
    tiledb.Array.create(path, tiledb.ArraySchema(tiledb.Domain(*dims), attrs))
    cells: dict[str, Any] = {name: (numpy.arange(20) * 7 % 20).astype(kind).reshape(4, 5) for name, kind in names.items()}
    cells["flag"] = cells["number"] % 3 == 0
    for name in ("day", "milli", "hour", "lasted"):
        cells[name][1, 2] = "NaT"
    others = {"text": numpy.array([f"t{i}" for i in range(20)], object).reshape(4, 5), "maybe": cells["number"]}
    with tiledb.open(path, "w") as array:
        array[:] = cells | others
    return path, cells | others


def test_truth_values_and_times_are_arrays(typed: tuple[str, dict[str, Any]]) -> None:
    path, cells = typed
    table = ts.open(path).table()
    kinds = ["number", "flag", "day", "second", "milli", "micro", "nano", "lasted"]
    assert table.array_columns == kinds
    for name in kinds:
        found, wanted = table.array(name), cells[name]
        assert found.dtype == wanted.dtype and found.nbytes == wanted.nbytes and str(wanted.dtype) in repr(found)
        for key in ((), (1, 2), (slice(1, 4, 2), [0, 4, 0]), (Ellipsis, 0), wanted == wanted[0, 0], (slice(0), 1)):
            part = found[key]
            assert part.dtype == wanted.dtype
            model = wanted[key] if not isinstance(key, tuple) or not any(isinstance(k, list) for k in key) else wanted[1:4:2][:, [0, 4, 0]]
            numpy.testing.assert_array_equal(part, model)
        numpy.testing.assert_array_equal(numpy.asarray(found), wanted)
        for out in (numpy.empty_like(wanted), numpy.empty_like(wanted.T).T, bytearray(wanted.nbytes)):
            assert found.read(out=out) is out
            numpy.testing.assert_array_equal(numpy.frombuffer(out, wanted.dtype).reshape(4, 5) if isinstance(out, bytearray) else out, wanted)
        for axis in (None, 0, 1):
            for op in ("min", "max"):
                numpy.testing.assert_array_equal(getattr(found, op)(axis), getattr(numpy, op)(wanted, axis), f"{name} {op} {axis}")
        assert numpy.array_equal(pickle.loads(pickle.dumps(found))[...], wanted, equal_nan=wanted.dtype.kind in "mM")
        assert found._repr_html_().startswith("<div")
    numpy.testing.assert_array_equal(table.array("milli").to_dask().compute(), cells["milli"])
    for op in ("sum", "mean", "std", "median"):
        with pytest.raises(TypeError, match="datetime64"):
            getattr(table.array("day"), op)()
    assert table.array("flag").sum() == cells["flag"].sum()
    integers = ts.open(path, raw=True).table()
    for name in ("day", "lasted", "hour"):
        assert numpy.array_equal(integers.array(name)[...], cells[name].view("i8"))


def test_columns_that_are_no_arrays_say_how_they_are_read(typed: tuple[str, dict[str, Any]]) -> None:
    path, cells = typed
    table = ts.open(path).table()
    for name in ("text", "maybe", "hour", "y"):
        with pytest.raises(TypeError, match=rf"scan\(\['{name}'\]\)"):
            table.array(name)
    with pytest.raises(TypeError, match="there are: number, flag"):
        table.array("other")
    # Rows are in the order of the cells.
    assert numpy.array_equal(table.scan(["text"]).to_numpy()["text"].reshape(4, 5), cells["text"])


def test_truth_values_are_0_or_1(tmp_path: pathlib.Path) -> None:
    numpy.save(tmp_path / "flags.npy", numpy.array([0, 1, 2, 255], "u1").view("b1"))
    found = ts.open(tmp_path / "flags.npy").table().array()
    assert found[...].view("u1").tolist() == [0, 1, 1, 1] and found[2].dtype == bool
