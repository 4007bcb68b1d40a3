# Two clients log in 80 times each, while a third asks for small pages.
import http.client, sys, threading

def client(path, n):
    for _ in range(n):
        c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
        c.request("GET", path)
        c.getresponse().read()
        c.close()

ts = [threading.Thread(target=client, args=("/" + sys.argv[2], 80)) for _ in range(2)]
ts.append(threading.Thread(target=client, args=("/", 80)))
[t.start() for t in ts]
[t.join() for t in ts]
print("served")
