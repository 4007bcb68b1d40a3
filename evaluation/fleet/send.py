"""What sending costs a run, many results, one that is refused of a thousand, and `sudo`.
ARGS: DWELL [PAIRS]; root; sudo for the last part.

1. `dwell run true` with a store from which nothing is sent, and with one that has a destination that
   is down (8 batches wait, and results behind them) or is sent to at the same time; in turn.
2. 3,000 results exported and pushed to a directory on a disk: each file is brought to the disk.
3. A web server and an endpoint of OpenTelemetry that answer 400 to one of 1,000 results.
4. Results that `sudo dwell run` kept, pushed by `sudo dwell push` and by the user.
"""
import os
import pathlib
import pwd
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import Server, check, ended, environment, keep, kept, run

USER = "dwell-fleet"


def filled(dwell, store, results):
    """A store with copies of a run of this machine, each of its own second."""
    run([dwell, "run", "-q", "sh", "-c", "sleep 0.01; ls / > /dev/null"], store)
    result = kept(dwell, store)[0]
    for number in range(results - 1):
        at = f"2026-11-{1 + number // 3600:02}T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        keep(store, {**result, "started_at": at})
    return result


def cost(dwell, folder, pairs):
    stores = {name: folder / f"{name}.sqlite" for name in ("nothing", "down", "sending")}
    for store in stores.values():
        filled(dwell, store, 1500)
    run([dwell, "push", "http://127.0.0.1:9", "--for", "2s"], stores["down"])
    # Each answer takes a while, so that it sends all the time.
    server = Server(answers=lambda path, body: time.sleep(0.005))
    pusher = None
    times, cpu = ({name: [] for name in stores} for _ in range(2))
    chance = random.Random(1)
    for _ in range(pairs):
        order = list(stores)
        chance.shuffle(order)
        for name in order:
            if name == "sending" and (pusher is None or pusher.poll() is not None):
                words = [dwell, "push", server.url, "--for", "1h", "--again"]
                pusher = subprocess.Popen(words, env=environment(stores[name]), stdout=subprocess.DEVNULL)
                time.sleep(0.3)
            before, began = os.times(), time.monotonic_ns()
            run([dwell, "run", "-q", "true"], stores[name])
            times[name].append((time.monotonic_ns() - began) / 1e6)
            after = os.times()
            # The pusher is a child that has not ended: its time is not in it.
            cpu[name].append(1e3 * (after.children_user - before.children_user
                                    + after.children_system - before.children_system))
    pusher.kill()
    pusher.wait()
    for name in ("down", "sending"):
        longer = sorted(b - a for a, b in zip(times["nothing"], times[name]))
        # The interval of the median, by the order of the differences.
        wide = int(0.98 * len(longer) ** 0.5)
        low, high = longer[len(longer) // 2 - wide], longer[len(longer) // 2 + wide]
        middle = statistics.median(longer)
        check(f"a run is at most 10 ms longer ({name})", high <= 10,
              f"{middle:+.2f} ms ({low:+.2f} to {high:+.2f}) of {statistics.median(times['nothing']):.0f} ms, "
              f"{pairs} pairs; CPU time {statistics.mean(cpu[name]) - statistics.mean(cpu['nothing']):+.2f} ms "
              f"of {statistics.mean(cpu['nothing']):.0f} ms")


def many(dwell, folder):
    store, on_disk = folder / "many.sqlite", folder / "many"
    filled(dwell, store, 3000)
    for what, words in {"export --as rows": ["export", "--as", "rows", str(on_disk / "rows")],
                        "export --as parquet": ["export", "--as", "parquet", str(on_disk / "parquet")],
                        "push": ["push", str(on_disk / "pushed"), "--for", "30m"]}.items():
        on_disk.mkdir(exist_ok=True)
        before, began = os.times(), time.monotonic()
        done = run([dwell, *words], store)
        lasted, after = time.monotonic() - began, os.times()
        files = [path for path in on_disk.rglob("*") if path.is_file()]
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        size = sum(path.stat().st_size for path in files)
        results = sum(path.parent.parent.name == "results" for path in files)
        check(f"3,000 results, {what}", done.returncode == 0 and results == 3000,
              f"{len(files)} files, {size / 1e6:.0f} MB in {lasted:.1f} s, {cpu:.1f} CPU s; "
              f"{1e3 * lasted / len(files):.2f} ms a file")
        shutil.rmtree(on_disk)


def one_of_a_thousand(dwell, folder):
    store = folder / "thousand.sqlite"
    filled(dwell, store, 1000)
    lake = folder / "thousand"
    run([dwell, "export", "--as", "rows", str(lake)], store)
    bad = sorted(path.name[:32] for path in lake.glob("results/*/*"))[500]
    shutil.rmtree(lake)
    for words, is_bad in (([], lambda path, body: bad in path),
                          (["--otlp"], lambda path, body: bad.encode() in body)):
        asked = []

        def answers(path, body):
            asked.append(path)
            return (400, b"no") if is_bad(path, body) else None
        server = Server(answers=answers)
        done = run([dwell, "push", *words, server.url, "--for", "5m"], store)
        said = done.stdout.replace("\n", ";")
        form = " ".join(words) or "files"
        check(f"one of 1,000 is refused, the others are there ({form})",
              done.returncode == 1 and said.startswith("999 results sent") and "1 result refused" in said,
              f"{len(asked)} requests")
        number = len(asked)
        again = run([dwell, "push", *words, server.url], store)
        check(f"and is not sent again ({form})", again.returncode == 0 and len(asked) == number)


def under_sudo(dwell, folder):
    if not shutil.which("sudo"):
        print("      sudo is not installed: that part was not run")
        return
    # A user of its own, whose home dwell finds by its number.
    home, lake = folder / "home", folder / "home" / "lake"
    folder.chmod(0o711)
    subprocess.run(["useradd", "-m", "-d", str(home), USER], check=True)
    number = pwd.getpwnam(USER).pw_uid
    program = folder / "dwell"
    shutil.copy2(dwell, program)
    own = {"HOME": str(home), "PATH": os.environ["PATH"], "USER": USER}

    def as_user(*words):
        return subprocess.run(words, env=own, user=number, group=number, extra_groups=[], cwd=home,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
    allowed = pathlib.Path(f"/etc/sudoers.d/{USER}")
    allowed.write_text(f"{USER} ALL=(ALL) NOPASSWD: {program}\n")
    allowed.chmod(0o440)
    try:
        first = as_user(str(program), "run", "-q", "true")
        second = as_user("sudo", str(program), "run", "-q", "true")
        pushed = as_user("sudo", str(program), "push", str(lake))
        check("sudo: both results are sent", pushed.returncode == 0 and pushed.stdout.startswith("2 results"),
              f"{first.returncode} {second.returncode} {pushed.stdout.strip()} {pushed.stderr.strip()}")
        third = as_user(str(program), "run", "-q", "true")
        again = as_user(str(program), "push", str(lake))
        check("the user goes on where sudo was", again.returncode == 0 and again.stdout.startswith("1 result "),
              f"{third.returncode} {again.stdout.strip()} {again.stderr.strip()}")
        others = [str(path) for path in home.rglob("*") if path.stat().st_uid != number]
        check("all files are the user's", not others, others[:4])
    finally:
        allowed.unlink()
        subprocess.run(["userdel", USER], check=True)


def main():
    dwell, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    parts = sys.argv[3:] or ["cost", "many", "one", "sudo"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        if "cost" in parts:
            cost(dwell, folder, pairs)
        if "many" in parts:
            many(dwell, folder)
        if "one" in parts:
            one_of_a_thousand(dwell, folder)
        if "sudo" in parts:
            under_sudo(dwell, folder)
    ended()


if __name__ == "__main__":
    main()
