# Answers a POST when its body has come; never says 100 Continue.
import socketserver, sys

class H(socketserver.StreamRequestHandler):
    def handle(self):
        n = 0
        for line in self.rfile:
            if line.lower().startswith(b"content-length:"):
                n = int(line.split(b":")[1])
            if line == b"\r\n":
                break
        self.rfile.read(n)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
