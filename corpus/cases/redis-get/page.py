# Shows 1,500 counters.
import socket, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
r = c.makefile("rb")
keys = [f"counter:{i}" for i in range(1500)]

def ask(line):
    c.sendall(line.encode() + b"\n")
    return [int(x) for x in r.readline().split()]

if sys.argv[2] == "get":
    values = [ask("get " + k)[0] for k in keys]
else:
    values = ask("mget " + " ".join(keys))
print(sum(values))
