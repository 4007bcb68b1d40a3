"""Asks a server for one page after the other with requests, as its first example does: no session.

Arguments: the URL, how often.
"""

import sys

import requests

url, times = sys.argv[1], int(sys.argv[2])
for _ in range(times):
    requests.get(url, timeout=10).raise_for_status()
