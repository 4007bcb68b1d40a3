"""Twenty network namespaces as hosts, 19 of which run a program that is slow for a planted cause.
ARGS: DWELL; root, iproute2, a C compiler; needs duckdb.

A host has a name, an address and a store of its own. It runs its program under dwell and sends the
result through its network to a web server on a hub. The rows that arrive there are asked which
causes are most common and what their changes would save (findings.sql). Then each host runs its
program with and without the change, in turn and without dwell: what all changes together saved is
compared with the sum of what was predicted.
"""
import collections
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb

from common import DOCS, HERE, check, ended, environment

# How many hosts have a cause, and the program that has it. One more host has none.
PLANTED = {"delayed-ack": (8, "ack"), "serial-requests": (5, "serial"), "sleep-polling": (4, "poll"),
           "lock-contention": (2, "lock")}
PAIRS = 7
HUB, NET = "dwell-hub", "10.77.0"
KEEPER = """
import http.server, pathlib, sys
class Keeper(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_PUT(self):
        path = pathlib.Path(sys.argv[1] + self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer((sys.argv[2], 80), Keeper).serve_forever()
"""


def sh(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def connect(number):
    """A namespace with a wire to the hub's bridge; returns its name."""
    name, wire = f"dwell-{number}", f"wire{number}"
    sh("ip", "netns", "add", name)
    sh("ip", "-n", HUB, "link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", name)
    sh("ip", "-n", HUB, "link", "set", wire, "master", "bridge", "up")
    sh("ip", "-n", name, "addr", "add", f"{NET}.{number + 1}/24", "dev", "eth0")
    for link in ("lo", "eth0"):
        sh("ip", "-n", name, "link", "set", link, "up")
    return name


def on_host(name, words, **more):
    """Runs words in the network of a host, which is called by its name."""
    named = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"']
    return subprocess.run([*named, name, *words], check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, **more)


def timed(name, words):
    began = time.monotonic_ns()
    on_host(name, words)
    return time.monotonic_ns() - began


def asked(lake):
    """The rows of findings.sql, and the name of each host with its causes."""
    con = duckdb.connect()
    con.execute(f"CREATE SCHEMA declared; USE declared; {(DOCS / 'schema.sql').read_text()}; USE main")
    for table in ("findings", "results"):
        columns = {name: kind for name, kind, *_ in con.execute(f"DESCRIBE declared.{table}").fetchall()
                   if name != "day"}
        con.execute(f"""CREATE VIEW main.{table} AS SELECT * FROM read_json('{lake}/{table}/*/*.jsonl.gz',
            format = 'newline_delimited', columns = {columns!r}, hive_partitioning = true,
            hive_types = {{day: DATE}})""")
    found = con.execute((DOCS / "findings.sql").read_text())
    names = [column[0] for column in found.description]
    rows = {row[0]: dict(zip(names, row)) for row in found.fetchall() if row[1] == "wall"}
    first = con.execute("SELECT host, first_finding FROM results").fetchall()
    return rows, dict(first)


def main():
    dwell = sys.argv[1]
    hosts, started = {}, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        planted, lake = folder / "planted", folder / "lake"
        sh("cc", "-O1", "-g", "-pthread", "-o", str(planted), str(HERE / "planted.c"))
        try:
            sh("ip", "netns", "add", HUB)
            sh("ip", "-n", HUB, "link", "add", "bridge", "type", "bridge")
            sh("ip", "-n", HUB, "addr", "add", f"{NET}.1/24", "dev", "bridge")
            sh("ip", "-n", HUB, "link", "set", "bridge", "up")
            in_hub = ["ip", "netns", "exec", HUB]
            started.append(subprocess.Popen([*in_hub, sys.executable, "-c", KEEPER, str(lake), f"{NET}.1"]))
            started.append(subprocess.Popen([*in_hub, str(planted), "serve", f"{NET}.1"]))
            kinds = [(cause, of) for cause, (hosts_of, of) in PLANTED.items() for _ in range(hosts_of)]
            for number, (cause, of) in enumerate([*kinds, (None, "none")], 1):
                hosts[connect(number)] = (cause, [str(planted), of, f"{NET}.1"])
            time.sleep(1)
            measured = measure(dwell, folder, hosts)
        finally:
            for process in started:
                process.kill()
                process.wait()
            for name in [HUB, *hosts]:
                subprocess.run(["ip", "netns", "del", name], check=False)
        report(hosts, measured, *asked(lake))
    ended()


def measure(dwell, folder, hosts):
    """Sends a result of each host; returns what its change saved, in ns."""
    saved = {}
    for name, (_, words) in hosts.items():
        own = environment(folder / f"{name}.sqlite")
        pairs = []
        for number in range(PAIRS):
            pairs.append((timed(name, words), timed(name, [*words, "fast"])))
            if number == PAIRS // 2:
                on_host(name, [dwell, "run", "-q", *words], env=own)
        on_host(name, [dwell, "push", f"http://{NET}.1"], env=own)
        saved[name] = statistics.median(slow - fast for slow, fast in pairs)
    return saved


def report(hosts, measured, rows, first):
    print("| cause | planted | hosts | at least, ms | expected | at most | measured, ms |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    sums = [0, 0, 0]
    for cause, (planted, _) in PLANTED.items():
        row = rows.get(cause, collections.Counter())
        saved = sum(ns for name, ns in measured.items() if hosts[name][0] == cause)
        lo, expected, hi = (row[f"alone_{name}_ns"] / 1e6 for name in ("lo", "expected", "hi"))
        print(f"| {cause} | {planted} | {row['hosts']} | {lo:.0f} | {expected:.0f} | {hi:.0f} | "
              f"{saved / 1e6:.0f} |")
        sums = [sums[0] + lo, sums[1] + hi, sums[2] + saved / 1e6]
    others = {cause: (row["hosts"], row["alone_expected_ns"] // 1000000) for cause, row in rows.items()
              if cause not in PLANTED}
    print("      others found (hosts, expected of them alone in ms):", others)
    other = {name: (cause, first[name]) for name, (cause, _) in hosts.items()
             if cause and first[name] != cause}
    check("what was planted on a host is its first finding", not other,
          f"{len(hosts) - 1 - len(other)} of {len(hosts) - 1} {other or ''}")
    planted = list(PLANTED)
    ranked = [cause for cause in rows if cause in planted]
    check("the ranking by hosts is as planted", ranked == planted, ", ".join(ranked))
    by_saving = sorted(planted, key=lambda cause: -rows[cause]["alone_expected_ns"])
    truth = sorted(planted, key=lambda cause: -sum(ns for name, ns in measured.items() if hosts[name][0] == cause))
    check("the ranking by saving is as measured", by_saving == truth, ", ".join(by_saving))
    figure = f"{sums[0]:.0f} to {sums[1]:.0f} ms predicted, {sums[2]:.0f} ms measured"
    check("what all changes saved together is within the sum", sums[0] <= sums[2] <= sums[1], figure)


if __name__ == "__main__":
    main()
