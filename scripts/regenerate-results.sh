#!/usr/bin/env bash
# Runs every shipped scenario and writes what is expected of it to results/, or compares with what is there.
#
#   scripts/regenerate-results.sh           writes results/
#   scripts/regenerate-results.sh --check   compares byte for byte, prints the difference, exits 1 if there is one
#
# results/NAME/ holds the scenario with its defaults, results/NAME/PARAM=VALUE/ with one knob turned. A folder has the
# summary, and flows.csv where that is no larger than 50 kB. results/NAME/sweep/ holds the points of a scenario with a
# sweep block and what is made of them. Nothing in them depends on the machine or the clock.
set -euo pipefail
cd "$(dirname "$0")/.."

# Scenario and knob, for the settings whose difference is the point of the scenario.
variants='
allreduce-1024-a100  qps=4,split=true
allreduce-1024-a100  algorithm=double-tree,kmin=100KB
alltoall-moe         pxn=false
cnp-delay            cnp_delay=0us
headroom-300m        headroom=104448B
headroom-300m        cable=40m
link-errors          error_rate=0
link-errors          error_rate=1e-2
livelock-go-back-0   recovery=go-back-n
livelock-go-back-0   recovery=selective-repeat
pfc-deadlock-cbd     failed_link=false
pfc-deadlock-cbd     detour_class=4
pfc-deadlock-loop    rate=4.5Gbps
pfc-deadlock-loop    rate=5.05Gbps
pfc-storm            watchdog=true
rail-collision       routing=adaptive
training-step-gpt    overlap=false
two-to-one-25g       senders=1
two-to-one-25g       cc=none
victim-flow          cc=dcqcn
victim-flow          cc=hpcc
victim-flow          cc=swift
'

check=false
case "${1-}" in
    '') ;;
    --check) check=true ;;
    *)
        echo "usage: $0 [--check]" >&2
        exit 2
        ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --release --locked --quiet

# Runs scenario $1 with the remaining arguments and keeps what is compared in folder $2.
keep() {
    local name=$1 folder=$work/results/$2
    shift 2
    cargo run --release --locked --quiet -- \
        run "scenarios/library/$name.json" "$@" --out "$work/run" --quiet > "$work/summary.txt"
    mkdir -p "$folder"
    cp "$work/run/summary.json" "$folder/"
    if [ "$(wc -c < "$work/run/flows.csv")" -le 50000 ]; then
        cp "$work/run/flows.csv" "$folder/"
    fi
    rm -r "$work/run"
}

# Runs the sweep of scenario $1.
keep_sweep() {
    local folder=$work/results/$1/sweep
    cargo run --release --locked --quiet -- \
        sweep "scenarios/library/$1.json" --out "$work/sweep" --quiet > "$work/sweep.txt"
    mkdir -p "$folder"
    cp "$work/sweep/points.csv" "$work/sweep/sweep.json" "$folder/"
    rm -r "$work/sweep"
}

for file in scenarios/library/*.json; do
    name=$(basename "$file" .json)
    keep "$name" "$name"
    if grep -q '^  "sweep": {' "$file"; then
        keep_sweep "$name"
    fi
done
while read -r name knob; do
    if [ -n "$name" ]; then
        # Several knobs are joined by commas.
        sets=()
        for one in ${knob//,/ }; do
            sets+=(--set "params.$one")
        done
        keep "$name" "$name/$knob" "${sets[@]}"
    fi
done <<< "$variants"

# Published runs beside their simulation.
cargo run --release --locked --quiet -p validation --example nccl_runs > "$work/nccl-measured.md"

if $check; then
    if ! diff docs/nccl-measured.md "$work/nccl-measured.md"; then
        echo "docs/nccl-measured.md differs from what this build computes: scripts/regenerate-results.sh" >&2
        exit 1
    fi
    if ! diff -ru --exclude=README.md results "$work/results"; then
        echo "results/ differs from what this build computes. If that is meant: scripts/regenerate-results.sh, and a" >&2
        echo "line under \"Changed results\" in CHANGELOG.md." >&2
        exit 1
    fi
    echo "results/ is what this build computes: $(find "$work/results" -name summary.json | wc -l) runs"
else
    find results -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +
    cp -r "$work/results/." results/
    cp "$work/nccl-measured.md" docs/nccl-measured.md
    echo "wrote results/: $(find results -name summary.json | wc -l) runs"
fi
