#!/bin/bash
# What dwell can do in containers, and what `dwell doctor` recommends there, tried as it is written: the table of
# docs/results/containers.md. Needs root, and Debian's podman, runc, crun, systemd-container, uidmap, busybox-static,
# jq and a C compiler. The image is made here of BusyBox, dwell and a program of known truth: no registry is asked.
# Usage: bench/containers.sh DWELL [DOCKER_SECCOMP.json]
#   DWELL: a static binary. DOCKER_SECCOMP.json: Docker's profile (profiles/seccomp/default.json of moby, which Debian
#   has in golang-github-docker-docker-dev); without it the rows of Docker are left out.
# What each dwell printed is left in containers.out.
set -u
dwell=$(realpath "$1")
docker=${2:+$(realpath "$2")}
out=$PWD/containers.out
rm -rf "$out" && mkdir -p "$out"
top=$(mktemp -d) && chmod 755 "$top"
trap 'podman rm -fa -t 0 > /dev/null 2>&1; rm -rf --one-file-system "$top"' EXIT

# 20 times 10 ms of CPU time in hot_function, and 10 ms asleep; for ever with an argument.
cat > "$top/known.c" <<'C'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void hot_function(void)
{
	struct timespec from, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 10000000);
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 || i < 20; i++) {
		hot_function();
		usleep(10000);
	}
}
C
root=$top/root
mkdir -p "$root"/{bin,usr,proc,sys,dev,tmp,etc,run,root,opt,var/tmp} && chmod 1777 "$root/tmp"
cc -O1 -g -static "$top/known.c" -o "$top/known" && cp "$top/known" "$root/bin/known"
cp "$dwell" "$root/bin/dwell" && cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh cat ps mount; do ln -s busybox "$root/bin/$name"; done
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
tar -C "$root" -cf "$top/root.tar" . && chmod 644 "$top/root.tar"
podman import -q "$top/root.tar" dwell:here > /dev/null

# Runtimes that change limits need more than this host may have.
limits='--ulimit=nofile=4096:4096 --ulimit=nproc=8192:8192'
image=dwell:here
# shellcheck disable=SC2086 # lists of options
podman_() { timeout 60 podman --runtime "$1" run --rm --network=none $limits ${2-} "$image" "${@:3}"; }
runc_() { podman_ runc "$@"; }
# crun takes control groups of version 2 only, and none, since a filter of devices may be more than this host lets it.
crun_() {
	# shellcheck disable=SC2016,SC2086
	timeout 60 unshare --mount sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh \
		podman --runtime crun run --rm --network=none --cgroups=disabled $limits ${1-} "$image" "${@:2}"
}
rootless_() {
	su rootless -s /bin/bash -c 'cd /tmp; XDG_RUNTIME_DIR=/run/user/'"$(id -u rootless)"' timeout 60 podman \
		--storage-driver vfs --cgroup-manager cgroupfs --runtime runc run --rm --network=none '"${1-} $image ${*:2}"
}
nspawn_() {
	# shellcheck disable=SC2086
	timeout 60 systemd-nspawn -q --register=no --keep-unit --pipe -D "$root" ${1-} "${@:2}"
}
# The options with which an engine starts what a pod's lines say.
of_pod() {
	grep -o 'add: \[[^]]*' | sed 's/add: \[//; s/, /\n/g' | sed 's/^/--cap-add=/'
	case $1 in *Unconfined*) echo --security-opt=seccomp=unconfined ;; esac
	case $1 in *'hostPID: true'*) echo --pid=host ;; esac
	case $1 in *'runAsUser: 0'*) echo --user=0 ;; esac
}

