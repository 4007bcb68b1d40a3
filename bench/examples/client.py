"""Forty threads ask a local server for a page, again and again."""

from threading import Thread
from urllib.request import urlopen

ADDRESS = "http://127.0.0.1:8123/"


def ask():
    while True:
        with urlopen(ADDRESS) as answer:
            answer.read()


for _ in range(40):
    Thread(target=ask).start()
