#!/usr/bin/env bash
# Builds the bench binaries, installs the rivals into a virtual environment and runs the suites side by side.
#   run.sh [--tiny] [SUITE…] [-- options of compare.py]
# --tiny builds without optimization and runs each driver from end to end on little data, without a measurement worth
# keeping: it fails where a driver does not run or disagrees.
set -euo pipefail
cd "$(dirname "$0")"
suites=()
tiny=()
profile=release
if [ "${1:-}" = "--tiny" ]; then
    tiny=(--tiny)
    profile=dev
    export CARGO_PROFILE_DEV_DEBUG=none CARGO_INCREMENTAL=0 COMPARE_TINY=1
    shift
fi
while [ $# -gt 0 ] && [ "$1" != "--" ]; do suites+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#suites[@]} -gt 0 ] || for file in suites/*.txt; do suites+=("$(basename "$file" .txt)"); done
for suite in "${suites[@]}"; do
    if [ -d "rust/$suite" ]; then
        CARGO_TARGET_DIR=rust/target cargo build --profile $profile --quiet --manifest-path rust/Cargo.toml --package "compare-$suite"
    elif [ -z "${TESS:-}" ] && [ ! -x "suites/$suite.sh" ]; then
        # A suite that calls the command line.
        CARGO_TARGET_DIR=rust/target cargo build --profile $profile --quiet --manifest-path ../../Cargo.toml --package tess
    fi
    venv=.venv/$suite
    [ -d "$venv" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement "suites/$suite.txt" || {
        echo "skipped: $suite, its rivals cannot be installed" >&2
        continue
    }
    # Rivals that no package index has.
    [ ! -x "suites/$suite.sh" ] || "suites/$suite.sh"
    "$venv/bin/python" compare.py "$suite" "${tiny[@]}" "$@"
done
