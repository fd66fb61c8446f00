#!/usr/bin/env bash
# Runs a sweep through a real Slurm on this machine and compares the merged result with that of one process, byte for
# byte. Needs root and Debian's packages slurm-wlm and munge, which it installs; not part of .ci/run.
#
#   scripts/test-slurm.sh [path of fabsim]
#
# The cluster is one node with its own configuration, state and log in a temporary folder. It ends with the script.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
    echo "test-slurm.sh: run it as root: it installs packages and starts slurmctld, slurmd and munged" >&2
    exit 2
fi
if ! { command -v slurmctld && command -v slurmd && command -v munged; } > /dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq slurm-wlm munge > /dev/null
fi
if [ $# -gt 0 ]; then
    fabsim=$(realpath "$1")
else
    cargo build --release --locked --quiet
    fabsim=$(realpath "${CARGO_TARGET_DIR:-target}/release/fabsim")
fi

work=$(mktemp -d)
started=()
finish() {
    for pid in "${started[@]}"; do
        kill "$pid" 2> /dev/null || true
    done
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work"
mkdir -p "$work/state" "$work/spool" "$work/munge"

# A key and socket of our own, so that a munge that is set up on this machine is left alone.
dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
chown -R munge: "$work/munge"
chmod 700 "$work/munge"
chmod 400 "$work/munge/key"
# Its clients have to reach the socket.
chmod 711 "$work/munge"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --force \
    --key-file "$work/munge/key" --socket "$work/munge/socket" \
    --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed" 2> "$work/munge.err" &
started+=($!)

host=$(hostname -s)
cat > "$work/slurm.conf" << EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmctldPort=16817
SlurmdPort=16818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MailProg=/bin/true
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOF
export SLURM_CONF=$work/slurm.conf
slurmctld -D 2> "$work/slurmctld.err" & started+=($!)
slurmd -D 2> "$work/slurmd.err" & started+=($!)
for _ in $(seq 60); do
    if sinfo -h -o %t 2> /dev/null | grep -q idle; then break; fi
    sleep 0.5
done
if ! sinfo -h -o %t | grep -q idle; then
    echo "test-slurm.sh: the node did not come up; the logs:" >&2
    tail -n 20 "$work"/*.log "$work"/*.err >&2
    exit 1
fi

cat > "$work/small.json" << 'EOF'
{
  "schema_version": 1,
  "name": "small",
  "topology": { "single-switch": { "hosts": 9, "link": { "rate": "100Gbps", "delay": "1us" } } },
  "traffic": [{ "incast": { "senders": 8, "size": "2MB" } }],
  "sweep": {
    "parameters": [
      { "path": "switch.ecn.kmin", "range": { "from": "25KB", "to": "200KB", "factor": 2 } },
      { "path": "switch.ecn.kmax", "values": ["200KB", "800KB", "3200KB"] }
    ],
    "repeat": 4
  }
}
EOF
cd "$work"
"$fabsim" sweep small.json --out alone --quiet > alone.txt

# The script as `sweep slurm` prints it, cut into more jobs than these short points need.
"$fabsim" sweep slurm small.json --minutes 1 --out shared > batch.sh
sed -i 's/--array=1-[0-9]*/--array=1-6/; s/SLURM_ARRAY_TASK_ID\/[0-9]*/SLURM_ARRAY_TASK_ID\/6/' batch.sh
FABSIM=$fabsim sbatch --wait --output="$work/job-%a.log" batch.sh
"$fabsim" sweep merge shared > merged.txt

# And by Slurm's own variables alone.
"$fabsim" sweep plan small.json --out told > /dev/null
printf '#!/bin/bash\nexec %q sweep run told\n' "$fabsim" > told.sh
sbatch --wait --array=0-3 --output="$work/told-%a.log" told.sh
grep -h 'as SLURM_ARRAY_TASK_ID says' "$work"/told-*.log
"$fabsim" sweep merge told > /dev/null

for folder in shared told; do
    for file in points.csv settings.csv sweep.json; do
        cmp "alone/$file" "$folder/$file"
    done
done
echo "Slurm $(sinfo --version | cut -d' ' -f2): 6 and 4 jobs gave the bytes of one process ($(wc -l < alone/points.csv) lines)"
