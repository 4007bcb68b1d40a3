# Asks for a page every 50 ms, 45 times.
import socket, sys, time
for _ in range(45):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
        c.sendall(sys.argv[2].encode())
        c.recv(10)
    time.sleep(0.05)
