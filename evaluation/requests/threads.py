"""A thread for each connection. Plans: lock, sleep, peer, cpu. ARGS: PORT PEER-PORT TRUTH"""
import socket
import sys
import threading

import plant

port, peer_port, truths = int(sys.argv[1]), int(sys.argv[2]), plant.Truth(sys.argv[3])


def serve(c, address):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer, n = plant.Peer(peer_port), 0
    while line := c.recv(100):
        plan, ms = line.split()
        truth = truths.begin(address[1], n, plan.decode())
        plant.planted(plan.decode(), int(ms), truth, peer)
        c.sendall(b"ok\n")
        truths.end(truth)
        n += 1


s = plant.listen(port)
while True:
    threading.Thread(target=serve, args=s.accept(), daemon=True).start()
