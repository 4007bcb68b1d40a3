# Answers each line at once with a line.
import socket
import sys
import threading


def serve(link):
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with link, link.makefile("rb") as lines:
        for line in lines:
            link.sendall(b"%d\n" % sum(line))


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=16)
while True:
    link, _ = listener.accept()
    threading.Thread(target=serve, args=(link,), daemon=True).start()
