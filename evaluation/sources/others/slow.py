"""A web server that takes its time for each answer, and keeps connections open.

Arguments: the port of the loopback, milliseconds for each answer.
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, SECONDS = int(sys.argv[1]), int(sys.argv[2]) / 1000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(SECONDS)
        body = b"a page\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
