"""Datasets of xarray: coordinates, attributes, encodings, both ways."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import numpy
import pandas
import pytest
import tesselle as ts

xarray = pytest.importorskip("xarray")

FORMATS = ["tet", "tiledb", "zarr"]


def weather() -> Any:
    """A dataset with everything that files of this kind have."""
    random = numpy.random.default_rng(3)
    temperature = random.normal(280, 5, (4, 3, 5)).astype("f4")
    temperature[1, 2, 3] = numpy.nan
    return xarray.Dataset(
        {
            "temperature": (
                ("time", "y", "x"), temperature,
                {"units": "K", "valid_range": [200.0, 330.0], "level": 2, "code": "123", "ok": "true", "comment": "", "cause": None},
            ),
            "count": (("y", "x"), random.integers(0, 9, (3, 5))),
            "land": (("y", "x"), random.random((3, 5)) > 0.5),
            "station": (("y",), numpy.array(["Bern", "Zürich", ""])),
        },
        coords={
            "time": numpy.array(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-09T12"], "M8[ns]"),
            "x": ("x", numpy.linspace(-1, 1, 5), {"axis": "X"}),
            "y": [10, 20, 40],
            "latitude": (("y", "x"), random.normal(size=(3, 5))),
            "name": ("x", ["a", "b", "c", "d", "e"]),
            "height": 2.5,
        },
        attrs={"title": "a test", "version": 3, "weights": [1.5, 2.5], "number": "42", "comment": "", "cause": None},
    )  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
def test_a_dataset_comes_back_identical(ending: str, tmp_path: pathlib.Path) -> None:
    data = weather()
    report = ts.write(data, tmp_path / f"weather.{ending}")
    assert report["metadata"]["lost"] == []
    found = xarray.open_dataset(tmp_path / f"weather.{ending}", engine="tesselle")
    xarray.testing.assert_identical(found.load(), data)
    assert ts.verify(tmp_path / f"weather.{ending}").ok


@pytest.mark.parametrize("ending", FORMATS)
def test_packed_values_and_durations(ending: str, tmp_path: pathlib.Path) -> None:
    data = xarray.Dataset(
        {
            "packed": ("x", [1.5, numpy.nan, 2.5]),
            "age": ("x", numpy.array([1, 2, 3], "m8[s]")),
            "when": ("x", numpy.array(["2024-01-01", "NaT", "2024-01-03"], "M8[s]")),
            "filled": ("x", numpy.array([1.0, 2.0, numpy.nan])),
        }
    )
    data["packed"].encoding = {"dtype": "int16", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -999}
    data["filled"].encoding = {"_FillValue": -1.0}
    path = tmp_path / f"packed.{ending}"
    ts.write(data, path)
    raw = xarray.open_dataset(path, engine="tesselle", decode_cf=False)
    assert raw["packed"].dtype == "int16" and raw["packed"].attrs["scale_factor"] == 0.5
    assert raw["filled"].values.tolist() == [1.0, 2.0, -1.0]
    found = xarray.open_dataset(path, engine="tesselle", decode_timedelta=True)
    xarray.testing.assert_equal(found.load(), data)


def test_zarr_groups_open_with_xarray_and_those_of_xarray_open_here(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("zarr")
    data = weather().drop_vars(["station", "name"])
    data["count"].encoding = {"_FillValue": -1}
    data["temperature"].encoding = {"_FillValue": -999.0}
    ts.write(data, tmp_path / "ours.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        xarray.testing.assert_identical(xarray.open_zarr(tmp_path / "ours.zarr").load(), data)
    data.to_zarr(tmp_path / "theirs.zarr", zarr_format=3)
    found = xarray.open_dataset(tmp_path / "theirs.zarr", engine="tesselle")
    xarray.testing.assert_identical(found.load(), data)


def test_zarr_groups_with_strings_open_with_xarray(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("zarr")
    data = weather()
    ts.write(data, tmp_path / "ours.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = xarray.open_zarr(tmp_path / "ours.zarr").load()
    assert bytes(found["station"].values[1]).decode() == "Zürich"
    xarray.testing.assert_identical(found.drop_vars(["station", "name"]), data.drop_vars(["station", "name"]))


@pytest.mark.parametrize("ending", FORMATS)
def test_missing_strings_are_reported(ending: str, tmp_path: pathlib.Path) -> None:
    data = xarray.Dataset({"s": ("x", numpy.array(["a", None, "b"], object)), "t": ("x", numpy.array(["a", "", "b"], object))})
    report = ts.write(data, tmp_path / f"s.{ending}")
    assert report["metadata"]["lost"] == ["the missing strings of 's': they are stored as empty ones"]
    assert xarray.open_dataset(tmp_path / f"s.{ending}", engine="tesselle")["s"].values.tolist() == ["a", "", "b"]


@pytest.mark.parametrize("ending", FORMATS)
def test_chunks_are_named_by_axis_and_kept(ending: str, tmp_path: pathlib.Path) -> None:
    data = weather()
    with pytest.raises(ts.InvalidCall, match="chunk="):
        ts.write(data, tmp_path / f"w.{ending}", chunk=(2, 2))
    with pytest.raises(KeyError, match="'tim'.*there are time, "):
        ts.write(data, tmp_path / f"w.{ending}", chunk={"tim": 2})
    ts.write(data, tmp_path / f"w.{ending}", chunk={"time": 2, "x": 3})
    found = xarray.open_dataset(tmp_path / f"w.{ending}", engine="tesselle", chunks={})
    assert found["temperature"].encoding["preferred_chunks"] == {"time": 2, "y": 3, "x": 3}
    assert found["temperature"].chunks == ((2, 2), (3,), (3, 2))
    xarray.testing.assert_identical(found.compute(), data)
    if ending == "tiledb":  # the tiles of its arrays have extents of their own
        return
    ts.write(found, tmp_path / f"again.{ending}")
    again = xarray.open_dataset(tmp_path / f"again.{ending}", engine="tesselle")
    assert again["temperature"].encoding["preferred_chunks"] == {"time": 2, "y": 3, "x": 3}


def test_nothing_is_read_before_it_is_used(tmp_path: pathlib.Path) -> None:
    ts.write(weather(), tmp_path / "w.zarr")
    for chunk in (tmp_path / "w.zarr" / "temperature" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(b"")
    found = xarray.open_dataset(tmp_path / "w.zarr", engine="tesselle")
    assert found["x"].values[0] == -1
    with pytest.raises(ts.Error):
        found["temperature"].load()


def test_an_array_with_coordinates(tmp_path: pathlib.Path) -> None:
    array = weather()["temperature"].drop_vars("name")
    for ending in FORMATS:
        ts.write(array, tmp_path / f"t.{ending}")
        found = xarray.open_dataset(tmp_path / f"t.{ending}", engine="tesselle")["temperature"]
        xarray.testing.assert_identical(found.load(), array)
    report = ts.write(array, tmp_path / "t.npy")
    assert "the coordinates 'x'" in report["metadata"]["lost"]
    rows = ts.write(array.to_dataset(), tmp_path / "t.parquet")
    assert rows["rows"] == array.size
    first = ts.open(tmp_path / "t.parquet").table().scan(limit=1).to_arrow().to_pylist()[0]
    assert first["y"] == 10 and first["x"] == -1.0 and first["height"] == 2.5


def test_what_cannot_be_written_is_named(tmp_path: pathlib.Path) -> None:
    complex_cells = xarray.Dataset({"z": ("x", numpy.array([1j, 2j]))})
    with pytest.raises(TypeError, match="'z'"):
        ts.write(complex_cells, tmp_path / "z.tet")
    words = xarray.Dataset({"w": ("x", pandas.Categorical(["a", "b"]))})
    with pytest.raises(TypeError, match="'w' of category"):
        ts.write(words, tmp_path / "w.tet")
    with pytest.raises(ts.InvalidCall, match="several"):
        ts.write(weather(), tmp_path / "z.npy")
    with pytest.raises(ts.InvalidCall, match="already exists"):
        ts.write(weather(), tmp_path / "a.tet")
        ts.write(weather(), tmp_path / "a.tet")
    assert ts.write(weather(), tmp_path / "a.tet", overwrite=True)["rows"]


def dense(path: str, dims: list[Any], cells: Any) -> None:
    """Writes an array with the original engine."""
    tiledb = pytest.importorskip("tiledb")
    tiledb.Array.create(path, tiledb.ArraySchema(tiledb.Domain(*dims), [tiledb.Attr("a", dtype=cells.dtype)]))
    with tiledb.open(path, "w") as array:
        array[:] = cells


def test_axes_of_tiledb_are_coordinates(tmp_path: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    cells = numpy.arange(10.0).reshape(5, 2)
    dims = [tiledb.Dim("x", domain=(-2, 2), tile=3, dtype="int64"), tiledb.Dim("i", domain=(0, 1), tile=2, dtype="int64")]
    dense(str(tmp_path / "a"), dims, cells)
    found = xarray.open_dataset(tmp_path / "a", engine="tesselle")
    assert found["a"].dims == ("x", "i") and set(found.coords) == {"x"}
    assert found["x"].values.tolist() == [-2, -1, 0, 1, 2]
    assert found["a"].sel(x=1, i=0) == cells[3, 0]
    first, last = numpy.datetime64("2024-03-01"), numpy.datetime64("2024-03-04")
    day = tiledb.Dim("day", domain=(first, last), tile=numpy.timedelta64(2, "D"), dtype="datetime64[D]")
    dense(str(tmp_path / "days"), [day], numpy.arange(4))
    found = xarray.open_dataset(tmp_path / "days", engine="tesselle")
    assert found["day"].values.astype("M8[D]").tolist() == numpy.arange(first, last + 1).tolist()
    assert found["a"].sel(day="2024-03-03") == 2
    assert ts.open(tmp_path / "days").table().array().to_xarray().sel(day="2024-03-03") == 2


def test_columns_that_are_no_variables_are_named(tmp_path: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    domain = tiledb.Domain(tiledb.Dim("x", domain=(0, 3), tile=2, dtype="int64"))
    kinds = {"f": "f4", "day": "datetime64[D]", "flag": "bool", "at": "datetime64[ns]", "took": "timedelta64[s]", "hour": "datetime64[h]"}
    attrs = [tiledb.Attr(name, dtype=kind) for name, kind in kinds.items()] + [tiledb.Attr("text", dtype=str, var=True)]
    tiledb.Array.create(str(tmp_path / "a"), tiledb.ArraySchema(domain, attrs))
    cells = {name: numpy.arange(4).astype(kind) for name, kind in kinds.items()}
    cells["day"][2] = numpy.datetime64("NaT")
    with tiledb.open(str(tmp_path / "a"), "w") as array:
        array[:] = {**cells, "text": numpy.array(["a", "b", "c", "d"], object)}
    with pytest.warns(UserWarning, match="tesselle.scan reads them: hour, text$"):
        found = xarray.open_dataset(tmp_path / "a", engine="tesselle")
    assert list(found.data_vars) == ["f", "day", "flag", "at", "took"]
    for chunks in (None, {}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = xarray.open_dataset(tmp_path / "a", engine="tesselle", chunks=chunks)
        for name in found.data_vars:
            numpy.testing.assert_array_equal(found[name].values, cells[str(name)])
        assert found["day"].dtype == found["day"].values.dtype == "M8[s]" and found["flag"].dtype == bool
        assert found["day"][::-1].values[0] == numpy.datetime64("1970-01-04")
        assert found["took"].dtype == "m8[s]" and found["at"].isel(x=2) == numpy.datetime64(2, "ns")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.write(weather(), tmp_path / "w.tet")
        xarray.open_dataset(tmp_path / "w.tet", engine="tesselle")


def test_axes_that_are_not_one_are_kept_apart(tmp_path: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    tiledb.group_create(str(tmp_path / "g"))
    for at, name in enumerate(["one", "other", "same"]):
        dim = tiledb.Dim("x", domain=(at % 2, at % 2 + 2), tile=3, dtype="int64")
        dense(str(tmp_path / "g" / name), [dim], numpy.arange(3) + at)
    with tiledb.Group(str(tmp_path / "g"), "w") as group:
        for name in ("one", "other", "same"):
            group.add(name, name=name, relative=True)
    found = xarray.open_dataset(tmp_path / "g", engine="tesselle")
    assert found["one"].dims == found["same"].dims == ("x",) and found["other"].dims == ("other_x",)
    assert found["other_x"].values.tolist() == [1, 2, 3] and "x" not in found.coords


def test_labels_of_tiledb_are_coordinates(fixtures: pathlib.Path) -> None:
    arrays = [path.parent for path in fixtures.rglob("__labels")]
    seen = 0
    for path in arrays:
        table = ts.open(path).table()
        if not table.array_columns or not table._native.labels():
            continue
        found = xarray.open_dataset(path, engine="tesselle")
        names = {name for name, *_ in table._native.labels()}
        seen += bool(names & set(found.coords))
    if not seen:
        pytest.skip("no dense array with labels among the fixtures")


def test_labels_of_tet_are_coordinates(fixtures: pathlib.Path) -> None:
    seen = 0
    for path in sorted(fixtures.rglob("*.tet")):
        try:
            described = ts.open(path).metadata.get("datasets", {})
        except ts.Error:
            continue
        for name, about in described.items():
            for axis, label in (about.get("coords") or {}).items():
                found = xarray.open_dataset(path, engine="tesselle")[name]
                dims = ts.open(path)[name].array().dims
                if axis not in dims or len(label["labels"]) != found.shape[dims.index(axis)]:
                    continue
                assert found[found.dims[dims.index(axis)]].values.tolist() == label["labels"]
                seen += 1
    if not seen:
        pytest.skip("no labels among the fixtures")


def test_arrays_of_other_shapes_share_no_axis(tmp_path: pathlib.Path) -> None:
    ts.write(numpy.arange(6.0), tmp_path / "a.tet", table="a")
    ts.convert(tmp_path / "a.tet", tmp_path / "b.tet")
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w", zarr_format=3)
    group.create_array("a", data=numpy.arange(6.0))
    group.create_array("b", data=numpy.arange(4.0))
    found = xarray.open_dataset(tmp_path / "g.zarr", engine="tesselle")
    assert found["a"].shape == (6,) and found["b"].shape == (4,)


def test_groups_of_a_hierarchy(tmp_path: pathlib.Path) -> None:
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path / "g.zarr"), mode="w", zarr_format=3)
    root.attrs["of"] = "the root"
    inner = root.create_group("run").create_group("one")
    inner.create_array("a", data=numpy.arange(3.0), dimension_names=["x"])
    inner.create_array("x", data=numpy.array([5, 6, 7]), dimension_names=["x"])
    found = xarray.open_dataset(tmp_path / "g.zarr", engine="tesselle", group="/run/one")
    assert list(found.data_vars) == ["a"] and found["x"].values.tolist() == [5, 6, 7]
    assert found.attrs == {} and xarray.open_dataset(tmp_path / "g.zarr", engine="tesselle").attrs == {"of": "the root"}
    with pytest.raises(KeyError, match="'other'.*there are run, run/one"):
        xarray.open_dataset(tmp_path / "g.zarr", engine="tesselle", group="other")
    ts.write(numpy.zeros(3), tmp_path / "a.tet")
    with pytest.raises(KeyError, match="no groups"):
        xarray.open_dataset(tmp_path / "a.tet", engine="tesselle", group="other")


def hierarchy(path: pathlib.Path) -> Any:
    """A hierarchy of Zarr that xarray wrote, and its tree."""
    pytest.importorskip("zarr")
    one = xarray.Dataset({"a": ("x", numpy.arange(3.0))}, {"x": [5, 6, 7]}, {"of": "one", "list": [1, 2]})
    deep = xarray.Dataset({"b": (("x", "y"), numpy.ones((3, 2), "f4"), {"units": "K"})}, attrs={"level": 2})
    nodes = {
        "/": xarray.Dataset({"top": ((), 4.5)}, attrs={"of": "the root"}), "/run": xarray.Dataset(attrs={"of": "run"}),
        "/run/one": one, "/run/one/deep": deep, "/run/two": one.assign_coords(x=[1, 2, 3]), "/empty": xarray.Dataset(),
    }  # fmt: skip
    tree = xarray.DataTree.from_dict(nodes)
    tree.to_zarr(path, zarr_format=3)
    return tree


def test_hierarchies_are_trees(tmp_path: pathlib.Path) -> None:
    tree = hierarchy(tmp_path / "t.zarr")
    found = xarray.open_datatree(tmp_path / "t.zarr", engine="tesselle")
    xarray.testing.assert_identical(found.load(), tree)
    xarray.testing.assert_identical(xarray.open_datatree(tmp_path / "t.zarr", engine="tesselle", chunks={}).compute(), tree)
    inner = xarray.open_datatree(tmp_path / "t.zarr", engine="tesselle", group="/run/one", drop_variables="b")
    assert set(inner.groups) == {"/", "/deep"} and inner.attrs["of"] == "one" and not inner["deep"].data_vars
    groups = xarray.open_groups(tmp_path / "t.zarr", engine="tesselle", group="run")
    assert set(groups) == {"/", "/one", "/one/deep", "/two"} and groups["/two"]["x"].values.tolist() == [1, 2, 3]
    one = xarray.open_dataset(tmp_path / "t.zarr", engine="tesselle", group="run/one")
    assert one.attrs == {"of": "one", "list": [1, 2]}
    assert ts.open(tmp_path / "t.zarr").groups["run/one/deep"] == {"level": 2}
    with pytest.raises(KeyError, match="there are empty, run, run/one, run/one/deep, run/two"):
        xarray.open_datatree(tmp_path / "t.zarr", engine="tesselle", group="other")


def test_files_without_groups_are_trees_of_one_node(tmp_path: pathlib.Path) -> None:
    for ending in FORMATS:
        ts.write(weather(), tmp_path / f"w.{ending}")
        found = xarray.open_datatree(tmp_path / f"w.{ending}", engine="tesselle")
        assert found.groups == ("/",)
        xarray.testing.assert_identical(found.to_dataset().load(), weather())


def test_groups_of_tiledb_are_trees(tmp_path: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    for group in ("g", "g/inner"):
        tiledb.group_create(str(tmp_path / group))
    for name in ("g/top", "g/inner/a"):
        dense(str(tmp_path / name), [tiledb.Dim("x", domain=(0, 2), tile=3, dtype="int64")], numpy.arange(3.0))
    for group, members in (("g", ("top", "inner")), ("g/inner", ("a",))):
        with tiledb.Group(str(tmp_path / group), "w") as opened:
            opened.meta["of"] = group
            for name in members:
                opened.add(name, name=name, relative=True)
    assert ts.open(tmp_path / "g").groups == {"inner": {"of": "g/inner"}}
    found = xarray.open_datatree(tmp_path / "g", engine="tesselle")
    assert found.groups == ("/", "/inner") and found.attrs == {"of": "g"} and found["inner"].attrs == {"of": "g/inner"}
    assert found["inner/a"].values.tolist() == [0, 1, 2] and list(found.data_vars) == ["top"]
    assert ts.convert(tmp_path / "g", tmp_path / "g.zarr")["metadata"]["lost"] == ["the metadata of group 'inner'"]


@pytest.mark.parametrize("ending", ["tet", "tiledb"])
def test_hierarchies_are_converted(ending: str, tmp_path: pathlib.Path) -> None:
    hierarchy(tmp_path / "t.zarr")
    report = ts.convert(tmp_path / "t.zarr", tmp_path / f"t.{ending}")
    lost = [f"the attributes of group '{name}'" for name in ("run", "run/one", "run/one/deep", "run/two")]
    assert [line for line in report["metadata"]["lost"] if "group" in line] == lost
    found = xarray.open_datatree(tmp_path / f"t.{ending}", engine="tesselle")
    assert set(found.groups) == {"/", "/run", "/run/one", "/run/one/deep", "/run/two"}
    assert found["run/two"]["x"].values.tolist() == [1, 2, 3] and found["run/one/deep/b"].attrs["units"] == "K"


@pytest.mark.parametrize("ending", FORMATS)
def test_trees_are_written(ending: str, tmp_path: pathlib.Path) -> None:
    one = weather().drop_attrs()
    other = xarray.Dataset({"a": ("x", [1, 2, 3])}, {"x": [7, 8, 9]})
    tree = xarray.DataTree.from_dict({"/": xarray.Dataset(attrs={"of": "all"}), "/run/one": one, "/run/other": other})
    tree["run/one"].attrs["of"] = "one"
    report = ts.write(tree, tmp_path / f"t.{ending}", chunk={"x": 2})
    # Tet files have the attributes of a group with its first array, and none of a group without arrays.
    kept = {"tet": ["run/one"], "tiledb": [""], "zarr": [""]}[ending]
    lost = {"tet": "", "tiledb": "run/one", "zarr": "run/one"}[ending]
    assert report["metadata"]["lost"] == [f"the attributes of group '{lost}'" if lost else "the attributes of the dataset"]
    found = xarray.open_datatree(tmp_path / f"t.{ending}", engine="tesselle").load()
    assert set(found.groups) == {"/", "/run", "/run/one", "/run/other"}
    for path in ("", "run/one"):
        assert found[path or "/"].attrs == (tree[path or "/"].attrs if path in kept else {})
    for path, dataset in (("run/one", one), ("run/other", other)):
        xarray.testing.assert_identical(found[path].to_dataset(inherit=False).drop_attrs(), dataset)
    with pytest.raises(ts.InvalidCall, match="no groups"):
        ts.write(tree, tmp_path / "t.npy")
    with pytest.raises(KeyError, match="'tim'.*there are "):
        ts.write(tree, tmp_path / f"u.{ending}", chunk={"tim": 2})


def test_arrays_of_types_that_are_not_read_leave_the_others(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("zarr")
    data = weather()[["temperature", "station"]].drop_vars("name")
    data.to_zarr(tmp_path / "w.zarr", zarr_format=3)
    container = ts.open(tmp_path / "w.zarr")
    assert "station" in container and container["temperature"].array().shape == (4, 3, 5)
    with pytest.raises(ts.DataError, match="data type .* is not known"):
        container["station"]
    with pytest.warns(UserWarning, match="not among the variables: station: the data type"):
        found = xarray.open_dataset(tmp_path / "w.zarr", engine="tesselle")
    xarray.testing.assert_identical(found.load(), data.drop_vars("station"))
