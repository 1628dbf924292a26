#!/bin/sh
# Live round trips with the original engine. Needs cargo and python3; makes its own environment.
#   run.sh [--quick] [NAME…]     --quick: fewer random cases, well under a minute; NAME: only these written cases
# TESS is a binary to test instead of building one; the example `interop` must be next to it, where cargo puts it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${INTEROP_WORK:-"$root/target/interop-tiledb"}
python=${INTEROP_PYTHON:-"$work/venv/bin/python"}
target=${CARGO_TARGET_DIR:-"$root/target"}
histories=150
kills=20
# Which histories: from a random one, or from the first.
first=
if [ "${1:-}" = "--quick" ]; then
    histories=12
    kills=3
    first=1
    shift
fi
mkdir -p "$work"
if [ ! -x "$python" ]; then
    if ! { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"; }; then
        rm -rf "$work/venv"
        echo "skipped: the tiledb package cannot be installed"
        exit 0
    fi
fi
rm -rf "$work/cases" "$work/killed" "$work/histories" "$work/appended" "$work/kept"
mkdir -p "$work/cases" "$work/killed" "$work/histories" "$work/appended" "$work/kept"
cd "$root"
if [ -z "${TESS:-}" ]; then
    cargo build --quiet -p tess -p tesselle-tiledb --example interop --bin tess
    TESS=$target/debug/tess
fi
example=$(dirname "$TESS")/examples/interop
"$example" "$work/cases"
"$python" "$here/check.py" "$work/cases" "$@"
[ $# -eq 0 ] || exit 0
"$python" "$here/kill.py" "$example" "$work/killed" "$kills"
"$python" "$here/property.py" "$TESS" "$work/histories" "$histories" $first
"$python" "$here/append.py" "$TESS" "$work/appended"
"$python" "$here/keep.py" "$TESS" "$work/kept"
