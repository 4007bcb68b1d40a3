# Fetches the table of products and counts those of warehouse 3.
import gzip
import http.client
import sys

port, accepts = int(sys.argv[1]), sys.argv[2]
link = http.client.HTTPConnection("127.0.0.1", port)
link.request("GET", "/products.csv", headers={"Accept-Encoding": accepts})
answer = link.getresponse()
body = answer.read()
if answer.getheader("Content-Encoding") == "gzip":
    body = gzip.decompress(body)
print(len(body), body.count(b"warehouse 3"))
