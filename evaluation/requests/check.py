"""Compares what `dwell attach` says of requests with what servers did to them.
ARGS: DWELL [MODEL…]; prints a line for each check and a table in markdown.

Each model is a server that plants known times in requests and writes what it measured itself.
Tolerances: latencies 0.3 ms or 5 %; means of parts 3 points of the total or 1 ms for each planted
request; of a single request 1 ms or 3 %. Time that a thread waits for a CPU after a wait is in what
the server measured of that wait, and a row of its own in dwell's account: it counts for either.
"""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
PORT, SECONDS = 21000, 2.5
C = "cc -O1 -g -pthread -o {name} {here}/{name}.c"
# What a server measured, and what dwell calls it: own threads, threads behind a queue, a loop that
# turns from one request to another, and goroutines, which wait for a channel as well.
CPU, LOCK, SLEEP, PEER = {"cpu": "on-cpu"}, {"lock": "lock"}, {"sleep": "sleep"}, {"peer": "peer network"}
BLOCKED = {"blocked": "unread other-request"}
OWN = {**CPU, **LOCK, **SLEEP, **PEER, **BLOCKED}
POOL = {**CPU, **LOCK, **SLEEP, "queued": "no-thread other-request", "blocked": "unread"}
LOOP = {**CPU, "sleep queued": "no-thread", **PEER, **BLOCKED}
LOG = {**CPU, **SLEEP, "lock queued blocked": "lock unread no-thread other-request"}
GO = {**OWN, "queued": "other-wait"}
# name: (how it is built, how it is started, protocol, plans, what is compared)
PYTHON, JAVA = "python3 {here}/", "java -cp . -Dsun.net.httpserver.nodelay="
MODELS = {
    "threads": ("", PYTHON + "threads.py", "line", "lock,sleep,peer,cpu", OWN),
    "threads_c": (C, "./threads_c", "line", "lock,sleep,peer,cpu", OWN),
    "shared_loop": (C, "./shared_loop", "line", "lock,sleep,cpu", OWN),
    "prefork": ("", PYTHON + "prefork.py", "once", "sleep,cpu,peer", OWN),
    "pool": (C, "./pool", "line", "pool,cpu,lock", POOL),
    "condvar": (C, "./condvar", "line", "pool,cpu", POOL),
    "log_lock": (C.replace("{name}.c", "condvar.c -DLOG"), "./log_lock", "line", "log", LOG),
    "pool-python": ("", PYTHON + "pool.py", "line", "pool,cpu", POOL),
    "loop": (C, "./loop", "line", "peer,cpu,sleep", OWN),
    "loop_workers": (C, "./loop_workers", "line", "pool,cpu,lock", POOL),
    "asyncio": ("", PYTHON + "aio.py", "line", "peer,sleep,cpu,pool", LOOP),
    "node": ("", "node {here}/node.js", "http", "peer,sleep,cpu", LOOP),
    "go": ("GO111MODULE=off go build -o go {here}/server.go", "./go", "http", "lock,sleep,peer,cpu,pool", GO),
    "java": ("javac -d . {here}/Server.java", JAVA + "true Server", "http", "lock,sleep,peer,pool,cpu", OWN),
    "java-nagle": ("javac -d . {here}/Server.java", JAVA + "false Server", "http", "lock,sleep", OWN),
}
MEASURED = ("cpu", "lock", "sleep", "peer", "queued", "blocked")


def quantile(sorted_, share):
    return sorted_[min(len(sorted_) - 1, int(len(sorted_) * share))]


def measure(dwell, name, folder):
    """Runs server, load and dwell: what the load saw, the server's truth, dwell's `requests`."""
    build, start, protocol, plans, _ = MODELS[name]
    words = {"here": HERE, "name": name}
    subprocess.run(build.format(**words) or "true", shell=True, cwd=folder, check=True)
    path = lambda name: str(folder / name)
    peer = subprocess.Popen(["python3", HERE / "peer.py", str(PORT + 1)])
    time.sleep(0.5)
    command = f"exec {start.format(**words)} {PORT} {PORT + 1} {path('truth')}"
    server = subprocess.Popen(command, shell=True, cwd=folder, start_new_session=True)
    try:
        load = [sys.executable, str(HERE / "load.py"), str(PORT), protocol, plans]
        time.sleep(1)
        subprocess.run([*load, "0.5", path("warm")], check=True)
        os.truncate(path("truth"), 0)
        attach = [dwell, "attach", str(server.pid), "--for", f"{SECONDS + 3:.1f}s", "--json", path("json")]
        with open(path("page"), "w") as page:
            environment = {**os.environ, "DWELL_STORE": "off"}
            attached = subprocess.Popen(attach, stdout=page, stderr=page, env=environment)
            time.sleep(1.5)
            subprocess.run([*load, str(SECONDS), path("seen")], check=True)
            attached.wait()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        peer.kill()
        server.wait(), peer.wait()
    lines = lambda name: [json.loads(line) for line in open(path(name))]
    return lines("seen"), lines("truth"), json.load(open(path("json")))["requests"]


def joined(seen, truth):
    """For each request, in order of time on each connection: what was seen and the truth."""
    real = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
    of_port = collections.defaultdict(list)
    for one in sorted(truth, key=lambda one: one["recv"]):
        of_port[one["port"]].append(one)
    for port, plan, ms, sent, answered, _ in sorted(seen, key=lambda row: row[3]):
        one = of_port[port].pop(0)
        assert one["plan"] == plan, (one, plan)
        received = one["recv"] - (real if "real" in one else 0)
        one.update(began=sent, latency=answered - sent, blocked=max(0, received - sent) + one["loop"])
        # Of what a loop measured beside its own, dwell may tell more closely what it was.
        one["rest"] = max(0, one["latency"] - sum(one[part] for part in MEASURED)) + one["loop"]
        yield one


