# Asks for three pages.
import http.client, sys
for _ in range(3):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    c.request("GET", sys.argv[2])
    print(c.getresponse().read().decode().strip())
