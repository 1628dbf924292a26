#!/usr/bin/env bash
# Builds the bench binaries, installs the rivals into a virtual environment and runs the suites side by side.
#   run.sh [--tiny] [SUITE…] [-- options of compare.py]
# --tiny runs each driver from end to end on little data, without a measurement worth keeping; suites without a tiny
# form are skipped with a message.
set -euo pipefail
cd "$(dirname "$0")"
suites=()
tiny=()
if [ "${1:-}" = "--tiny" ]; then tiny=(--tiny); shift; fi
while [ $# -gt 0 ] && [ "$1" != "--" ]; do suites+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#suites[@]} -gt 0 ] || for file in suites/*.txt; do suites+=("$(basename "$file" .txt)"); done
for suite in "${suites[@]}"; do
    if [ ${#tiny[@]} -gt 0 ] && ! grep -q '^    TINY' "suites/$suite.py"; then
        echo "skipped: $suite has no tiny form"
        continue
    fi
    if [ -d "rust/$suite" ]; then
        CARGO_TARGET_DIR=rust/target cargo build --release --quiet --manifest-path rust/Cargo.toml --package "compare-$suite"
    elif [ -z "${TESS:-}" ]; then
        # A suite that calls the command line.
        CARGO_TARGET_DIR=rust/target cargo build --release --quiet --manifest-path ../../Cargo.toml --package tess
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
