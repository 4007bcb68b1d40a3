"""Threads that receive, and a pool of two that works: a request waits in the queue of the pool
while both are busy. Plans: pool (a sleep of a member), cpu. ARGS: PORT PEER-PORT TRUTH"""
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import plant

truths = plant.Truth(sys.argv[3])
pool = ThreadPoolExecutor(2)


def work(plan, ms, truth, submitted):
    truth["queued"] += plant.now() - submitted
    plant.planted("sleep" if plan == "pool" else plan, ms, truth)


def serve(c, address):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    n = 0
    while line := c.recv(100):
        plan, ms = line.split()
        truth = truths.begin(address[1], n, plan.decode())
        pool.submit(work, plan.decode(), int(ms), truth, plant.now()).result()
        c.sendall(b"ok\n")
        truths.end(truth)
        n += 1


s = plant.listen(int(sys.argv[1]))
while True:
    threading.Thread(target=serve, args=s.accept(), daemon=True).start()
