#!/bin/sh
# Live round trips with the original engine. Needs cargo and python3; makes its own environment.
#   run.sh [--quick] [NAME…]     --quick: fewer random cases, well under a minute; NAME: only these written cases
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${INTEROP_WORK:-"$root/target/interop-tiledb"}
python=${INTEROP_PYTHON:-"$work/venv/bin/python"}
target=${CARGO_TARGET_DIR:-"$root/target"}
histories=150
kills=20
if [ "${1:-}" = "--quick" ]; then
    histories=12
    kills=3
    shift
fi
mkdir -p "$work"
if [ ! -x "$python" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
rm -rf "$work/cases" "$work/killed" "$work/histories"
mkdir -p "$work/cases" "$work/killed" "$work/histories"
cd "$root"
cargo build --quiet -p tess -p tesselle-tiledb --example interop --bin tess
"$target/debug/examples/interop" "$work/cases"
"$python" "$here/check.py" "$work/cases" "$@"
[ $# -eq 0 ] || exit 0
"$python" "$here/kill.py" "$target/debug/examples/interop" "$work/killed" "$kills"
"$python" "$here/property.py" "$target/debug/tess" "$work/histories" "$histories"
