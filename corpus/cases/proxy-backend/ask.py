# Asks 35 times.
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
    for _ in range(35):
        c.sendall(sys.argv[2].encode())
        got = c.recv(100)
print(got.decode())
