# Answers with or without a length, and keeps the connection open for 0.9 s.
import socket, sys, threading
body = b"all well\n"

def serve(c):
    c.settimeout(0.9)
    try:
        while request := c.recv(4000):
            length = b"Content-Length: %d\r\n" % len(body) if b"/length" in request else b""
            c.sendall(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + body)
    except TimeoutError:
        pass
    c.close()

s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
