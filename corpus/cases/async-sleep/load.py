# Ten clients, twelve requests each.
import socket, sys, threading

def client():
    for _ in range(12):
        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
            c.sendall(sys.argv[2].encode() + b"\n")
            c.recv(10)

ts = [threading.Thread(target=client) for _ in range(10)]
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
