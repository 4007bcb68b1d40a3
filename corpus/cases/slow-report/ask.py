# Asks for one report.
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
    c.sendall(sys.argv[2].encode())
    print(c.recv(100).decode())
