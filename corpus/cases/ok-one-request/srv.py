# Answers with 40 MB for each byte asked.
import socket, sys, threading
block = bytes(range(256)) * 4096

def serve(c):
    with c:
        while c.recv(1):
            for _ in range(40):
                c.sendall(block)

s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
