#!/bin/sh
# Writes arrays with Tesselle and reads them with the original engine. Needs cargo and python3; makes its own environment.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${INTEROP_WORK:-"$root/target/interop-tiledb"}
python=${INTEROP_PYTHON:-"$work/venv/bin/python"}
mkdir -p "$work"
if [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
rm -rf "$work/cases"
mkdir -p "$work/cases"
cd "$root"
cargo run --quiet -p tesselle-tiledb --example interop -- "$work/cases"
"$python" "$here/check.py" "$work/cases" "$@"
