#!/bin/sh
# Writes docs/examples.md: real programs under dwell, as they come out on this machine. Needs root for the full
# account, cc, python3 and gzip.  Usage: bench/examples.sh PATH-OF-DWELL > docs/examples.md
set -eu
dwell=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# The interpreter itself, where `python3` is a version manager's script that looks for it.
PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH

page() { # title, what to see, options of dwell in one word, command…
	title=$1 text=$2 options=$3
	shift 3
	printf '## %s\n\n%s\n\n```\n' "$title" "$(echo "$text" | fold -s -w 100 | sed 's/ $//')"
	if [ -n "$options" ]; then printf '$ dwell run %s %s\n' "$options" "$*"; fi
	# Options are words.
	# shellcheck disable=SC2086
	"$dwell" run --color never --width 80 $options -o page.txt -- "$@" >/dev/null 2>errors.txt </dev/null || true
	cat page.txt
	printf '```\n\n'
}

whole() { # title, what to see, verb and its options…
	title=$1 text=$2
	shift 2
	printf '## %s\n\n%s\n\n```\n$ dwell %s\n' "$title" "$(echo "$text" | fold -s -w 100 | sed 's/ $//')" "$*"
	"$dwell" "$@" --color never --width 80 2>errors.txt </dev/null || true
	printf '```\n\n'
}

cp "$here"/examples/* "$here"/nodes.c .
cc -O1 -g -pthread -o locked locked.c
cc -O2 -g -o served served.c
cc -O1 -g -o nodes nodes.c
cc -O1 -g -o search search.c
dd if=/dev/urandom of=large bs=1M count=256 status=none
dd if=/dev/zero of=text bs=1M count=64 status=none
sync
# Else the first listing waits for the disk, and is another program.
ls -lR /usr >/dev/null 2>&1 || true

# What the pages depend on beside the programs.
priority=$(nice)
[ "$priority" = 0 ] && priority= || priority=", at a niceness of $priority"
group=$(sed 's/.* nice //' /proc/self/autogroup 2>/dev/null || echo 0)
[ "$group" = 0 ] || priority="$priority in a session at $group"
text="Real programs, as \`bench/examples.sh\` printed them on $(date -u +%F)$priority, with $("$dwell" --version). The bar and the strip are coloured on a terminal."
printf '# Examples\n\n%s\n\n' "$(echo "$text" | fold -s -w 100 | sed 's/ $//')"
page 'A recursive long listing' 'Bound by the kernel: a `statx` and two attribute calls for each file. `-l` asks for them.' '' ls -lR /usr
page 'The same with all tables' 'What the page that fits a screen leaves out.' '-v' ls -lR /usr
page 'The short one' 'The same files without `-l`: no call per file is left.' '' ls -R /usr
page 'Copying a large file' 'The kernel copies. Waits, where there are any, are for the disk.' '' cp large copy
page 'gzip in a pipeline' 'Three processes, one critical path: it goes through `gzip`.' '' sh -c 'cat text | gzip | wc -c'
page 'A build' 'The driver `cc` waits for the compiler, so the path is the compiler'"'"'s.' '' cc -O2 -c -o locked.o locked.c
page 'A list of four million nodes' 'Most of the time is the allocator'"'"'s and that of the kernel, which clears the pages; `main` walks the list.' '' ./nodes 4000000
page 'A Python grid that is allocated anew each step' 'Each step touches fresh memory, which shows as faults: line 7 allocates it, line 16 frees it.' '--lines step' python3 grid.py
page 'A Python client of a slow service' 'Two things in one call tree: the loop in `dearest`, and the waits for each answer in `price`.' '--flame --lines price' python3 stock.py
page 'A program that sleeps' 'Idle for the time it sleeps.' '' sleep 0.5
page 'Threads and a lock' 'The main thread waits for a lock; the path is what the lock holder did during the wait.' '-v' ./locked
page 'A slow local server' 'The server sleeps on each request. It is part of the tree, so the path leads to its sleep, and to the line that called it.' '' ./served
page 'Exact executions' 'Executions of each basic block of a function: a binary search, which goes left about as often as right.' '--count-blocks=search' ./search
whole 'Waking up while messages fly' 'How late timers wake threads up while 400 processes send each other messages, against a deadline, and the causes of the largest latencies.' wake --for 20s --deadline 1ms --load sched:message=128
whole 'Waking up under five loads' 'Five seconds each here; an hour each to qualify a machine.' wake --sheet --for 5s
