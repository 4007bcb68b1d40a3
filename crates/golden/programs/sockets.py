"""Two ends of a connection in two processes: sockets.py tcp|udp|unix|pipe|epoll|names|pairs."""
import os
import select
import socket
import sys
import time


def serve(end, times):
    for _ in range(times):
        data = end.recv(100)
        time.sleep(0.004)
        end.send(data)


def ask(end, times):
    for _ in range(times):
        end.send(b"x" * 20)
        end.recv(100)


def pair(what):
    if what == "unix":
        return socket.socketpair()
    if what == "udp":
        ends = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(2)]
        for end in ends:
            end.bind(("127.0.0.1", 0))
        ends[0].connect(ends[1].getsockname())
        ends[1].connect(ends[0].getsockname())
        return ends
    listening = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listening.getsockname())
    return client, listening.accept()[0]


def exchange(what):
    client, server = pair(what)
    child = os.fork()
    if child == 0:
        serve(server, 5)
        os._exit(0)
    ask(client, 5)
    os.waitpid(child, 0)


def pairs():
    """Two small writes before each answer: the second waits for an acknowledgement of the first, and that for data."""
    client, server = pair("tcp")
    if os.fork() == 0:
        for _ in range(12):
            got = 0
            while got < 40:
                got += len(server.recv(100))
            server.send(b"y" * 20)
        os._exit(0)
    for _ in range(12):
        client.send(b"x" * 20)
        client.send(b"x" * 20)
        client.recv(100)
    os.wait()


def loop():
    readers = []
    poller = select.epoll()
    for number in range(3):
        reader, writer = os.pipe()
        readers.append(reader)
        poller.register(reader, select.EPOLLIN)
        if os.fork() == 0:
            for _ in range(3):
                time.sleep(0.004 + number / 500)
                os.write(writer, b"x")
            os._exit(0)
        os.close(writer)
    got = 0
    while got < 9:
        for fd, _ in poller.poll(0.005):
            got += len(os.read(fd, 1))


def pipe():
    reader, writer = os.pipe()
    if os.fork() == 0:
        for _ in range(5):
            time.sleep(0.004)
            os.write(writer, b"x")
        os._exit(0)
    for _ in range(5):
        os.read(reader, 1)
    os.wait()


def answer():
    """Answers every question for a name with 192.0.2.7, and those for names that begin with `no` not at all."""
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        question, client = server.recvfrom(512)
        end = question.index(b"\0", 12) + 5
        if question[13:15] == b"no":
            continue
        is_address = question[end - 4:end] == b"\0\1\0\1"
        head = question[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_address else b"\0\0") + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\7" if is_address else b""
        time.sleep(0.003)
        server.sendto(head + question[12:end] + record, client)


def names():
    for name in ["one.test", "two.test", "one.test", "none.test"]:
        try:
            socket.getaddrinfo(name, 80, socket.AF_INET)
        except socket.gaierror:
            pass


what = sys.argv[1]
{"epoll": loop, "pipe": pipe, "answer": answer, "names": names, "pairs": pairs}.get(what, lambda: exchange(what))()
