#!/usr/bin/env bash
# Builds the bench binaries, installs the rivals into a virtual environment and runs the suites side by side.
#   run.sh [SUITE…] [-- options of compare.py]
set -euo pipefail
cd "$(dirname "$0")"
suites=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do suites+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#suites[@]} -gt 0 ] || suites=(tet)
cargo build --release --quiet --manifest-path rust/Cargo.toml
[ -d .venv ] || python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
for suite in "${suites[@]}"; do
    .venv/bin/python compare.py "$suite" "$@"
done
