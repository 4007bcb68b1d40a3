# Answers with a length of four bytes and the body: "two" in two writes, "one" in one.
import socket, struct, sys, threading
body = b"universe-state" * 3

def serve(c):
    while True:
        word = c.recv(64)
        if not word:
            return
        if word == b"two":
            c.sendall(struct.pack("!I", len(body)))
            c.sendall(body)
        else:
            c.sendall(struct.pack("!I", len(body)) + body)

s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
