#!/usr/bin/env bash
# Runs fuzz targets, as many at once as there are cores, and prints what each of them did.
#   fuzz/run.sh [TARGET…]             FUZZ_SECONDS (60) each, from the seeds in fuzz/seeds and what earlier runs found
#   fuzz/run.sh --replay [TARGET…]    only the seeds, each once: what CI runs
#   fuzz/run.sh --slice [TARGET…]     a fixed number of inputs each, from the seeds, with fixed random numbers; keeps no corpus,
#                                     and takes no longer than FUZZ_SECONDS (120) on a slow machine
#   fuzz/run.sh --minimize [TARGET…]  rebuilds the seeds: the fewest inputs that reach what all inputs found so far do
# Without targets: all of them. A find is kept in fuzz/artifacts and run once more, alone: only what fails again fails the run.
# Needs cargo-fuzz (cargo install cargo-fuzz). The flags are unstable: RUSTC_BOOTSTRAP makes the pinned compiler accept them.
set -euo pipefail
cd "$(dirname "$0")"
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2
    exit 1
fi
mode=run
case "${1:-}" in
--replay | --slice | --minimize)
    mode=${1#--}
    shift
    ;;
esac
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(repair foreign tet tsfile tatami tiledb tiledb_meta search predicate words)
seconds=${FUZZ_SECONDS:-60}
# Inputs of a slice: about half a minute of each target.
declare -A slice=([repair]=15000 [foreign]=130000 [tet]=25000 [tsfile]=140000 [tatami]=40000 [tiledb]=85000
    [tiledb_meta]=2500000 [search]=200000 [predicate]=1300000 [words]=700000)
limits=(-rss_limit_mb=2048 -timeout=60 -max_len=65536)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Without a sanitizer: the code is safe, and what is looked for are panics, hangs and broken promises.
export RUSTC_BOOTSTRAP=1
if [ $# -eq 0 ]; then
    cargo fuzz build -s none --fuzz-dir .
else
    for target in "${targets[@]}"; do cargo fuzz build -s none --fuzz-dir . "$target"; done
fi
programs=${CARGO_TARGET_DIR:-target}/$(rustc -vV | sed -n 's/^host: //p')/release

# One target; its output goes into a log, its exit code into a file.
fuzz() {
    local target=$1 program=$programs/$1 code=0
    local options=("${limits[@]}" -print_final_stats=1 "-artifact_prefix=artifacts/$target/")
    mkdir -p "corpus/$target" "seeds/$target" "artifacts/$target"
    case $mode in
    replay) "$program" "seeds/$target" -runs=0 "${options[@]}" || code=$? ;;
    slice)
        mkdir "$logs/$target"
        local most=(-runs="${slice[$target]}" -max_total_time="${FUZZ_SECONDS:-120}")
        "$program" "$logs/$target" "seeds/$target" -seed=1 "${most[@]}" "${options[@]}" || code=$?
        ;;
    run) "$program" "corpus/$target" "seeds/$target" -max_total_time="$seconds" "${options[@]}" || code=$? ;;
    minimize)
        rm -rf "corpus/$target.new" && mkdir "corpus/$target.new"
        "$program" "corpus/$target.new" "corpus/$target" "seeds/$target" -merge=1 "${options[@]}" -max_len=8192 || code=$?
        [ "$code" -ne 0 ] || { rm -rf "seeds/$target" && mv "corpus/$target.new" "seeds/$target"; }
        ;;
    esac
    echo "$code" >"$logs/$target.code"
}

for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    fuzz "$target" >"$logs/$target.log" 2>&1 &
done
wait

# Says whether a find fails again with nothing next to it: a time limit may also be missed by a busy machine.
fails_again() {
    local target=$1 find=$2
    ! "$programs/$target" "$find" -timeout=300 -rss_limit_mb=4096 >"$logs/$target.again" 2>&1
}

failed=0
row='%-12s %12s %8s %10s %10s %9s  %s\n'
# shellcheck disable=SC2059
printf "$row" target executions seconds coverage features inputs result
for target in "${targets[@]}"; do
    log=$logs/$target.log
    last=$(grep -a ' cov: ' "$log" | tail -1 || true)
    of() { sed -n "s/.* $1: \([0-9]*\).*/\1/p" <<<"$last"; }
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
    result=ok
    if [ "$(cat "$logs/$target.code")" -ne 0 ]; then
        find=$(sed -n 's/.*Test unit written to \(.*\)$/\1/p' "$log" | tail -1)
        if [ -z "$find" ]; then
            result="FAILED" failed=1
            tail -20 "$log" >&2
        elif fails_again "$target" "$find"; then
            result="FAILED: fuzz/$find" failed=1
            grep -aE 'panicked|SUMMARY|ERROR' -A3 "$logs/$target.again" >&2 || true
            echo "fuzz/$find, compressed: gzip -9c | base64" >&2
            gzip -9c "$find" | base64 >&2
        else
            result="not confirmed: fuzz/$find"
        fi
    fi
    # shellcheck disable=SC2059
    printf "$row" "$target" "${executions:-–}" "${took:-–}" "$(of cov)" "$(of ft)" "$(of corp)" "$result"
done
exit "$failed"