def both(parts, part, truth, said):
    """What the server measured of a part, and what dwell says of it."""
    return sum(truth[name] for name in part.split()), sum(said.get(at, 0) for at in parts[part].split())


def agrees(known, got, said, rest, tolerance):
    """`rest`: of the truth, what is no part of it: it may be in any."""
    return known - said.get("runqueue", 0) - tolerance <= got <= known + rest + tolerance


def offset(slowest, truth):
    """When the window began: most of the slow requests have a counterpart."""
    began = collections.defaultdict(list)
    [began[one["port"]].append(one["began"]) for one in truth]
    port = lambda slow: int(slow["client"].rsplit(":", 1)[1])
    near = lambda at, slow: min((abs(began - at) for began in began[port(slow)]), default=10**18)
    starts = [at - slow["began_ns"] for slow in slowest for at in began[port(slow)]]
    return max(starts, key=lambda start: sum(near(start + slow["began_ns"], slow) < 5e5 for slow in slowest))


def check(name, seen, truth, requests):
    truth = list(joined(seen, truth))
    latencies = sorted(one["latency"] for one in truth)
    row = {"model": name, "requests": f"{requests['times']} of {len(seen)}"}
    close = requests["times"] == len(seen)
    for figure, share in (("p50", 0.5), ("p99", 0.99), ("max", 1)):
        known = quantile(latencies, share)
        got = requests["latency"][f"{figure}_ns"]
        good = abs(got - known) <= max(3e5, known * 0.05)
        row[figure] = f"{got / 1e6:.2f} ({known / 1e6:.2f})" + ("" if good else " **no**")
        close &= good
    print(f"{name}: latencies {'agree' if close else 'DIFFER'}:", row)
    parts, said, total, planted, good = MODELS[name][4], collections.Counter(), sum(latencies), 0, 0
    for part in requests["parts"]:
        said[part["at"]] += part["mean_ns"] * requests["times"]
    sums = {name: sum(one[name] for one in truth) for name in (*MEASURED, "rest")}
    planted = sum(one["plan"] != "fast" for one in truth)
    for part in parts:
        known, got = both(parts, part, sums, said)
        fits = agrees(known, got, said, sums["rest"], max(total * 0.03, planted * 1e6))
        good += fits
        print(f"{name}: mean {part} {'agrees' if fits else 'DIFFERS'}: {100 * got / total:.1f} %, "
              f"truth {100 * known / total:.1f} % (unknown {100 * sums['rest'] / total:.1f} %)")
    row["parts that agree"] = f"{good} of {len(parts)}"
    told = (f"{at} {100 * ns / total:.1f} %" for at, ns in said.most_common())
    print(f"{name}: dwell's means: " + ", ".join(told))
    start, right, told, in_all = offset(requests["slowest"], truth), 0, 0, 0
    wrong = collections.Counter()
    for slow in requests["slowest"]:
        port, at = int(slow["client"].rsplit(":", 1)[1]), slow["began_ns"] + start
        one = min((one for one in truth if one["port"] == port), key=lambda one: abs(one["began"] - at))
        if abs(one["began"] - at) > 3e6:
            print(f"{name}: slow request of {slow['latency_ns'] / 1e6:.2f} ms has no counterpart")
            continue
        spans = collections.Counter()
        for span in slow["spans"]:
            spans[span["at"]] += span["ns"]
        pairs = {part: both(parts, part, one, spans) for part in parts}
        measured = sum(known for known, _ in pairs.values())
        told += min(measured, sum(map(min, pairs.values())) + spans["runqueue"])
        in_all += measured
        part = max(pairs, key=lambda part: pairs[part][0])
        known, got = pairs[part]
        fits = agrees(known, got, spans, one["rest"], max(1e6, known * 0.03))
        right += fits
        if not fits:
            wrong[one["plan"], part] += 1
            ms = lambda times: ", ".join(f"{what} {ns / 1e6:.2f}" for what, ns in times if ns)
            print(f"{name}: slow {one['plan']}, {part}: {got / 1e6:.2f} ms, truth {known / 1e6:.2f} of "
                  f"{one['latency'] / 1e6:.2f}; truth {ms((name, one[name]) for name in MEASURED)}; "
                  f"dwell {ms(spans.most_common(5))}")
    row["of their time"] = f"{100 * told / max(in_all, 1):.0f} %"
    row["slow ones that agree"] = f"{right} of {len(requests['slowest'])}"
    row["wrong"] = ", ".join(f"{plan}/{part} {times}" for (plan, part), times in wrong.items())
    off = sum(part["mean_ns"] for part in requests["parts"]) - requests["latency"]["mean_ns"]
    sums = abs(off) <= max(2, len(requests["parts"]))
    of_spans = lambda slow: sum(span["ns"] for span in slow["spans"])
    spans = all(of_spans(slow) == slow["latency_ns"] for slow in requests["slowest"])
    row["sums"] = ("yes" if sums and spans else "**no**") + f" ({off} ns)"
    print(f"{name}: sums: parts to mean {off} ns, spans to latency {spans}")
    return row


def main():
    dwell, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix=f"requests-{name}-") as folder:
            keep = os.environ.get("KEEP")
            folder = pathlib.Path(keep, name) if keep else pathlib.Path(folder)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "truth").unlink(missing_ok=True)
            try:
                rows.append(check(name, *measure(dwell, name, folder)))
            except Exception as error:
                print(f"{name}: FAILED: {error!r}")
                rows.append({"model": name, "requests": f"failed: {error!r}"})
    columns = max(rows, key=len).keys()
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row.get(column, "") for column in columns) + " |")


main()
