#!/usr/bin/env bash
# Builds the Python package for speed and installs it next to its rivals.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/.venv/python
(cd ../../python && "$venv/bin/maturin" build --quiet --release --strip --interpreter "$venv/bin/python" --out "$venv/wheels")
"$venv/bin/pip" install --quiet --force-reinstall --no-deps "$venv"/wheels/tesselle-*.whl
