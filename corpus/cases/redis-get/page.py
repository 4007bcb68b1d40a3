# Shows 2,000 counters.
import socket, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
r = c.makefile("rb")
keys = [f"counter:{i}" for i in range(2000)]

def ask(line):
    c.sendall(line.encode() + b"\n")
    return [int(x) for x in r.readline().split()]

def drawn(value):
    return sum(i % (value + 1) for i in range(2500))

if sys.argv[2] == "get":
    values = [ask("get " + k)[0] for k in keys]
else:
    values = ask("mget " + " ".join(keys))
print(sum(map(drawn, values)))
