"""The reference matches the docstrings, and every public name has one."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import tesselle as ts

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "python-api"


def test_the_reference_is_current() -> None:
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_public_names_are_documented_and_belong_to_the_package() -> None:
    for name in ts.__all__:
        thing = getattr(ts, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type):
            assert thing.__module__ == "tesselle", name
            for member, value in vars(thing).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"
    assert {"dataset", "polars", "torch", "xarray"} <= set(dir(ts))
