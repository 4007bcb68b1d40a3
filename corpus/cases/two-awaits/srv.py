# Answers each request after 30 ms.
import http.server, json, sys, time

class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        time.sleep(0.03)
        n = int(self.path.rsplit("/", 1)[1])
        if self.path.startswith("/user"):
            what = {"id": n, "name": "user %d" % n}
        else:
            what = [{"item": i * n % 977, "price": i * 31 % 1000, "note": "<b>%d</b>" % i}
                    for i in range(400)]
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
