# Asks for one page.
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
c.request("GET", sys.argv[2])
print(c.getresponse().read().decode().strip())
