"""A service with slow requests. Each in a terminal of its own: `python3 api.py rates`, `serve`,
`ask`.

It answers with a price. Whoever finds the rate older than half a second asks another service for
the next one, under the lock that each request needs for a moment.
"""

import socket
import sys
import threading
import time

SERVICE, RATES = ("127.0.0.1", 8080), ("127.0.0.1", 8081)
lock = threading.Lock()
rate, until = b"1.0\n", 0


def ask(peer, question):
    peer.sendall(question)
    return peer.recv(100)


def price(rates):
    global rate, until
    total = sum(range(20_000))
    with lock:
        if time.monotonic() > until:
            rate, until = ask(rates, b"rate\n"), time.monotonic() + 0.5
        return b"%d %s" % (total, rate)


def serve(client):
    rates = socket.create_connection(RATES)
    while client.recv(100):
        client.sendall(price(rates))


def tell_rate(client):
    while client.recv(100):
        time.sleep(0.025)
        client.sendall(b"1.1\n")


def order(service):
    while True:
        ask(service, b"order\n")
        time.sleep(0.005)


def start(work, socket):
    threading.Thread(target=work, args=(socket,)).start()


def listen(address, answer):
    listener = socket.create_server(address, backlog=100)
    while True:
        start(answer, listener.accept()[0])


if sys.argv[1] == "rates":
    listen(RATES, tell_rate)
elif sys.argv[1] == "serve":
    listen(SERVICE, serve)
else:
    for _ in range(4):
        start(order, socket.create_connection(SERVICE))
