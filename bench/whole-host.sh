#!/bin/bash
# whole-host.sh DWELL...: memory and CPU time of `dwell attach --cgroup / --for 10s` on a host with
# some 450 processes more than it has now: sleepers, 44 busy Pythons, and Node.js, Perl, GCC, rustc
# and shells where they are installed. Each DWELL is run in turn, three times. Needs root.
set -u
[ $# -gt 0 ] || { echo "usage: $0 DWELL..." >&2; exit 2; }
place=$(mktemp -d)
started=()
trap 'kill "${started[@]}" 2> /dev/null; wait 2> /dev/null; rm -rf "$place"' EXIT
begin() { "$@" > /dev/null 2>&1 & started+=($!); }
again() { while true; do "$@"; sleep 0.3; done; }

for _ in $(seq 365); do begin sleep 1000; done
for _ in $(seq 40); do begin python3 -c 'import time
while True: time.sleep(0.05); sum(range(2000))'; done
for _ in 1 2; do begin python3 -c 'import json, time
table = {str(i): i for i in range(1000)}
while True:
    begun = time.time()
    while time.time() - begun < 0.05: json.loads(json.dumps(table))
    time.sleep(0.1)'; done
for _ in 1 2; do
    begin node -e 'setInterval(() => JSON.parse(JSON.stringify([...Array(20000).keys()])), 50)'
    begin perl -e 'while (1) { my %h = map { $_ => $_ } 1..20000; select(undef, undef, undef, 0.1) }'
done
for i in $(seq 300); do
    echo "int f$i(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * $i; return s; }"
done > "$place/many.c"
echo 'fn main() { println!("{:?}", (0..100).map(|n| n.to_string()).collect::<Vec<_>>()) }' > "$place/one.rs"
begin again gcc -O2 -c -o "$place/many.o" "$place/many.c"
begin again rustc -O -o "$place/one" "$place/one.rs"
for _ in 1 2 3; do begin again ls /usr/bin; done
sleep 3

numbered=(/proc/[0-9]*)
echo "processes: ${#numbered[@]}, load: $(cut -d' ' -f1 /proc/loadavg)"
for _ in 1 2 3; do
    for dwell in "$@"; do
        /usr/bin/time -f "$dwell: at most %M KB, user %U s, system %S s" \
            "$dwell" attach --cgroup / --for 10s --quiet --no-store --json "$place/result.json"
    done
done
