"""A name server that knows one address, and takes 3 ms to say so.

Arguments: the address to listen at, a file that says that it is there.
"""

import socket
import struct
import sys
import time

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((sys.argv[1], 53))
    open(sys.argv[2], "w").close()
    while True:
        question, asker = server.recvfrom(512)
        time.sleep(0.003)
        end = question.index(b"\0", 12) + 5
        header = question[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0)
        answer = struct.pack(">3HIH4s", 0xC00C, 1, 1, 60, 4, bytes([127, 0, 0, 1]))
        server.sendto(header + question[12:end] + answer, asker)
