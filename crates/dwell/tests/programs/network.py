"""Clients and servers for `network.rs`: each says in JSON what it did, to be held against what dwell says."""

import json, os, socket, struct, subprocess, sys, time

PORT = 5000


def exactly(sock, count):
    got = 0
    while got < count:
        some = sock.recv(min(65536, count - got))
        if not some:
            break
        got += len(some)
    return got


def say(**facts):
    print(json.dumps(facts), flush=True)


def listen(backlog=128):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", PORT))
    sock.listen(backlog)
    open("ready", "w").close()
    return sock


def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except ConnectionRefusedError:
            time.sleep(0.01)


def serve_bulk(times):
    """Reads all that comes on a connection after its head, and answers with as many bytes as the head asks for."""
    sock, facts = listen(), []
    for _ in range(times):
        peer, _ = sock.accept()
        with peer:
            head = b""
            while len(head) < 16:
                head += peer.recv(16 - len(head))
            comes, wanted = struct.unpack("<QQ", head)
            got = 16 + exactly(peer, comes)
            peer.sendall(b"x" * wanted)
            rest = exactly(peer, 1)
            facts.append({"received": got + rest, "sent": wanted})
    say(connections=facts)


def bulk(times, comes, wanted, look):
    for _ in range(times):
        sock = connect()
        with sock:
            sock.sendall(struct.pack("<QQ", comes, wanted) + b"y" * comes)
            got = exactly(sock, wanted)
            if look:
                time.sleep(0.3)  # until the last acknowledgement is in
                port = sock.getsockname()[1]
                told = subprocess.run(
                    ["ss", "-tinH", "sport", "=", f":{port}"], capture_output=True, text=True, check=True
                )
                say(got=got, ss=told.stdout)


def wait_for(name):
    for _ in range(500):
        if os.path.exists(name):
            break
        time.sleep(0.01)


def serve_late():
    """Has room for no connection until half a second after a client has come."""
    sock = listen(0)
    fill = [socket.socket() for _ in range(2)]
    for one in fill:
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", PORT))
    time.sleep(0.1)
    open("full", "w").close()
    wait_for("knocking")
    time.sleep(0.5)
    while True:
        peer, _ = sock.accept()
        peer.settimeout(0.2)
        try:
            peer.recv(10)
        except OSError:
            pass


def late():
    wait_for("full")
    open("knocking", "w").close()
    began = time.monotonic_ns()
    sock = socket.create_connection(("127.0.0.1", PORT))
    say(connect_ns=time.monotonic_ns() - began)
    sock.sendall(b"hello")
    # Nobody listens there.
    try:
        socket.create_connection(("127.0.0.1", PORT + 1))
    except ConnectionRefusedError:
        pass


def serve_pairs(delay_ms):
    sock = listen()
    while True:
        peer, _ = sock.accept()
        with peer:
            while exactly(peer, 100) == 100:
                time.sleep(delay_ms / 1000)
                peer.sendall(b"answer")


def pairs(times, how):
    sock = connect()
    if how == "nodelay":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(times):
        if how == "one":
            sock.sendall(b"h" * 100)
        else:
            sock.sendall(b"h" * 40)
            sock.sendall(b"b" * 60)
        exactly(sock, 6)


def name_in(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]])
        at += 1 + packet[at]
    return labels, at + 5


def serve_names(delay_ms):
    """A name server that takes its time; `nope…` does not exist, and `silent…` gets no answer."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    facts = open("asked.json", "w")
    open("ready", "w").close()
    while True:
        packet, client = sock.recvfrom(1500)
        came = time.monotonic_ns()
        labels, end = name_in(packet)
        kind = struct.unpack(">H", packet[end - 4 : end - 2])[0]
        name = ".".join(label.decode("latin1") for label in labels)
        went = None
        if not name.startswith("silent"):
            time.sleep(delay_ms / 1000)
            answers, code = (1, 0) if kind == 1 else (0, 0)
            if name.startswith("nope"):
                answers, code = 0, 3
            answer = packet[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, answers, 0, 0) + packet[12:end]
            if answers:
                answer += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 9])
            sock.sendto(answer, client)
            went = time.monotonic_ns()
        facts.write(json.dumps({"name": name, "kind": kind, "came": came, "went": went}) + "\n")
        facts.flush()


def ask(number, *labels):
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + struct.pack(">HH", 1, 1)
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + question


def names():
    for _ in range(3):
        socket.getaddrinfo("python.test", 80, socket.AF_INET)
    subprocess.run(["getent", "ahostsv4", "getent.test"], check=True, stdout=subprocess.DEVNULL)
    try:
        socket.getaddrinfo("nope.test", 80, socket.AF_INET)
    except socket.gaierror:
        pass
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.sendto(ask(7, b"HAND.made", b"\x1b[2J", b"test"), ("127.0.0.1", 53))
    sock.recv(1500)
    sock.sendto(ask(8, b"silent", b"test"), ("127.0.0.1", 53))
    # Not a question at all.
    sock.sendto(b"\xff" * 40, ("127.0.0.1", 53))
    sock.sendto(b"short", ("127.0.0.1", 53))


if __name__ == "__main__":
    numbers = [int(word) if word.lstrip("-").isdigit() else word for word in sys.argv[2:]]
    globals()[sys.argv[1]](*numbers)
