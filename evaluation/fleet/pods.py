"""Measures pods by name, with control groups and directories of logs as the kubelet makes them.
ARGS: DWELL; root.

No node of Kubernetes is needed: processes run in groups of the names that the kubelet's two drivers
(systemd, cgroupfs) and containerd and CRI-O give them, and /var/log/pods is a directory of its own
in this program's mounts. The window of a pod must have its processes, all of them and no others.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from common import check, ended, run

LOGS = pathlib.Path("/var/log/pods")
BUSY = "import time\nwhile True: sum(range(20000)); time.sleep(0.005)"


def uid(name):
    of = hashlib.md5(name.encode()).hexdigest()
    return f"{of[:8]}-{of[8:12]}-{of[12:16]}-{of[16:20]}-{of[20:]}"


def container(name):
    return hashlib.sha256(name.encode()).hexdigest()


def by_systemd(name, of_class="-burstable", above="", runtime="cri-containerd"):
    """Groups of a pod's containers where systemd makes them."""
    slice_ = f"kubepods{of_class}-pod{uid(name).replace('-', '_')}.slice"
    of = f"{above}kubepods.slice/{f'kubepods{of_class}.slice/' if of_class else ''}{slice_}"
    return [f"{of}/{runtime}-{container(name + str(n))}.scope" for n in range(2)]


def by_kubelet(name, of_class="besteffort/"):
    """The same where the kubelet does (cgroupfs)."""
    return [f"kubepods/{of_class}pod{uid(name)}/{container(name + str(n))}" for n in range(2)]


# name of the pod: (its namespace, groups of its containers, what `service` is)
PODS = {
    "web-7d9f8b6c5-x2x4z": ("shop", by_systemd("web"), "web"),
    "agent-8kq2p": ("kube-system", by_systemd("agent", ""), "agent"),
    "db-0": ("shop", by_kubelet("db"), "db-0"),
    "nightly-29912345-x7k2p": ("shop", by_kubelet("nightly", ""), "nightly"),
    "crio-5c9d4f7b8-zzzzz": ("shop", by_systemd("crio", "-besteffort", "", "crio"), "crio"),
}
KEYS = {"web-7d9f8b6c5-x2x4z": "web", "agent-8kq2p": "agent", "db-0": "db",
        "nightly-29912345-x7k2p": "nightly", "crio-5c9d4f7b8-zzzzz": "crio"}


def hierarchies(version):
    """Where control groups of a version are mounted."""
    mounts = [line.split() for line in open("/proc/mounts")]
    kind = "cgroup2" if version == 2 else "cgroup"
    named = [pathlib.Path(mount[1]) for mount in mounts if mount[2] == kind]
    # A cpuset takes processes only when it has CPUs and memory.
    return [place for place in named if not (place / "cpuset.cpus").exists() or version == 2]


def start(group, places):
    child = subprocess.Popen([sys.executable, "-c", BUSY])
    for place in places:
        (place / group).mkdir(parents=True, exist_ok=True)
        (place / group / "cgroup.procs").write_text(str(child.pid))
    return child


def removed(places):
    """Takes away the groups that were made, innermost first."""
    for place in places:
        for top in ("kubepods.slice", "kubepods"):
            for folder, _, _ in os.walk(place / top, topdown=False):
                os.rmdir(folder)


def measure(dwell, folder, version):
    places = hierarchies(version)
    if not places:
        print(f"      no control groups of version {version} are mounted")
        return
    children = {}
    try:
        for name, (space, groups, _) in PODS.items():
            (LOGS / f"{space}_{name}_{uid(KEYS[name])}").mkdir(parents=True)
            children[name] = [start(group, places) for group in groups]
        # A pod that is gone, whose logs are still there; and another one of the same name elsewhere.
        (LOGS / f"shop_db-0_{uid('gone')}").mkdir()
        (LOGS / f"test_web-7d9f8b6c5-x2x4z_{uid('elsewhere')}").mkdir()
        children["other"] = [start("kubepods/besteffort/podx", places)]
        time.sleep(0.5)
        for name, (space, _, service) in PODS.items():
            for asked in (name, f"{space}/{name}", uid(KEYS[name])):
                out = folder / "window.json"
                words = [dwell, "attach", "--pod", asked, "--for", "1s", "-q", "--no-store", "--json", str(out)]
                done = run(words, folder / "store")
                if done.returncode:
                    check(f"version {version}, {asked}", False, done.stderr.strip()[:200])
                    continue
                result = json.loads(out.read_text())
                seen = {thread["pid"] for thread in result["threads"]}
                own = {child.pid for child in children[name]}
                wanted = service if asked != uid(KEYS[name]) else result["service"]
                check(f"version {version}, --pod {asked}", seen == own and result["service"] == wanted,
                      f"{len(seen)} processes, service {result['service']}")
        done = run([dwell, "attach", "--pod", "none-1", "--for", "1s"], folder / "store")
        check(f"version {version}, a pod that is not there is refused", done.returncode == 125,
              done.stderr.strip().splitlines()[0][:160])
    finally:
        for child in sum(children.values(), []):
            child.kill()
            child.wait()
        removed(places)
        subprocess.run(["sh", "-c", f"rm -rf {LOGS}/*"], check=False)


def main():
    if len(sys.argv) == 2:
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv, "inside"])
    made = not LOGS.exists()
    LOGS.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", str(LOGS)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for version in (1, 2):
            measure(sys.argv[1], pathlib.Path(folder), version)
    subprocess.run(["umount", str(LOGS)], check=True)
    if made:
        LOGS.rmdir()
    ended()


if __name__ == "__main__":
    main()
