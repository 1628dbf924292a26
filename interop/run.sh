#!/usr/bin/env bash
# Every interop suite, one after the other; fails at the end when any of them failed.
#   run.sh [--quick]     --quick: few random cases of each, about a minute
set -uo pipefail
cd "$(dirname "$0")"
failed=()
for part in */run.sh; do
    echo "== ${part%/run.sh}"
    "./$part" "$@" || failed+=("${part%/run.sh}")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
