# Serves one table over a link of 8 MB/s, compressed for the clients who say that they take it.
import gzip
import socket
import sys
import threading
import time

CHUNK, SECONDS = 32768, 0.004
rows = []
for i in range(150000):
    rows.append("%06d,product %d,%d.%02d,in stock,warehouse %d\n" % (i, i * 31 % 9973, i % 90, i % 100, i % 7))
PLAIN = "".join(rows).encode()
PACKED = gzip.compress(PLAIN, 6)


def send_at_speed(link, data):
    """Hands over the data as a line of this speed would."""
    due = time.monotonic()
    for start in range(0, len(data), CHUNK):
        link.sendall(data[start : start + CHUNK])
        due += SECONDS
        time.sleep(max(0, due - time.monotonic()))


def serve(link):
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHUNK)
    with link:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = link.recv(4096)
            if not piece:
                return
            head += piece
        packed = b"gzip" in head.lower()
        body = PACKED if packed else PLAIN
        encoding = b"Content-Encoding: gzip\r\n" if packed else b""
        link.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (encoding, len(body)))
        send_at_speed(link, body)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=16)
while True:
    link, _ = listener.accept()
    threading.Thread(target=serve, args=(link,), daemon=True).start()
