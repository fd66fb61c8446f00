#!/usr/bin/env bash
# Tests what the cargo feature `parquet` adds: reads points.parquet back and compares it with points.csv, from one process
# and from shards. Not part of .ci/run, as it builds the `parquet` crate.
#
#   scripts/test-parquet.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo clippy -p scenarios -p fabsim --features fabsim/parquet --all-targets --locked -- -D warnings
cargo test -p scenarios --features parquet --locked sweep::columnar
cargo test -p fabsim --features parquet --locked --test sweep parquet
