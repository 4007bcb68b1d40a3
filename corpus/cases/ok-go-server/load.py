# Eight clients ask 150 times each, each over one connection.
import http.client, sys, threading

def client():
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    for _ in range(150):
        c.request("GET", "/")
        c.getresponse().read()
    c.close()

ts = [threading.Thread(target=client) for _ in range(8)]
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
