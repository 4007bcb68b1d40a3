"""Compares what `dwell attach :PORT` says of requests of real servers with their load generators,
and whether what is planted in 1 % of requests is what it names first.
ARGS: DWELL [SERVER…]; as root. Prints tables in markdown. ROUNDS=n: each n times.
KEEP=DIR: all files stay there.

Nothing is installed: a server whose programs are missing is left out, with how to get them.
In each run the generator works within dwell's window; both figures are of that one run. dwell ends
a request where the last byte of its answer is given to the kernel, the client where it has read it:
what the network and the client take is in the generator's figures alone.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent.resolve() / "servers"
PORT, PEER, PEER_2, SECONDS = 21100, 21101, 21102, 6
# PostgreSQL does not start as root.
USER = "postgres"
# Of so many requests one is planted: a little more than 1 %, so that p99 is one of them.
EVERY = 75
POSTGRES = ["/usr/lib/postgresql/%d/bin" % version for version in range(20, 11, -1)]
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/go/bin", *POSTGRES])
# What must be there, and how to get it.
GET = {
    "nginx": "apt-get install nginx-light", "wrk": "apt-get install wrk", "haproxy": "apt-get install haproxy",
    "node": "apt-get install nodejs", "go": "apt-get install golang-go", "javac": "apt-get install default-jdk-headless",
    "postgres": "apt-get install postgresql", "pgbench": "apt-get install postgresql-contrib",
    "redis-server": "apt-get install redis-server", "redis-benchmark": "apt-get install redis-tools",
    "memcached": "apt-get install memcached", "setpriv": "apt-get install util-linux",
    "import gunicorn": "pip install gunicorn (for the python3 that runs this)",
    "import uvicorn": "pip install uvicorn (likewise)",
    "require('express')": "npm install -g express, and NODE_PATH=$(npm root -g)",
}
GO = "GO111MODULE=off GOCACHE={folder}/cache go build -o service {here}/service.go"
WRK = "wrk -t1 -c{n} -d{seconds}s -s {here}/think.lua http://127.0.0.1:{port}/"
GUNICORN = "exec {python} -m gunicorn --chdir {here} -b 127.0.0.1:{port} --log-level error wsgi:app "
NGINX = """worker_processes 1; daemon off; pid {folder}/pid; error_log stderr;
events {{ worker_connections 1024; }}
http {{ access_log off;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream service {{ server 127.0.0.1:{peer}; keepalive 32; }}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://service;
    proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}
"""
HAPROXY = """global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server 50s
frontend all
  bind 127.0.0.1:{port}
  default_backend services
backend services
  server one 127.0.0.1:{peer}
  server two 127.0.0.1:{peer_2}
"""
SQL = """create table orders as select i as id, i % 5000 as customer, i % 97 as amount
  from generate_series(1, 400000) i"""
PGBENCH = "pgbench -h 127.0.0.1 -p {port} -U {user} -n -M simple -c 8 -j 1 -R 400 -T {seconds} -l --log-prefix=log "
LUA = """if {every} > 0 and redis.call('incr', 'n') % math.max({every}, 1) == 0 then
  redis.call('keys', '*no such key*') end return redis.call('get', 'price')"""
REDIS = "redis-benchmark -p {port} -c 4 --precision 3 --csv "
# How a server is built and started, what it is asked by, and what is planted and must be named
# first: what the time is spent at, and text of its place, target or kind.
# Every command line is run by sh in a folder of its own.
SERVERS = {
    "nginx": dict(
        needs="nginx go wrk", build=GO, files={"nginx.conf": NGINX},
        start=["{plant} PLANTED=slow exec ./service {peer} 4", "exec nginx -e stderr -p {folder} -c {folder}/nginx.conf"],
        load="THINK=5 " + WRK, n=8, plant=("a slow upstream", "peer network", "127.0.0.1:{peer}")),
    "gunicorn sync": dict(
        needs="gunicorn wrk", start=["{plant} PLANTED=sleep " + GUNICORN + "-w 4"],
        load="THINK=20 " + WRK, n=4, plant=("a sleep in a handler", "sleep", "audit (wsgi.py")),
    "gunicorn gthread": dict(
        needs="gunicorn wrk", start=["{plant} PLANTED=lock " + GUNICORN + "-k gthread -w 1 --threads 8"],
        load="THINK=20 " + WRK, n=6, plant=("a lock that is held", "lock sleep", "price (wsgi.py")),
    "uvicorn": dict(
        needs="uvicorn wrk",
        start=["{plant} exec {python} -m uvicorn --app-dir {here} --port {port} --log-level error asgi:app"],
        load="THINK=10 " + WRK, n=6, plant=("a blocked event loop", "other-request on-cpu", "report (asgi.py")),
    "express": dict(
        needs="node express wrk", start=["{plant} exec node --perf-basic-prof {here}/express.js {port}"],
        load="THINK=10 " + WRK, n=6, plant=("CPU work in a handler", "other-request on-cpu", "similarity")),
    "go": dict(
        needs="go wrk", build=GO, start=["{plant} PLANTED=lock exec ./service {port} 0"],
        load="THINK=10 " + WRK, n=8, plant=("a lock that is held", "lock sleep", "main.(*table).get")),
    "java": dict(
        needs="javac go wrk", build=GO + " && javac -d . {here}/Service.java",
        start=["exec ./service {peer} 40", "{plant} exec java -Dsun.net.httpserver.nodelay=true -cp . Service {port} {peer}"],
        load="THINK=10 " + WRK, n=8, plant=("a slow downstream", "peer network", "127.0.0.1:{peer}")),
    "postgresql": dict(
        needs="postgres pgbench setpriv",
        build="chown -R {user} . && {as_user} initdb -D data -A trust -U {user} >/dev/null",
        files={"fast.sql": "\\set id random(1, 100000)\nselect abalance from pgbench_accounts where aid = :id;\n",
               "slow.sql": "\\set id random(1, 4999)\nselect sum(amount) from orders where customer = :id;\n"},
        start=["exec {as_user} postgres -D data -p {port} -h 127.0.0.1 -k {folder} -c jit=off -c fsync=off -c log_min_messages=fatal "
               "-c max_parallel_workers_per_gather=0"],
        fill="pgbench -q -i -h 127.0.0.1 -p {port} -U {user} {user} >/dev/null 2>&1 && "
             'psql -q -h 127.0.0.1 -p {port} -U {user} {user} -c "{sql}" -c "vacuum analyze orders" -c "{index}" >/dev/null',
        load=PGBENCH + "-f fast.sql@74 -f slow.sql@1 {user} >&2 && cat log.*", n=8, parse="pgbench",
        plant=("a query without an index", "on-cpu", "SELECT orders")),
    "redis": dict(
        needs="redis-server redis-benchmark",
        start=["exec redis-server --port {port} --bind 127.0.0.1 --save '' --daemonize no --dir {folder} >/dev/null"],
        fill="redis-benchmark -p {port} -q -n 100000 -r 100000 -P 50 set key:__rand_int__ 1 >/dev/null",
        load=REDIS + '-n {each} eval "{lua}" 0', n=4, parse="redis",
        plant=("a slow command (KEYS)", "other-request on-cpu", "EVAL")),
    "memcached": dict(
        needs="memcached", start=["exec memcached -u root -l 127.0.0.1 -p {port}"],
        load="{python} {here}/memcached.py {port} 8 4 {seconds}", n=8),
    "haproxy": dict(
        needs="haproxy go wrk", build=GO, files={"haproxy.cfg": HAPROXY},
        start=["exec ./service {peer} 4", "PLANT={half} PLANTED=slow exec ./service {peer_2} 4",
               "exec haproxy -f haproxy.cfg"],
        load="THINK=5 " + WRK, n=8, plant=("one of two upstreams is slow", "peer network", "127.0.0.1:{peer_2}")),
}


def missing(needs):
    """What of a server's programs is not there, with how to get it."""
    for need in needs.split():
        python, node = f"import {need}", f"require('{need}')"
        if python in GET:
            found = subprocess.run([sys.executable, "-c", python], capture_output=True).returncode == 0
            need = python
        elif node in GET:
            found = subprocess.run(["node", "-e", node], capture_output=True).returncode == 0
            need = node
        else:
            found = shutil.which(need, path=PATH) is not None
        if not found:
            yield f"{need}: {GET[need]}"


def accepts(port, seconds=20):
    """Waits until a port accepts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}")


def target(file):
    try:
        return os.readlink(file)
    except OSError:
        # It was closed meanwhile.
        return ""


def is_in_place(dwell):
    """Waits until dwell has its programs in the kernel: no more have come for a second."""
    had, since = 0, time.monotonic()
    while had == 0 or time.monotonic() < since + 1:
        assert dwell.poll() is None, "dwell has ended"
        links = sum("bpf" in target(file) and "link" in target(file) for file in pathlib.Path(f"/proc/{dwell.pid}/fd").iterdir())
        if links != had:
            had, since = links, time.monotonic()
        time.sleep(0.05)


def microseconds(how, told):
    """What a generator counted, with p50 and p99 in us."""
    if how == "pgbench":
        # client, transaction, time, script, seconds, us, lag: the time is from when it was due.
        rows = [line.split() for line in told.splitlines()]
        times = sorted(int(row[2]) - int(row[6]) for row in rows)
        return len(times), times[len(times) // 2], times[int(len(times) * 0.99)]
    if how == "redis":
        # Requests per second, then ms: mean, least, p50, p95, p99, most.
        _, _, _, p50, _, p99, _ = map(float, re.findall(r'"([0-9.]+)"', told)[-7:])
        return None, p50 * 1e3, p99 * 1e3
    answered, p50, p99, errors = map(int, told.split()[-4:])
    assert errors == 0, told
    return answered, p50, p99


def measure(dwell, name, planted, folder):
    """A run: what the generator saw, dwell's `requests`, and its page."""
    server, every = SERVERS[name], EVERY if planted else 0
    words = dict(
        here=HERE, folder=folder, port=PORT, peer=PEER, peer_2=PEER_2, python=sys.executable, user=USER, every=every,
        as_user=f"setpriv --reuid {USER} --regid {USER} --clear-groups", n=server["n"], sql=SQL, half=every // 2,
        lua=LUA.format(every=every), plant=f"PLANT={every}", each=4000 if planted else 200_000,
        index="select 1" if planted else "create index on orders (customer)")
    environment = {**os.environ, "PATH": PATH, "DWELL_STORE": "off"}
    run = dict(shell=True, cwd=folder, env=environment)
    for file, text in server.get("files", {}).items():
        (folder / file).write_text(text.format(**words) if "sql" not in file else text)
    subprocess.run(server.get("build", "true").format(**words), check=True, **run)
    started, attached = [], None
    try:
        for start in server["start"]:
            started.append(subprocess.Popen(start.format(**words), process_group=0, **run))
        accepts(PORT), time.sleep(1)
        subprocess.run(server.get("fill", "true").format(**words), check=True, **run)
        load = lambda seconds, each: subprocess.run(
            server["load"].format(**{**words, "each": each}, seconds=seconds), check=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, **run).stdout
        load(2, 1000), [old.unlink() for old in folder.glob("log.*")], time.sleep(0.3)
        with open(folder / "page", "w") as page:
            attach = [dwell, "attach", f":{PORT}", "--for", f"{SECONDS + 4}s", "--json", folder / "json"]
            if os.environ.get("KEEP"):
                attach += ["--keep", folder / "kept.dwell"]
            attached = subprocess.Popen(attach, stdout=page, stderr=subprocess.STDOUT, env=environment)
            is_in_place(attached)
            seen = microseconds(server.get("parse"), load(SECONDS, words["each"]))
            attached.wait(60)
    finally:
        for one in reversed(started):
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()
    page, requests = (folder / "page").read_text(), json.load(open(folder / "json"))["requests"]
    return (seen[0] or words["each"], *seen[1:]), requests, page


def said_first(page):
    """The first finding of slow requests, as the page has it, in one line."""
    lines = page.splitlines()
    at = next((at for at, line in enumerate(lines) if line.startswith("slow requests ")), None)
    if at is None:
        return "nothing"
    more = next(more for more in range(at + 1, len(lines)) if not lines[more].startswith("  "))
    return " ".join(" ".join(lines[at:more]).split())


def check_plant(name, with_plant, without):
    (_, _, generator_before), requests, page = with_plant
    (_, _, generator_after), after, _ = without
    what, ats, text = SERVERS[name]["plant"]
    text = text.format(peer=PEER, peer_2=PEER_2)
    first = next((found for found in requests["findings"] if found["of"] == "slow"), None)
    if first is None:
        return {"server": name, "planted": what, "dwell says first": "nothing", "right": "**no**"}
    part = requests["parts"][first["part"]]
    # The kind counts where most of the slow ones are of one.
    kinds = [str(kind["kind"]) for kind in requests["kinds"] if kind["slow"] * 2 > requests["slow"]]
    right = part["at"] in ats.split() and text in json.dumps([part, kinds]).replace('"', "")
    before, then, now = requests["latency"]["p99_ns"], part["without"]["p99_ns"], after["latency"]["p99_ns"]
    held = abs((before - now) - (before - then)) <= 0.2 * (before - then)
    ms = lambda ns: f"{ns / 1e6:.2f}"
    return {
        "server": name, "planted": what, "dwell says first": said_first(page), "right": "yes" if right else "**no**",
        "p99": ms(before), "p99 predicted without it": ms(then), "p99 measured": ms(now),
        "by the generator": f"{generator_before / 1e3:.2f} → {generator_after / 1e3:.2f}",
        "held": "yes" if held else "**no**"}


def compare(name, run):
    (answered, p50, p99), requests, _ = run
    times, latency = requests["times"], requests["latency"]
    followed = f" ({times} followed)" if requests["left_out"] else ""
    row = {"server": name, "requests": f"{times + requests['left_out']}{followed}", "generator": answered}
    for figure, known in (("p50", p50), ("p99", p99)):
        got = latency[f"{figure}_ns"] / 1e3
        row[f"{figure} dwell"], row[f"{figure} generator"] = f"{got / 1e3:.3f}", f"{known / 1e3:.3f}"
        row[f"{figure} more"] = f"{known - got:.0f} us"
    row["load"] = f"{os.getloadavg()[0]:.1f}"
    return row


def table(rows):
    columns = max(rows, key=len).keys() if rows else []
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row.get(column, "")) for column in columns) + " |")
    print(flush=True)


def main():
    dwell, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(SERVERS)
    latencies, plants = [], []
    for name in [name for name in names for _ in range(int(os.environ.get("ROUNDS", "1")))]:
        lacks = list(missing(SERVERS[name]["needs"]))
        if lacks:
            print(f"{name}: left out; missing:", "; ".join(lacks), flush=True)
            continue
        runs = []
        for planted in [False, True][:1 + ("plant" in SERVERS[name])]:
            with tempfile.TemporaryDirectory(prefix="servers-") as folder:
                if keep := os.environ.get("KEEP"):
                    folder = os.path.join(keep, f"{name}-{planted}".replace(" ", "-"))
                    shutil.rmtree(folder, ignore_errors=True), os.makedirs(folder)
                os.chmod(folder, 0o755)
                try:
                    runs.append(measure(dwell, name, planted, pathlib.Path(folder)))
                except Exception as error:
                    print(f"{name}: FAILED: {error!r}", flush=True)
                    break
        if runs:
            latencies.append(compare(name, runs[0]))
            print(latencies[-1], flush=True)
        if len(runs) > 1:
            plants.append(check_plant(name, runs[1], runs[0]))
            print(plants[-1], flush=True)
    table(latencies), table(plants)


main()
