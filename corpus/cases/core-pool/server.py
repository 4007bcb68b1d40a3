# Answers each line with its length after 25 ms, each client in a thread of its own.
import socket
import sys
import threading
import time


def serve(link):
    with link, link.makefile("rb") as lines:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in lines:
            time.sleep(0.025)
            link.sendall(b"%d\n" % (len(line) - 1))


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
while True:
    link, _ = listener.accept()
    threading.Thread(target=serve, args=(link,), daemon=True).start()
