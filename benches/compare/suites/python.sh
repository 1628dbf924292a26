#!/usr/bin/env bash
# Builds the Python package for speed and installs it next to its rivals. A try on tiny data takes the wheel that
# `make wheel` has built.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/.venv/python
if [ -n "${COMPARE_TINY:-}" ]; then
    mkdir -p "$venv/wheels"
    cp ../../target/wheels/tesselle-*.whl "$venv/wheels"
else
    (cd ../../python && "$venv/bin/maturin" build --quiet --release --strip --interpreter "$venv/bin/python" --out "$venv/wheels")
fi
"$venv/bin/pip" install --quiet --force-reinstall --no-deps "$venv"/wheels/tesselle-*.whl
