"""Requests that are out of the ordinary, and what dwell should say of each kind.
ARGS: DWELL [CASE…]; prints for each case what was done and what dwell's `requests` say.

With `serve FAMILY ADDRESS` it is the server: a thread for each connection, lines of commands.
"""
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PORT = 21010
LOCK = threading.Lock()


def serve_one(c):
    """`ok MS`: answers after so long. `parts N MS`: an answer in parts. `push N MS`: answers, and
    another thread sends so often. `expect`: answers, and once more after the next line. `at-once MS`:
    another thread answers. `big BYTES`; `until-end MS`: answers when the client has shut down its
    side; `locked MS`: under a lock of all. `small`: from then on 5 bytes are a request of 5 ms.
    `inner MS`: asks itself on a connection of its own."""
    buffered = b""
    while more := c.recv(65536):
        *lines, buffered = (buffered + more).split(b"\n")
        for line in lines:
            word, *numbers = line.split()
            numbers = [int(number) for number in numbers]
            if word == b"ok":
                time.sleep(numbers[0] / 1e3)
                c.sendall(b"ok\n")
            elif word == b"parts":
                for _ in range(numbers[0]):
                    time.sleep(numbers[1] / 1e3)
                    c.sendall(b"part\n")
            elif word == b"push":
                c.sendall(b"ok\n")
                threading.Thread(target=push, args=(c, *numbers), daemon=True).start()
            elif word == b"expect":
                c.sendall(b"continue\n")
            elif word == b"at-once":
                threading.Thread(target=later, args=(c, numbers[0]), daemon=True).start()
            elif word == b"inner":
                Client().ask(f"ok {numbers[0]}\n")
                c.sendall(b"ok\n")
            elif word == b"small":
                while c.recv(5):
                    time.sleep(0.005)
                    c.sendall(b"ok\n")
            elif word == b"big":
                c.sendall(bytes(numbers[0]) + b"\n")
            elif word == b"until-end":
                while c.recv(100):
                    pass
                time.sleep(numbers[0] / 1e3)
                c.sendall(b"ok\n")
            elif word == b"locked":
                with LOCK:
                    time.sleep(numbers[0] / 1e3)
                c.sendall(b"ok\n")


def later(c, ms):
    time.sleep(ms / 1e3)
    c.sendall(b"ok\n")


def push(c, times, ms):
    for _ in range(times):
        time.sleep(ms / 1e3)
        c.sendall(b"push\n")


def serve(family, address):
    s = socket.socket(getattr(socket, family))
    if family != "AF_UNIX":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        address = (address.split(",")[0], int(address.split(",")[1]))
    s.bind(address)
    s.listen(1024)
    while True:
        threading.Thread(target=serve_one, args=(s.accept()[0],), daemon=True).start()


class Client:
    def __init__(self, address=("127.0.0.1", PORT), family=socket.AF_INET):
        self.s = socket.socket(family)
        self.s.connect(address)
        if family != socket.AF_UNIX:
            self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, text, answers=1):
        self.s.sendall(text.encode())
        got = b""
        while got.count(b"\n") < answers:
            got += self.s.recv(65536)


def never(dwell):
    "10 answered of 1 ms; one sent half a line and waits: 10, and 1 under way"
    c = Client()
    c.s.sendall(b"ok 1")
    other = Client()
    [other.ask("ok 1\n") for _ in range(10)]
    dwell.wait()


def pipelined(dwell):
    "5 times 4 requests of 10 ms in one packet: 20 of 10, 20, 30, 40 ms; or 5 of 40 ms"
    c = Client()
    for _ in range(5):
        c.ask("ok 10\n" * 4, 4)
        time.sleep(0.1)


def keep_alive(dwell):
    "8 of 1 ms, 200 ms between them: 8 of 1 ms"
    c = Client()
    for _ in range(8):
        c.ask("ok 1\n")
        time.sleep(0.2)


def expect(dwell):
    "8 that are answered `continue`, the rest comes in 30 ms later, 1 ms: 8 of 31 ms"
    c = Client()
    for _ in range(8):
        c.ask("expect\n")
        time.sleep(0.03)
        c.ask("ok 1\n")
        time.sleep(0.1)


def pieces(dwell):
    "8 whose line comes in 5 pieces, 10 ms between them, then 1 ms: 8 of 41 ms"
    c = Client()
    for _ in range(8):
        for piece in ("o", "k", " ", "1"):
            c.s.sendall(piece.encode())
            time.sleep(0.01)
        c.ask("\n")
        time.sleep(0.1)


def parts(dwell):
    "8 whose answer comes in 5 parts, 20 ms before each: 8 of 100 ms"
    c = Client()
    for _ in range(8):
        c.ask("parts 5 20\n", 5)
        time.sleep(0.05)


def pushes(dwell):
    "one answered at once, then another thread pushes 30 times every 50 ms: 1 of 0.1 ms"
    Client().ask("push 30 50\n", 31)


def fast_pushes(dwell):
    "the same every 5 ms, 300 times: 1 of 0.1 ms"
    Client().ask("push 300 5\n", 301)


def gone_reset(dwell):
    "5 of 100 ms whose client resets the connection after 10 ms: 5 abandoned"
    for _ in range(5):
        c = Client()
        c.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.s.sendall(b"ok 100\n")
        time.sleep(0.01)
        c.s.close()
        time.sleep(0.2)


def gone_closed(dwell):
    "5 of 100 ms whose client closes the connection after 10 ms: 5 abandoned, or of 100 ms"
    for _ in range(5):
        c = Client()
        c.s.sendall(b"ok 100\n")
        time.sleep(0.01)
        c.s.close()
        time.sleep(0.2)


