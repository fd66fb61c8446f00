#!/usr/bin/env bash
# Makes reports of a deadlock, the benchmark of 1024 hosts, a collective and a small sweep, opens them in headless
# Chromium and tries them: load time, size, requests, tooltips, sorting, theme, phone, print. Screenshots are kept.
# Needs chromium and node, which it installs from Debian if it can; not part of .ci/run.
#
#   scripts/test-report.sh [path of fabsim] [folder of the screenshots]
set -euo pipefail
cd "$(dirname "$0")/.."

if ! { command -v chromium && command -v node; } > /dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium nodejs > /dev/null
fi
if [ $# -gt 0 ]; then
    fabsim=$(realpath "$1")
else
    cargo build --release --locked --quiet
    fabsim=$(realpath "${CARGO_TARGET_DIR:-target}/release/fabsim")
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shots=${2:-runs/report-screenshots}
mkdir -p "$shots"

for name in pfc-deadlock-cbd bench-permutation-1024 incast allreduce-ring-8; do
    "$fabsim" run "$name" --quiet --json --out "$work/$name" > /dev/null
done
"$fabsim" sweep incast --param params.size=1MB --param switch.ecn.kmin=100KB,400KB,1600KB \
    --param switch.ecn.kmax=2MB,8MB --quiet --out "$work/sweep" > /dev/null
for name in pfc-deadlock-cbd bench-permutation-1024 incast allreduce-ring-8 sweep; do
    "$fabsim" report "$work/$name"
done
node scripts/test-report.mjs "$work" "$shots"
