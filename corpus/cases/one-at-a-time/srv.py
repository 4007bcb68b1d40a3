# A page takes 15 ms, most of it a wait; "/many" turns threads on, "/one" off.
import http.server, socketserver, sys, time

class S(http.server.HTTPServer):
    threads = False
    request_queue_size = 64

    def process_request(self, request, peer):
        if self.threads:
            socketserver.ThreadingMixIn.process_request(self, request, peer)
        else:
            super().process_request(request, peer)

    process_request_thread = socketserver.ThreadingMixIn.process_request_thread
    daemon_threads = True
    block_on_close = False
    _threads = socketserver._NoThreads()

class H(http.server.BaseHTTPRequestHandler):
    def data(self):
        time.sleep(0.015)
        return b"{}"

    def do_GET(self):
        if self.path in ("/one", "/many"):
            S.threads = self.path == "/many"
        body = self.data()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
