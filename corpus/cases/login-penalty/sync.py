# Gives a wrong password once, and then fetches four files with the right one.
import http.client, sys
port, client = sys.argv[1:]
c = http.client.HTTPConnection("127.0.0.1", int(port))

def get(path, password):
    c.request("GET", path, headers={"Authorization": client + ":" + password})
    return c.getresponse().read()

size = len(get("/0", "sesame"))
for n in range(4):
    size += len(get("/%d" % n, "open sesame"))
get("/logout", "open sesame")
print(size)
