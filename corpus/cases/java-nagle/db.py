# Answers each request of a head of 4 bytes and a body of 24.
import socketserver, sys

class H(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            head = self.rfile.read(4)
            if len(head) < 4:
                return
            self.rfile.read(24)
            self.wfile.write(b"row 1   ")

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
