#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (60) on a corpus seeded with the demo's samples and small golden files.
#   fuzz/run.sh [TARGET…]
# TESS names the binary that makes the samples; without it one is built.
# Needs cargo-fuzz (cargo install cargo-fuzz). The sanitizer flags are unstable: the pinned compiler is configured to accept them.
set -euo pipefail
cd "$(dirname "$0")"
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2
    exit 1
fi
samples=$(mktemp -d)
trap 'rm -rf "$samples"' EXIT
if [ -n "${TESS:-}" ]; then
    "$TESS" demo "$samples" --force >/dev/null
else
    (cd .. && cargo run --quiet -p tess -- demo "$samples" --force >/dev/null)
fi
mkdir -p seeds corpus/{tet,tsfile,tatami,tiledb,predicate}
rm -rf seeds/tiledb && cp -r "$samples/points.tiledb" seeds/tiledb
for format in tet tsfile tatami; do
    cp "$samples"/*."$format" "corpus/$format/"
    # Small files are tried many times faster than large ones, and the golden ones hold what the samples do not.
    find "../crates/$format/tests" -name "*.$format" -size -16k -exec sh -c 'cp "$1" "$2/$(basename "$(dirname "$1")")-$(basename "$1")"' _ {} "corpus/$format" \;
done
printf '"time" BETWEEN 1 AND 2 OR NOT a IN (1.5, X%s00%s)' "'" "'" > corpus/predicate/seed
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(tet tsfile tatami tiledb predicate)
export RUSTC_BOOTSTRAP=1
for target in "${targets[@]}"; do
    cargo fuzz run "$target" -- -max_total_time="${FUZZ_SECONDS:-60}" -rss_limit_mb=2048 -timeout=30 -max_len=200000
done
