"""What the scripts of this folder share: dwell with a store of its own, a web server on loopback
that has faults and notes what it took, and a check that is printed as a line."""
import collections
import hashlib
import http.server
import json
import os
import pathlib
import random
import secrets
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs" / "fleet"
failed = []


def check(what, holds, figure=""):
    """Prints a line; `ended` exits with 1 if one does not hold."""
    print(f"{'ok  ' if holds else 'FAIL'}  {what}{': ' if figure != '' else ''}{figure}", flush=True)
    if not holds:
        failed.append(what)


def ended():
    print(f"{len(failed)} failed")
    sys.exit(bool(failed))


def environment(store):
    """The environment of dwell with this store and without variables that change a push."""
    names = (name for name in os.environ if not name.startswith("OTEL_") and "proxy" not in name.lower())
    return {**{name: os.environ[name] for name in names}, "DWELL_STORE": str(store)}


def run(words, store, **more):
    """Runs dwell to its end: the process with `stdout` and `stderr` as text."""
    return subprocess.run(words, env=environment(store), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=900, **more)


def keep(store, result):
    """Puts a result into a store that dwell has made: one that was changed gets a number of its own."""
    text = json.dumps({**result, "id": None}).encode()
    row = {"id": secrets.token_hex(4), "at_s": int(time.time()), "verb": result["schema"][6:].split("/")[0],
           "command": "", "host": "", "machine": "", "kernel": "", "schema": result["schema"],
           "dwell": "0.1.0", "json_bytes": len(text), "recording_bytes": 0}
    with sqlite3.connect(store, timeout=60) as db:
        db.execute("PRAGMA synchronous = OFF")
        names = ", ".join(row)
        seq = db.execute(f"INSERT INTO results ({names}) VALUES ({', '.join('?' * len(row))})",
                         list(row.values())).lastrowid
        db.execute("INSERT INTO contents VALUES (?, ?)", [seq, zlib.compress(text)])


def kept(dwell, store):
    """The results of a store, as JSON."""
    ids = sqlite3.connect(store).execute("SELECT id FROM results ORDER BY seq").fetchall()
    return [json.loads(run([dwell, "export", one, "--as", "json"], store).stdout) for one, in ids]


class Server(http.server.ThreadingHTTPServer):
    """Takes PUT and POST. `faults`: share by kind (below); `answers(path, body)` may give a status
    and a body of its own. `took[path]` has the digests of what was taken and how often."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, faults=None, answers=None, seed=1):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults, self.answers, self.random = faults or {}, answers, random.Random(seed)
        self.lock, self.took = threading.Lock(), collections.defaultdict(collections.Counter)
        self.bodies, self.met = {}, collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def fault(self):
        with self.lock:
            at = self.random.random()
            for kind, share in self.faults.items():
                if at < share:
                    self.met[kind] += 1
                    return kind
                at -= share
        return None

    def take(self, path, body):
        with self.lock:
            self.took[path][hashlib.sha256(body).hexdigest()] += 1
            self.bodies.setdefault(path, []).append(body)

    def handle_error(self, *_):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_PUT(self):
        server, fault = self.server, self.server.fault()
        if fault == "closed in the request":
            return self.cut()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if fault == "503":
            return self.say(503, b"busy")
        if fault == "429":
            return self.say(429, b"slowly", Retry_After="1")
        if fault == "10 MB of answer":
            return self.say(503, b"x" * (10 << 20))
        if fault == "slow":
            time.sleep(1)
            return self.cut()
        if answer := server.answers and server.answers(self.path, body):
            return self.say(*answer)
        server.take(self.path, body)
        if fault == "taken, and the answer is lost":
            return self.cut()
        if fault == "taken, and closed in the answer":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            return self.cut()
        return self.say(200)

    do_POST = do_PUT