# The name of a state, by the tier of doctor, with what a run in the same place saw of the known program.
saw() { # OPTIONS COMMAND-PREFIX
	local name=$1 start=$2 options=$3
	"$start" "$options" dwell doctor --json - > "$out/$name.json" 2> "$out/$name.err"
	"$start" "$options" dwell doctor > "$out/$name.doctor.txt" 2>&1
	"$start" "$options" dwell run -v -- known > "$out/$name.run.txt" 2>&1
	"$start" "$options" dwell run --json - -q -- known > "$out/$name.run.json" 2> /dev/null
	tier=$(jq -r .tier "$out/$name.json" 2> /dev/null) || tier=
	remedy=$(jq -r '[.checks[] | select(.ability == "bpf")][0] | .remedy' "$out/$name.json" 2> /dev/null)
	events=$(jq -r '[.checks[] | select(.ability == "perf-events")][0] | .remedy' "$out/$name.json" 2> /dev/null)
	why=$(jq -r '[.checks[] | select(.ability == "bpf")][0] | .why' "$out/$name.json" 2> /dev/null)
	known=$(jq -r '([.functions | arrays | .[] | select(.name == "hot_function")] | length) as $hot
		| ([.account[] | select(.state == "sleep")][0].ns // 0) as $slept
		| (([.account[] | select(.state == "user" or .state == "kernel")] | map(.ns) | add) // 0) as $ran
		| ([.account[] | select(.state == "sleep") | .lo_ns // empty][0]) as $lo
		| ([.account[] | select(.state == "sleep") | .hi_ns // empty][0]) as $hi
		| "on CPU \($ran / 1e6 | round) ms, asleep \($slept / 1e6 | round) ms" +
		  (if $lo and $hi then " (\($lo / 1e6 | round) to \($hi / 1e6 | round))" else "" end) + ", " +
		  (if $hot > 0 then "`hot_function`" else "no names" end) + ", " +
		  (if (.syscalls | type) == "array" then "calls" else "no calls" end)' "$out/$name.run.json" 2> /dev/null)
	echo "${tier:-failed}: ${known:-no account}"
}

# NAME, how it is started, with which options, whose words the remedy has.
row() {
	local name=$1 start=$2 options=$3 words=$4 before first line after
	before=$(saw "$name" "$start" "$options"; echo "$why" > "$top/why"; echo "$remedy" > "$top/remedy"; echo "$events" > "$top/events")
	first=$(cat "$top/why") line=$(cat "$top/remedy")
	# Where no option gives BPF, the one for perf events.
	case $line in "use "*) line=$(cat "$top/events") ;; esac
	local given=
	case $words:$line in
	*:"use "* | *: | *:null) ;;
	pod:*) given=$(echo "$line" | of_pod "$line" | tr '\n' ' ') ;;
	nspawn:*) given=${line#start the container with systemd-nspawn } given=${given%, or use*} ;;
	*:"start the container with "*) given=${line#start the container with } given=${given%, or use*} ;;
	esac
	after=
	if [ -n "$given" ]; then
		after=$(saw "$name-with" "$start" "$options $given")
	fi
	echo "| $name | $before | ${first:-} | ${line:-nothing} | ${after:--} |"
}

defaults=
capabilities=CHOWN,DAC_OVERRIDE,FSETID,FOWNER,MKNOD,NET_RAW,SETGID,SETUID,SETFCAP,SETPCAP,NET_BIND_SERVICE,SYS_CHROOT,KILL,AUDIT_WRITE
of_docker="--cap-drop=all --cap-add=$capabilities"
echo '| started by | dwell there | why no BPF | doctor: what would change it | dwell with that |'
echo '|---|---|---|---|---|'
row podman-runc runc_ "$defaults" engine
row podman-crun crun_ "$defaults" engine
row podman-user runc_ "--user=1000" engine
row podman-privileged runc_ "--privileged" engine
[ -n "$docker" ] && row docker runc_ "$of_docker --security-opt=seccomp=$docker" engine
[ -n "$docker" ] && row docker-user runc_ "$of_docker --security-opt=seccomp=$docker --user=1000" engine

id rootless > /dev/null 2>&1 || useradd -m rootless
grep -q ^rootless: /etc/subuid || echo rootless:300000:65536 >> /etc/subuid
grep -q ^rootless: /etc/subgid || echo rootless:300000:65536 >> /etc/subgid
install -d -o rootless "/run/user/$(id -u rootless)"
su rootless -s /bin/bash -c "cd /tmp; XDG_RUNTIME_DIR=/run/user/$(id -u rootless) podman --storage-driver vfs import -q $top/root.tar dwell:here" > /dev/null
row rootless rootless_ "" engine

# A pod: an application, and a container that shares its PIDs (an ephemeral one with --target), or the host's.
podman --runtime runc run -d --name app --network=none $limits "$image" known forever > /dev/null
pod="$of_docker --env=KUBERNETES_SERVICE_HOST=10.96.0.1"
profile=${docker:-/usr/share/containers/seccomp.json}
row pod runc_ "$pod --security-opt=seccomp=unconfined" pod
row pod-RuntimeDefault runc_ "$pod --security-opt=seccomp=$profile" pod
row ephemeral runc_ "$pod --pid=container:app --security-opt=seccomp=unconfined" pod
row hostPID runc_ "$pod --pid=host --security-opt=seccomp=unconfined" pod
row nspawn nspawn_ "" nspawn

# As gVisor answers: no call by which one observes, and nothing of the kernel in /sys and /proc.
jq -n '{defaultAction: "SCMP_ACT_ALLOW", syscalls: [{action: "SCMP_ACT_ERRNO", errnoRet: 38, names:
	["bpf", "perf_event_open", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "sched_setattr"]}]}' > "$top/none.json"
hidden=/sys:/proc/kallsyms:/proc/pressure:/proc/schedstat:/proc/diskstats:/proc/softirqs:/proc/interrupts
row sandbox runc_ "--security-opt=seccomp=$top/none.json --security-opt=mask=$hidden" engine

# What a container sees of another one, whose files it has not: names come from the other's mount namespace.
echo
echo '| attached to the other container | with | whose PID | functions of its binary |'
echo '|---|---|---|---|'
podman rm -fa -t 0 > /dev/null 2>&1
podman --runtime runc run -d --name app --network=none $limits -v "$top/known:/opt/elsewhere:ro" "$image" /opt/elsewhere forever > /dev/null
host_pid=$(podman inspect -f '{{.State.Pid}}' app)
all='--cap-add=BPF --cap-add=PERFMON --cap-add=SYS_PTRACE --security-opt=seccomp=unconfined'
attach() { # NAME OPTIONS PID
	runc_ "$2" dwell attach "$3" --for 1 --json - -q > "$out/attach-$1.json" 2> "$out/attach-$1.err"
	names=$(jq -r 'if (.functions | type) == "array" then [.functions[].name] | map(select(. == "hot_function" or . == "main"))
		| sort | join(", ") else .functions.unseen end' "$out/attach-$1.json" 2> /dev/null)
	echo "| $1 | $2 | $3 | ${names:-$(head -c 200 "$out/attach-$1.err" | tr '\n' ' ')} |"
}
attach ephemeral-all "--pid=container:app $all" 1
attach ephemeral "--pid=container:app" 1
attach hostPID-all "--pid=host $all" "$host_pid"
attach hostPID "--pid=host" "$host_pid"
