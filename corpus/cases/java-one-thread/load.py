# Eight clients ask for 18 pages each.
import http.client, sys, threading

def client():
    for _ in range(18):
        c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
        c.request("GET", "/" + sys.argv[2])
        c.getresponse().read()
        c.close()

ts = [threading.Thread(target=client) for _ in range(8)]
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
