#!/bin/bash
# Makes recordings again: record.sh NAME... or `record.sh all`. Wants root, BPF and a C compiler.
#
# What each recording is made with is the last column of recordings/README.md; it is run as it stands there, in a scratch
# directory with the programs in it and in name and network spaces of its own. dwell is $DWELL, else the debug build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
export DWELL=${DWELL:-$target/debug/dwell} CARGO=${CARGO:-$(command -v cargo)}
if [ "${1:-}" != inside ]; then
    cargo build --quiet --manifest-path "$here/Cargo.toml" --example derive
    exec setsid --wait unshare --net --uts --mount "$0" inside "$@"
fi
shift
hostname vm
# What else the machine does shall show little.
[ ! -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup
renice -n -20 $$ >/dev/null
ip link set lo up

scratch=/tmp/dwell-golden
mkdir -p "$scratch"
cd "$scratch"
export XDG_CACHE_HOME=$scratch/none COLUMNS=100 PATH=$scratch:/usr/bin:/bin:/usr/sbin:/sbin
cp "$here"/programs/* "$here"/../dwell/tests/programs/causes_{files.c,net.*,reads.*} .
cp "$here"/../dwell/tests/programs/cpu.c .
for program in threads processes calls ring causes_files causes_net causes_reads cpu; do
    gcc -g -O1 -pthread -o "$program" "$program.c"
done

# The words that rows use besides the shell's own.
dwell() { "$DWELL" "$@" >/dev/null 2>>"$scratch/log"; }
derive() { "$target/debug/examples/derive" "$1" "$here/recordings/$2.dwell" "$K"; }
# What `dwell run` with these words records on another kernel, of a program for its processor.
emulated() {
    aarch64-linux-gnu-gcc -static -g -O1 -pthread -o counted counted.c
    (cd "$here" && "$CARGO" xtask kernels --record "$K" 6.12-arm64 -- "${@/.\//$scratch/}") >>"$scratch/log"
}
# Starts a program whose number is then in $PID, and ends it when the recording is made.
beside() {
    "$@" >/dev/null 2>&1 &
    PID=$! PIDS="$PIDS $!"
    sleep 0.5
}
# What causes_net.py asks.
serve() { beside python3 causes_net.py serve "$@"; }
# 1,000 small files, and a large one that is on its disk.
laid_out() {
    mkdir -p many
    ./causes_files make many 1000
    head -c 16M /dev/urandom >large
    sync large
}
# Writes to a pipe now and then, from when somebody reads it.
trickle() {
    rm -f trickle
    mkfifo -m 600 trickle
    beside sh -c 'exec >trickle; for i in 1 2 3 4 5 6 7 8; do echo "$i"; sleep 0.02; done'
}
# A link to 10.9.0.2 on which each packet takes 3 ms.
far() { beside python3 causes_net.py relay 3; }
# A host at 10.9.0.2, and between here and there 6 Mb/s.
slow() {
    mount -t tmpfs none /run
    ip netns add there
    ip link add here type veth peer name theirs netns there
    ip addr add 10.9.0.1/24 dev here
    ip -n there addr add 10.9.0.2/24 dev theirs
    ip link set here up
    ip -n there link set theirs gso_max_segs 1 up
    tc -n there qdisc add dev theirs root tbf rate 6mbit burst 5kb latency 50ms
    beside ip netns exec there python3 causes_net.py serve 0 5000
}
# A name server that the C library asks.
resolver() {
    echo 'nameserver 127.0.0.1
options timeout:1 attempts:1' >resolv.conf
    echo 'hosts: dns' >nsswitch.conf
    mount --bind resolv.conf /etc/resolv.conf
    mount --bind nsswitch.conf /etc/nsswitch.conf
    beside python3 sockets.py answer
}

# A control group for the program, with what is written to its settings: in $GROUP until the recording is made.
limited() {
    GROUP=/sys/fs/cgroup/$1/small
    mkdir -p "$GROUP"
    echo "$3" >"$GROUP/$2"
}
# Swap in a file, until the recording is made.
swaps() {
    SWAP=$scratch/swap
    (umask 077 && dd if=/dev/zero of="$SWAP" bs=1M count=64 status=none && mkswap -q "$SWAP" && swapon "$SWAP")
}

record() {
    local name=$1 row command
    row=$(grep -F "| \`$name\` |" "$here/recordings/README.md") || { echo "no row for $name" >&2; return 1; }
    command=${row%\` |}
    command=${command##*| \`}
    command=${command//\\|/|}
    K=$here/recordings/$name.dwell PID='' PIDS='' GROUP='' SWAP=''
    eval "$command" || true
    for PID in $PIDS; do kill "$PID" 2>/dev/null || true; wait "$PID" 2>/dev/null || true; done
    [ -z "$GROUP" ] || rmdir "$GROUP"
    [ -z "$SWAP" ] || { swapoff "$SWAP" && rm "$SWAP"; }
    [ -s "$K" ] && echo "$name: $(stat -c %s "$K") bytes"
}

if [ "${1:-}" = all ]; then
    set -- $(sed -n 's/^| `\([^`]*\)`.*/\1/p' "$here/recordings/README.md")
fi
for name in "$@"; do
    record "$name" || echo "$name: nothing was recorded" >&2
done
