# Makes 60 requests (here: nothing but some work), with a look-up before each or one before all.
import socket, sys

def resolve():
    return socket.getaddrinfo("api.example.org", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]

kept = resolve()
n = 0
for i in range(60):
    address = resolve() if sys.argv[1] == "each" else kept
    n += sum(map(ord, address)) + sum(range(200000)) % 7
print(n)
