"""What the servers in Python plant in requests, and the truth that they write about it.

A request is a line `PLAN MS`; the answer is a line. All times are ns of CLOCK_MONOTONIC.
"""
import hashlib
import json
import os
import socket
import threading
import time

now = time.monotonic_ns
lock = threading.Lock()


def listen(port):
    family = socket.AF_INET6 if os.environ.get("FAMILY") == "6" else socket.AF_INET
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("::1" if family == socket.AF_INET6 else os.environ.get("HOST", "127.0.0.1"), port))
    s.listen(1024)
    return s


def burn(ms, truth):
    """Uses the CPU for so long by the thread's own clock, without the interpreter's lock."""
    from_, end = time.thread_time_ns(), time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 200)
    truth["cpu"] += time.thread_time_ns() - from_


class Peer:
    """A connection to the peer, which answers after MS with the ns that it took."""

    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, ms, truth):
        from_ = now()
        self.s.sendall(b"%d\n" % ms)
        self.s.recv(100)
        truth["peer"] += now() - from_


def planted(plan, ms, truth, peer=None):
    """Does what a request asks for; every one takes the lock for a moment."""
    from_ = now()
    with lock:
        truth["lock"] += now() - from_
        if plan == "lock":
            sleeps(ms, truth)
    if plan == "sleep":
        sleeps(ms, truth)
    elif plan == "peer":
        peer.ask(ms, truth)
    burn(ms if plan == "cpu" else 0.1, truth)


def sleeps(ms, truth):
    from_ = now()
    time.sleep(ms / 1e3)
    truth["sleep"] += now() - from_


class Truth:
    """The file of truth: one line for each request."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def begin(self, port, n, plan):
        zero = dict.fromkeys(("queued", "cpu", "lock", "sleep", "peer", "loop"), 0)
        return {"port": port, "n": n, "plan": plan, "recv": now(), **zero}

    def end(self, truth):
        truth["sent"] = now()
        os.write(self.file, json.dumps(truth).encode() + b"\n")
