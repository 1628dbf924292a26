#!/bin/sh
# Live round trips with the original engine (crate tetration 0.8.3): every dtype, ranks 1 to 8, both codecs, all footers,
# in both directions. Files are kept under target/files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/target/files"
cargo run --quiet --manifest-path "$here/Cargo.toml" -- "$here/target/files"
