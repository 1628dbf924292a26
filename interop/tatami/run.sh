#!/bin/sh
# Round trips with the original tatami engine.
#
#   TATAMI_BIN=/path/to/tatami interop/tatami/run.sh
#
# TATAMI_BIN is the command-line program of github.com/tamnd/tatami v0.3.0 (default: `tatami` on the PATH).
# TESSELLE_FIXTURES, if set, adds every golden file to the round trips.
set -eu
cd "$(dirname "$0")/../.."
TATAMI_BIN=$(command -v "${TATAMI_BIN:-tatami}") || {
    echo "the original engine is not installed: put 'tatami' v0.3.0 on the PATH or set TATAMI_BIN" >&2
    exit 2
}
export TATAMI_BIN
exec cargo test -p tesselle-tatami --test interop -- --ignored
