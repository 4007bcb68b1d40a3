# A file server that delays all requests of a client from which a wrong password came.
import http.server, sys, time
failed = {}
trusted = {"office"}
files = {"/%d" % n: b"%d," % n * 3000 for n in range(4)}

class Files(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def throttle(self, client):
        if failed.get(client) and client not in trusted:
            time.sleep(0.22)

    def do_GET(self):
        client, password = self.headers["Authorization"].split(":")
        self.throttle(client)
        good = password == "open sesame"
        if not good:
            failed[client] = failed.get(client, 0) + 1
        if self.path == "/logout":
            failed.pop(client, None)
        body = files.get(self.path, b"bye") if good else b""
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Files).serve_forever()