def many(dwell):
    "1,000 connections at once, 3 of 0 ms on each: 3000"
    clients = [Client() for _ in range(1000)]
    for _ in range(3):
        [c.s.sendall(b"ok 0\n") for c in clients]
        [c.s.recv(10) for c in clients]


def at_once(dwell):
    "8 pairs on one connection: 50 ms, and 10 ms later one of 5 ms: 16 of 50 and 5 ms"
    c = Client()
    for _ in range(8):
        c.s.sendall(b"at-once 50\n")
        time.sleep(0.01)
        c.ask("at-once 5\n", 2)
        time.sleep(0.1)


def one_ahead(dwell):
    "200 of 5 ms, of which two are always under way on one connection: 200 of 10 ms"
    c = Client()
    c.s.sendall(b"small\n")
    time.sleep(0.1)
    c.s.sendall(b"12345")
    for _ in range(199):
        c.ask("12345")
    c.s.recv(10)


def inner(dwell):
    "10 for which the server asks itself for 5 ms: 10 of 5 ms, network; not 10 more of 5 ms"
    c = Client()
    [c.ask("inner 5\n") for _ in range(10)]


def half_closed(dwell):
    "5 whose client shuts down its side, then 30 ms: 5 of 30 ms"
    for _ in range(5):
        c = Client()
        c.s.sendall(b"until-end 30\n")
        c.s.shutdown(socket.SHUT_WR)
        c.s.recv(10)
        time.sleep(0.1)


def slow_reader(dwell):
    "5 of 8 MB, which the client reads after 100 ms: 5 of some 100 ms, network"
    c = Client()
    for _ in range(5):
        c.s.sendall(b"big 8000000\n")
        time.sleep(0.1)
        got = 0
        while got < 8000001:
            got += len(c.s.recv(1 << 20))


def old(dwell):
    "8 of 1 ms on a connection from before the window: 8 of 1 ms"
    [OLD[0].ask("ok 1\n") for _ in range(8)]


def old_waiting(dwell):
    "each of 8 connections from before the window asks for 40 ms under a lock, twice: 16, mean 180 ms"
    for _ in range(2):
        [c.s.sendall(b"locked 40\n") for c in OLD]
        [c.s.recv(10) for c in OLD]


def ten(dwell):
    "10 of 5 ms: 10 of 5 ms"
    c = Client(*HERE)
    [c.ask("ok 5\n") for _ in range(10)]


CASES = {f.__name__: f for f in (
    never, pipelined, keep_alive, expect, pieces, parts, pushes, fast_pushes, gone_reset, gone_closed,
    many, at_once, one_ahead, inner, half_closed, slow_reader, old, old_waiting)}
OLD = []
# The same at other addresses: family, where the server is, and where the client connects to.
PLACES = {
    "port_40123": ("AF_INET", "127.0.0.1,40123", ("127.0.0.1", 40123)),
    "ipv6": ("AF_INET6", f"::1,{PORT}", ("::1", PORT)),
    "unix": ("AF_UNIX", "/tmp/odd.socket", "/tmp/odd.socket"),
}
HERE = ()


def measured(dwell, target, folder, client, seconds=3):
    """Dwell's JSON and page, while the client runs."""
    attach = [dwell, "attach", target, "--for", f"{seconds}s", "--json", f"{folder}/json"]
    with open(f"{folder}/page", "w") as page:
        environment = {**os.environ, "DWELL_STORE": "off"}
        attached = subprocess.Popen(attach, stdout=page, stderr=page, env=environment)
        time.sleep(1)
        client(attached)
        attached.wait()
    assert os.path.exists(f"{folder}/json"), open(f"{folder}/page").read()
    return json.load(open(f"{folder}/json")), open(f"{folder}/page").read()


def told(requests):
    """In a line."""
    if not isinstance(requests, dict) or "times" not in requests:
        return str(requests)
    counts = ("times", "began_before", "under_way", "abandoned")
    counts = {key: requests[key] for key in counts if requests[key]}
    latency = {key[:-3]: f"{ns / 1e6:.2f}" for key, ns in requests["latency"].items()
               if key.endswith("_ns") and isinstance(ns, int)}
    large = [part for part in requests["parts"] if part["mean_ns"] > 50_000]
    parts = [f"{part['at']} {part['mean_ns'] / 1e6:.2f}" for part in large]
    return f"{counts} {latency} ms; mean ms {', '.join(parts)}"


def main():
    global HERE
    for name in sys.argv[2:] or [*CASES, *PLACES]:
        family, at, to = PLACES.get(name, ("AF_INET", f"127.0.0.1,{PORT}", ("127.0.0.1", PORT)))
        case, HERE = CASES.get(name, ten), (to, getattr(socket, family))
        pathlib.Path("/tmp/odd.socket").unlink(missing_ok=True)
        server = subprocess.Popen([sys.executable, __file__, "serve", family, at], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        try:
            if name.startswith("old"):
                OLD[:] = [Client() for _ in range(8)]
                [c.ask("ok 0\n") for c in OLD]
            with tempfile.TemporaryDirectory() as folder:
                result, _ = measured(sys.argv[1], str(server.pid), folder, case)
            print(f"{name}: {case.__doc__}\n    {told(result['requests'])}", flush=True)
        except AssertionError as error:
            print(f"{name}: {case.__doc__}\n    FAILED: {str(error).strip()[:200]}", flush=True)
        finally:
            server.kill()
            server.wait()


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
elif __name__ == "__main__":
    main()
