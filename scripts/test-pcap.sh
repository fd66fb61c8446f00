#!/usr/bin/env bash
# Captures packets of an incast, a lossy run and a deadlock and lets tshark dissect them: RoCEv2 opcodes, PSNs, ECN, ACKs,
# NAKs, CNPs, PFC frames, checksums. Installs Debian's tshark where it is missing; not part of .ci/run.
#
#   scripts/test-pcap.sh [path of fabsim]
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v tshark > /dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq tshark > /dev/null
fi
if [ $# -gt 0 ]; then
    fabsim=$(realpath "$1")
else
    cargo build --release --locked --quiet
    fabsim=$(realpath "${CARGO_TARGET_DIR:-target}/release/fabsim")
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check NAME LEAST FILE FILTER: at least LEAST frames of FILE match.
check() {
    local count
    count=$(tshark -r "$work/$3" -Y "$4" -T fields -e frame.number 2> "$work/stderr" | wc -l)
    if [ "$count" -ge "$2" ]; then
        passed=$((passed + 1))
        echo "ok   $1: $count"
    else
        failed=$((failed + 1))
        echo "FAIL $1: $count frames match \"$4\", $2 are due"
        cat "$work/stderr"
    fi
}
# none NAME FILE FILTER: no frame of FILE matches.
none() {
    local count
    count=$(tshark -o ip.check_checksum:TRUE -r "$work/$2" -Y "$3" -T fields -e frame.number 2> /dev/null | wc -l)
    if [ "$count" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok   $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1: $count frames match \"$3\""
    fi
}

"$fabsim" run incast --set params.size=1MB --json --quiet --pcap "$work/incast.pcapng" --pcap-at leaf0:16 > /dev/null
"$fabsim" run incast --set params.size=1MB --json --quiet --pcap "$work/host.pcapng" --pcap-at host0 > /dev/null
"$fabsim" run link-errors --json --quiet --pcap "$work/loss.pcapng" --pcap-at host0 > /dev/null
"$fabsim" run pfc-deadlock-cbd --json --quiet --pcap "$work/deadlock.pcapng" --pcap-at spine0 > /dev/null

capinfos "$work/incast.pcapng" | grep -E "File type|Number of packets|Interface #0|Time precision" || true
check "WRITE first with its length" 1 incast.pcapng 'infiniband.bth.opcode == 0x06 && infiniband.reth.dmalen == 1000000'
check "WRITE middle" 100 incast.pcapng 'infiniband.bth.opcode == 0x07'
check "WRITE last asks for an ACK" 1 incast.pcapng 'infiniband.bth.opcode == 0x08 && infiniband.bth.a == 1'
check "PSNs count up" 1 incast.pcapng 'infiniband.bth.psn == 100'
check "packets marked by ECN" 1 host.pcapng 'ip.dsfield.ecn == 3 && infiniband.bth.opcode == 0x07'
check "ACKs" 100 host.pcapng 'infiniband.bth.opcode == 0x11 && infiniband.aeth.syndrome == 0x1f'
check "CNPs" 1 host.pcapng 'infiniband.bth.opcode == 0x81'
check "NAKs" 1 loss.pcapng 'infiniband.bth.opcode == 0x11 && infiniband.aeth.syndrome == 0x60'
check "PFC frames pause class 3" 1 incast.pcapng 'macc.opcode == 0x0101 && macc.cbfc.pause_time.c3 == 65535'
check "PFC frames resume class 3" 1 incast.pcapng 'macc.opcode == 0x0101 && macc.cbfc.pause_time.c3 == 0'
check "pauses of a deadlock" 4 deadlock.pcapng 'macc.opcode == 0x0101'
none "every checksum is right" incast.pcapng 'ip.checksum.status == "Bad"'
for file in incast host loss deadlock; do
    none "nothing in $file.pcapng is malformed" $file.pcapng '_ws.malformed'
    none "all of $file.pcapng is RoCEv2 or PFC" $file.pcapng '!infiniband && !macc'
done
# The order of time, and frames as long as they were.
tshark -r "$work/host.pcapng" -T fields -e frame.time_epoch -e frame.len 2> /dev/null > "$work/times"
if sort -s -c -n -k1,1 "$work/times" && grep -q -P "\t4154$" "$work/times"; then
    passed=$((passed + 1))
    echo "ok   frames are in order of time and have their lengths"
else
    failed=$((failed + 1))
    echo "FAIL frames are not in order of time, or none has 4154 bytes"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
