"""A peer that is asked with a line of MS, answers after so long, and tells how many ns it took."""
import socket
import sys
import threading
import time


def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while line := c.recv(100):
        from_ = time.monotonic_ns()
        time.sleep(int(line) / 1e3)
        c.sendall(b"%d\n" % (time.monotonic_ns() - from_))


s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
