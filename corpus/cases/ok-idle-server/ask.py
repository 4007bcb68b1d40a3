# Asks five times, half a second apart.
import socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
    for _ in range(5):
        time.sleep(0.5)
        c.sendall(b"hello\n")
        print(c.recv(10).decode().strip())
