# Twelve clients at the same time.
import socket, sys, threading
port = int(sys.argv[1])

def one(word=b"hello"):
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.sendall(word)
        c.recv(10)

one(sys.argv[2].encode())
ts = [threading.Thread(target=one) for _ in range(12)]
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
