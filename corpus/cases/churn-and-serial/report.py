# Sums the values of 30 rows.
import socket, sys

def ask(numbers):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
        c.sendall(" ".join(map(str, numbers)).encode() + b"\n")
        return sum(map(int, c.makefile().readline().split()))

if sys.argv[2] == "row":
    print(sum(ask([i]) for i in range(30)))
else:
    print(ask(range(30)))
