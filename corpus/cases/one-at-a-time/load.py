# Eight clients ask for 18 pages each.
import http.client, sys, threading

def get(path):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    c.request("GET", path)
    c.getresponse().read()
    c.close()

get("/" + sys.argv[2])
ts = [threading.Thread(target=lambda: [get("/data") for _ in range(18)]) for _ in range(8)]
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
