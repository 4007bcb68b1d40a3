# A web service that needs 1 ms to set up a connection (as a handshake would) and 4 ms to answer.
import http.server, sys, time

class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        time.sleep(0.001)

    def do_GET(self):
        time.sleep(0.004)
        body = b'{"ports": [22, 80, 443]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass

class S(http.server.ThreadingHTTPServer):
    request_queue_size = 50

H.disable_nagle_algorithm = True
S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
