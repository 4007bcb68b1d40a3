# Asks for a page every 50 ms, twenty times.
import socket, sys, time
for _ in range(20):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
        c.sendall(sys.argv[2].encode())
        c.recv(10)
    time.sleep(0.05)
