"""Asks memcached for a key over and over on a few connections, with a pause between; prints how
often, and p50 and p99 in us. ARGS: PORT CONNECTIONS PAUSE-MS SECONDS
"""
import random
import socket
import sys
import threading
import time

port, connections = int(sys.argv[1]), int(sys.argv[2])
pause, end = float(sys.argv[3]) / 1e3, time.monotonic() + float(sys.argv[4])
times = []


def ask(c, line, last):
    c.sendall(line)
    got = b""
    while not got.endswith(last):
        got += c.recv(65_536)


def client():
    c = socket.create_connection(("127.0.0.1", port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ask(c, b"set price 0 0 1000\r\n" + b"x" * 1000 + b"\r\n", b"STORED\r\n")
    while time.monotonic() < end:
        from_ = time.perf_counter_ns()
        ask(c, b"get price\r\n", b"END\r\n")
        times.append(time.perf_counter_ns() - from_)
        time.sleep(random.expovariate(1 / pause))


threads = [threading.Thread(target=client) for _ in range(connections)]
[one.start() for one in threads]
[one.join() for one in threads]
times.sort()
at = lambda share: times[int(len(times) * share)] // 1000
# With those that stored the key.
print(len(times) + connections, at(0.5), at(0.99), 0)
