"""The load: connections that each ask one thing at a time, and what each request took as they saw
it. ARGS: PORT line|http|once PLANS SECONDS OUT [CONNECTIONS [PAUSE-MS [SEED]]]

Nearly all requests are `fast`. In each tenth of a second one connection asks for the next one of
PLANS, with 10 to 50 ms; of `lock` and `pool` four do, so that they meet. A line of OUT is
[client port, plan, ms, sent, answered, received]: ns of CLOCK_MONOTONIC; `answered` is when the
last of the answer came in by the kernel's stamp, `received` when the client had it.
"""
import json
import os
import random
import socket
import struct
import sys
import threading
import time

port, protocol, plans, seconds, out = int(sys.argv[1]), sys.argv[2], sys.argv[3].split(","), *sys.argv[4:6]
connections = int(sys.argv[6]) if len(sys.argv) > 6 else 8
pause = float(sys.argv[7]) / 1e3 if len(sys.argv) > 7 else 0.006
seed = int(sys.argv[8]) if len(sys.argv) > 8 else 1
host = os.environ.get("HOST", "127.0.0.1")
STAMPS = 35  # SO_TIMESTAMPNS
EPOCH = 0.1
begin, rows = time.monotonic() + 0.2, []
real = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()


def connect():
    c = socket.create_connection((host, port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.setsockopt(socket.SOL_SOCKET, STAMPS, 1)
    return c


def answer(c):
    """When the last of an answer came in."""
    got = b""
    while True:
        more, beside, _, _ = c.recvmsg(4096, 100)
        got += more
        assert more, "the server closed the connection"
        head, end, body = got.partition(b"\r\n\r\n")
        if (got if protocol != "http" else body).endswith(b"ok\n"):
            stamps = [struct.unpack("qq", data) for _, kind, data in beside if kind == STAMPS]
            return stamps[-1][0] * 10**9 + stamps[-1][1] - real if stamps else time.monotonic_ns()


def client(i):
    chance, epoch = random.Random(seed * 1000 + i), -1
    c = connect() if protocol != "once" else None
    time.sleep(max(0, begin - time.monotonic()) + chance.random() * pause)
    while (elapsed := time.monotonic() - begin) < float(seconds):
        plan, ms = "fast", 0
        if int(elapsed / EPOCH) > epoch:
            epoch = int(elapsed / EPOCH)
            due = plans[epoch % len(plans)]
            if (i - epoch) % connections < (4 if due in ("lock", "pool") else 1):
                plan, ms = due, chance.randint(10, 50)
        if protocol == "once":
            c = connect()
        asks = f"GET /{plan}/{ms} HTTP/1.1\r\nHost: x\r\n\r\n" if protocol == "http" else f"{plan} {ms}\n"
        sent = time.monotonic_ns()
        c.sendall(asks.encode())
        answered = answer(c)
        rows.append((c.getsockname()[1], plan, ms, sent, answered, time.monotonic_ns()))
        if protocol == "once":
            c.close()
        time.sleep(chance.expovariate(1 / pause))


threads = [threading.Thread(target=client, args=(i,)) for i in range(connections)]
[t.start() for t in threads]
[t.join() for t in threads]
with open(out, "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
