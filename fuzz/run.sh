#!/usr/bin/env bash
# Runs fuzz targets for FUZZ_SECONDS (60) each, from the seeds in fuzz/seeds and what earlier runs found.
#   fuzz/run.sh [TARGET…]             the named targets, or all
#   fuzz/run.sh --replay [TARGET…]    only the seeds, each once
#   fuzz/run.sh --minimize [TARGET…]  rebuilds the seeds: the fewest inputs that reach what all inputs found so far do
# Needs cargo-fuzz (cargo install cargo-fuzz). The flags are unstable: RUSTC_BOOTSTRAP makes the pinned compiler accept them.
set -euo pipefail
cd "$(dirname "$0")"
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2
    exit 1
fi
mode=run
case "${1:-}" in
--replay | --minimize)
    mode=${1#--}
    shift
    ;;
esac
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(tet tsfile tatami tiledb tiledb_meta foreign repair search predicate words)
export RUSTC_BOOTSTRAP=1
# Without a sanitizer: the code is safe, and what is looked for are panics, hangs and broken promises.
flags=(-s none --fuzz-dir .)
limits=(-rss_limit_mb=2048 -timeout=30 -max_len=65536)
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target" "seeds/$target"
    case $mode in
    replay) cargo fuzz run "${flags[@]}" "$target" "seeds/$target" -- -runs=0 "${limits[@]}" ;;
    run)
        cargo fuzz run "${flags[@]}" "$target" "corpus/$target" "seeds/$target" -- \
            -max_total_time="${FUZZ_SECONDS:-60}" "${limits[@]}"
        ;;
    minimize)
        rm -rf "corpus/$target.new" && mkdir "corpus/$target.new"
        cargo fuzz run "${flags[@]}" "$target" "corpus/$target.new" "corpus/$target" "seeds/$target" -- \
            -merge=1 "${limits[@]}" -max_len=8192
        rm -rf "seeds/$target" && mv "corpus/$target.new" "seeds/$target"
        ;;
    esac
done
