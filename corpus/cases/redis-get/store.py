# A store of counters: "get k" and "mget k k ..." are answered with a line each.
import socketserver, sys

class H(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        for line in self.rfile:
            keys = line.split()[1:]
            self.wfile.write(b" ".join(b"%d" % (len(k) * 7) for k in keys) + b"\n")

class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
