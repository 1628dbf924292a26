#!/usr/bin/env bash
# Builds the bench binaries, installs the rivals into a virtual environment and runs the suites side by side.
#   run.sh [SUITE…] [-- options of compare.py]
set -euo pipefail
cd "$(dirname "$0")"
suites=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do suites+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#suites[@]} -gt 0 ] || for file in suites/*.txt; do suites+=("$(basename "$file" .txt)"); done
for suite in "${suites[@]}"; do
    # The suite of the Python package has no binary of ours.
    [ ! -d "rust/$suite" ] ||
        CARGO_TARGET_DIR=rust/target cargo build --release --quiet --manifest-path rust/Cargo.toml --package "compare-$suite"
    venv=.venv/$suite
    [ -d "$venv" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement "suites/$suite.txt"
    # Rivals that no package index has.
    [ ! -x "suites/$suite.sh" ] || "suites/$suite.sh"
    "$venv/bin/python" compare.py "$suite" "$@"
done
