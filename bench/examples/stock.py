"""Asks a slow service for each part's price, one after the other, then looks for the dearest pairs."""

import os
import socket
import time


def service(peer):
    while peer.recv(16):
        time.sleep(0.004)
        peer.sendall(b"17")


def price(client, part):
    client.sendall(str(part).encode())
    return int(client.recv(16)) * part % 101


def dearest(prices):
    best = 0
    for a in prices:
        for b in prices:
            best = max(best, a + b)
    return best


client, peer = socket.socketpair()
if os.fork() == 0:
    client.close()
    service(peer)
    os._exit(0)
peer.close()
prices = [price(client, part) for part in range(40)]
print(dearest(prices * 30))
client.close()
os.wait()
