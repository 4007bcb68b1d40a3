"""Four processes that share a listener; each serves one connection at a time, and turns to the next
after each answer (a connection for each request). Plans: sleep, cpu, peer.
ARGS: PORT PEER-PORT TRUTH"""
import os
import socket
import sys

import plant

s = plant.listen(int(sys.argv[1]))
for _ in range(4):
    if os.fork():
        continue
    truths, peer = plant.Truth(sys.argv[3]), plant.Peer(int(sys.argv[2]))
    while True:
        c, address = s.accept()
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plan, ms = c.recv(100).split()
        truth = truths.begin(address[1], 0, plan.decode())
        plant.planted(plan.decode(), int(ms), truth, peer)
        c.sendall(b"ok\n")
        truths.end(truth)
        c.close()
while True:
    os.wait()
