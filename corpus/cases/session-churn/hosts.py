# Looks up 120 hosts, with a connection for each or one for all.
import http.client, json, sys
port = int(sys.argv[1])
kept = None
ports = 0
for i in range(120):
    c = kept or http.client.HTTPConnection("127.0.0.1", port)
    c.request("GET", f"/host/{i}")
    ports += len(json.loads(c.getresponse().read())["ports"])
    if sys.argv[2] == "kept":
        kept = c
    else:
        c.close()
print(ports)
