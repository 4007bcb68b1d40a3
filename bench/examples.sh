#!/bin/sh
# Writes docs/examples.md: real programs under dwell, as they come out on this machine. Needs root for the full
# account, cc, python3 and gzip.  Usage: bench/examples.sh PATH-OF-DWELL > docs/examples.md
set -eu
dwell=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

page() { # title, what to see, command…
	title=$1 text=$2
	shift 2
	printf '## %s\n\n%s\n\n```\n' "$title" "$text"
	"$dwell" run --color never --width 96 -o page.txt -- "$@" >/dev/null 2>errors.txt </dev/null || true
	cat page.txt
	printf '```\n\n'
}

cp "$here"/examples/* .
cc -O1 -pthread -o locked locked.c
cc -O2 -o served served.c
dd if=/dev/urandom of=large bs=1M count=256 status=none
dd if=/dev/zero of=text bs=1M count=64 status=none
sync

printf '# Examples\n\nReal programs, as `bench/examples.sh` printed them. The bar and the strip are coloured on a terminal.\n\n'
page 'A recursive long listing' 'Bound by the kernel: a `statx` and two attribute calls for each file. `-l` asks for them.' ls -lR /usr
page 'The short one' 'The same files without `-l`: no call per file is left.' ls -R /usr
page 'Copying a large file' 'The kernel copies; whatever waits, waits for the disk.' cp large copy
page 'gzip in a pipeline' 'Three processes, and the wall clock is that of one: the path goes through `gzip`.' sh -c 'cat text | gzip | wc -c'
page 'A build' 'The driver `cc` waits for the compiler, so the path is the compiler'"'"'s.' cc -O2 -c -o locked.o locked.c
page 'A Python grid that is allocated anew each step' 'Each step touches fresh memory, which shows as faults.' python3 grid.py
page 'A program that sleeps' 'Idle, and it says for how long.' sleep 0.5
page 'Threads and a lock' 'The main thread waits for a lock; the wall clock is what its holder did meanwhile.' ./locked
page 'A slow local server' 'The server sleeps on each request; it is of the tree, so the path finds its sleep.' ./served
