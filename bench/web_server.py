"""A web server of Python's library, and a client that asks it N times on one connection.

    web_server.py N

The server is a process of its own. Writes the nanoseconds of a request to BENCH_RESULT.
"""

import http.client
import http.server
import os
import sys
import time

PAGE = b"<!doctype html><title>page</title>" + b"<p>Some text of a page.\n" * 400


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each page waits for the acknowledgement of its header.
    disable_nagle_algorithm = True

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


def ask(port, times):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begun = time.monotonic_ns()
    for _ in range(times):
        connection.request("GET", "/")
        if connection.getresponse().read() != PAGE:
            sys.exit("another page")
    return (time.monotonic_ns() - begun) / times


def main():
    times = int(sys.argv[1])
    server = http.server.HTTPServer(("127.0.0.1", 0), Pages)
    child = os.fork()
    if child == 0:
        server.handle_request()
        os._exit(0)
    port = server.server_address[1]
    server.socket.close()
    each = ask(port, times)
    _, status = os.waitpid(child, 0)
    if "BENCH_RESULT" in os.environ:
        with open(os.environ["BENCH_RESULT"], "w") as result:
            print(each, file=result)
    sys.exit(os.waitstatus_to_exitcode(status))


main()
