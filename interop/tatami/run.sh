#!/bin/sh
# Round trips with the original tatami engine.
#
#   TATAMI_BIN=/path/to/tatami interop/tatami/run.sh [--quick]
#
# TATAMI_BIN is the command-line program of github.com/tamnd/tatami v0.3.0 (default: `tatami` on the PATH).
# TESSELLE_TATAMI_ORIGINAL, if set, adds search segments in both directions: see search/README.md.
# TESSELLE_FIXTURES, if set, adds every golden file to the round trips.
# --quick tries few random schemas and takes less than a minute once the tests are built: enough for CI.
set -eu
cd "$(dirname "$0")/../.."
if ! program=$(command -v "${TATAMI_BIN:-tatami}"); then
    echo "skipped: the original tatami engine is not here; put 'tatami' v0.3.0 on the PATH or set TATAMI_BIN" >&2
    exit 0
fi
export TATAMI_BIN="$program"
[ "${1:-}" != --quick ] || export INTEROP_CASES=8
cargo test -p tesselle-tatami --test it interop:: -- --ignored
cargo test -p tesselle --test it interop_tatami:: -- --ignored
cargo test -p tesselle-tatami --test it interop_search::a_folder -- --ignored
if [ -n "${TESSELLE_TATAMI_ORIGINAL:-}" ]; then
    cargo test -p tesselle-tatami --test it interop_search::both -- --ignored
fi
