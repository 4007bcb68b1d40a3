"""Kills `dwell run` and `dwell push` a thousand times. ARGS: DWELL [KILLS]; root.

Producers keep results while two pushers send them: as files to a web server and as logs and metrics
of OpenTelemetry. Both servers fail in a request of five. Who is killed and when is left to chance
(a fixed seed). Then all is sent, and must be there: each result that was announced (its JSON was
written, or another process saw it in the store), with the same content as often as it came. Another
process reads the outbox all the time and notes in which batches a result ever was.
"""
import collections
import json
import multiprocessing
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from common import Server, check, ended, environment, run

FAULTS = {"503": 0.07, "429": 0.01, "closed in the request": 0.04, "slow": 0.005,
          "10 MB of answer": 0.005, "taken, and the answer is lost": 0.05,
          "taken, and closed in the answer": 0.02}
OUTBOX = "SELECT destination, result, part, batch FROM outbox"


def watch(path, stop, seen):
    """What another process sees: the results of the store, and the batches of each part."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)
    kept, batches, version = set(), collections.defaultdict(set), None
    while not stop.is_set():
        now = store.execute("PRAGMA data_version").fetchone()
        if now == version:
            time.sleep(0.0005)
            continue
        version = now
        kept.update(row[0] for row in store.execute("SELECT id FROM results"))
        for destination, result, part, batch in store.execute(OUTBOX):
            batches[destination, result, part].add(batch)
    seen.put((kept, dict(batches)))


class Fleet:
    def __init__(self, dwell, folder, kills):
        self.dwell, self.folder, self.left = dwell, folder, kills
        self.store = folder / "results.sqlite"
        self.rows, self.otlp = Server(FAULTS), Server(FAULTS, seed=2)
        self.lock, self.written, self.killed = threading.Lock(), set(), {"run": 0, "push": 0}
        self.ended = {"run": 0, "push": 0}

    def pushed(self, to):
        words = [self.rows.url] if to == "rows" else ["--otlp", self.otlp.url]
        return [self.dwell, "push", *words, "--timeout", "300ms", "--for", "20s"]

    def one(self, verb, words, after, json_path=None):
        """Starts a process and kills it after a while, if it still runs."""
        process = subprocess.Popen(words, env=environment(self.store), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        status = process.wait()
        with self.lock:
            self.killed[verb] += status == -signal.SIGKILL
            self.left -= status == -signal.SIGKILL
            self.ended[verb] += status != -signal.SIGKILL
        if status == 0 and json_path:
            self.written.add(json.loads(json_path.read_text())["id"])

    def produce(self, seed):
        chance, path = random.Random(seed), self.folder / f"{seed}.json"
        while self.left > 0:
            words = [self.dwell, "run", "-q", "--json", str(path), "true"]
            self.one("run", words, chance.uniform(0.02, 0.9), path)

    def push(self, seed):
        chance = random.Random(seed)
        while self.left > 0:
            self.one("push", self.pushed(chance.choice(["rows", "otlp"])), chance.uniform(0.002, 0.7))


def main():
    dwell, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(dwell, pathlib.Path(folder), kills)
        run([dwell, "run", "-q", "true"], fleet.store)
        for to in ("rows", "otlp"):
            run(fleet.pushed(to), fleet.store)
        stop, seen = multiprocessing.Event(), multiprocessing.Queue()
        watcher = multiprocessing.Process(target=watch, args=(fleet.store, stop, seen))
        watcher.start()
        jobs = [(fleet.produce, 3), (fleet.push, 4), (fleet.push, 5)]
        threads = [threading.Thread(target=job, args=[seed]) for job, seed in jobs]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lasted = time.monotonic() - began
        for to in ("rows", "otlp"):
            for _ in range(10):
                done = run([*fleet.pushed(to)[:-1], "120s"], fleet.store)
                if done.returncode == 0:
                    break
            check(f"at last all is sent ({to})", done.returncode == 0, done.stdout.splitlines()[0])
        stop.set()
        kept, batches = seen.get()
        watcher.join()
        report(fleet, kept, batches, kills, lasted)
    ended()


def report(fleet, seen, batches, kills, lasted):
    killed = sum(fleet.killed.values())
    figure = f"{killed} in {lasted:.0f} s: {fleet.killed}; ended by themselves: {fleet.ended}"
    check(f"at least {kills} were killed", killed >= kills, figure)
    print("      faults met:", dict(fleet.rows.met + fleet.otlp.met))
    store = sqlite3.connect(fleet.store)
    kept = {row[0] for row in store.execute("SELECT id FROM results")}
    check("what others saw in the store is there", seen <= kept, f"{len(seen)} of {len(kept)}")
    lake = fleet.folder / "lake"
    run([fleet.dwell, "export", "--as", "rows", str(lake)], fleet.store)
    exported = {path.name.split(".")[0] for path in lake.glob("results/*/*")}
    check("what said that it was done is in the store", fleet.written <= exported,
          f"{len(fleet.written)} of {len(exported)}")
    ids = {path.rsplit("/", 1)[1].split(".")[0] for path in fleet.rows.took if "/results/" in path}
    times = [sum(took.values()) for path, took in fleet.rows.took.items() if "/results/" in path]
    check("files: none is lost, and no other is there", ids == exported and len(ids) == len(kept),
          f"{len(ids)} there, {sum(time > 1 for time in times)} of them came more than once")
    own = {f"/{path.relative_to(lake)}": path.read_bytes() for path in lake.glob("*/*/*")}
    differ = [path for path, file in own.items()
              if any(body != file for body in fleet.rows.bodies.get(path, [None]))]
    check("files: all are as exported, as often as they came", own.keys() == fleet.rows.took.keys()
          and not differ, f"{len(own)} files, {sum(map(len, fleet.rows.bodies.values()))} came")
    logs = b"".join(fleet.otlp.bodies["/v1/logs"])
    there = set(map(bytes.decode, re.findall(rb"dwell\.result\.id\x12\x22\x0a\x20([0-9a-f]{32})", logs)))
    check("OpenTelemetry: none is lost, and no other is there", there == exported, f"{len(there)} there")
    most = max(map(len, batches.values()))
    figure = f"{len(batches)} parts of results in {len(set.union(*batches.values()))} batches seen"
    check("none was in two batches", most == 1, figure)
    waits = store.execute("SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM batches)")
    check("nothing waits", waits.fetchone() == (0, 0))
    check("the store is whole", store.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


if __name__ == "__main__":
    main()
