# A web service with connections that stay open; an answer takes 3 ms.
import http.server, sys, time

class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        time.sleep(0.003)
        body = b'{"action": "allow", "note": "' + b"x" * 6000 + b'"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass

class S(http.server.ThreadingHTTPServer):
    request_queue_size = 50

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
