"""Sends results to a real collector of OpenTelemetry and to a real Prometheus 3.
ARGS: DWELL STORE COLLECTOR PROMETHEUS. The store is of record.py; docs/results/fleet.md says how the
two programs are built.

The results are sent as those of two hosts with the same machine, as clones of an image have it.
Counts must be those of dwell, and percentiles of what is merged there within 1 % of those of dwell's
bins merged here.
"""
import collections
import datetime
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from common import Server, check, ended, keep, kept, run

COLLECTOR, PROMETHEUS = 18960, 18961
QUANTILES = (0.5, 0.99, 0.999)


def merged(bins, share):
    """The percentile of bins (lo, beyond, n) together: the middle of its bin, geometrically."""
    up_to, all_ = 0, sum(bins.values())
    for (lo, beyond), n in sorted(bins.items()):
        up_to += n
        if up_to >= share * all_:
            return (lo * beyond) ** 0.5 / 1e9
    raise AssertionError("there are bins")


class Wanted:
    """What of the results must be at the far end, by host."""

    def __init__(self, results):
        self.logs = collections.Counter()
        self.latencies, self.waits = collections.Counter(), collections.Counter()
        self.states = 0
        for result in results:
            verb = result["schema"][6:].split("/")[0]
            self.logs["dwell.result"] += 1
            self.logs["dwell.finding"] += len(result.get("findings", []))
            self.logs["dwell.spike"] += len(result.get("spikes", []) or [])
            self.logs["dwell.comparison"] += len(result.get("comparisons", []))
            if verb == "wake":
                for lo, beyond, n in result["all"]["histogram"]:
                    self.latencies[lo, beyond] += n
            if verb in ("run", "attach"):
                self.states += len([row for row in result["account"] if row["ns"]])
                for row in result["waits"]:
                    for lo, beyond, n in row["bins"]:
                        self.waits[lo, beyond] += n


def get(path, **query):
    url = f"http://127.0.0.1:{PROMETHEUS}/{path}?{urllib.parse.urlencode(query)}"
    return json.load(urllib.request.urlopen(url, timeout=30))["data"]


def asked(query):
    """The values of an instant query, by instance."""
    return {row["metric"].get("instance"): float(row["value"][1])
            for row in get("api/v1/query", query=query)["result"]}


class Prometheus:
    def __init__(self, program, folder, *features, late=None):
        self.folder = folder
        folder.mkdir()
        window = f"storage: {{tsdb: {{out_of_order_time_window: {late}}}}}\n" if late else ""
        (folder / "config.yml").write_text(f"global: {{scrape_interval: 1h}}\n{window}")
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen(
            [program, f"--config.file={folder}/config.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{PROMETHEUS}", "--web.enable-otlp-receiver",
             *(f"--enable-feature={feature}" for feature in features)],
            stdout=self.log, stderr=self.log)

    def __enter__(self):
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PROMETHEUS}/-/ready", timeout=5)
                return self
            except OSError:
                time.sleep(0.2)
        raise TimeoutError((self.folder / "log").read_text()[-800:])

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    @staticmethod
    def push(dwell, store, *words):
        url = f"http://127.0.0.1:{PROMETHEUS}/api/v1/otlp"
        return run([dwell, "push", "--otlp", url, "--only", "metrics", "--again", *words], store)


def histograms(name, wanted, hosts):
    """Counts and percentiles of the two histograms: each sample is a result."""
    for metric, bins, near in (("dwell_wakeup_latency_seconds", wanted.latencies, 0.01),
                               ("dwell_wait_duration_seconds", wanted.waits, 0.125 + 0.025)):
        over = f"sum by (instance) (sum_over_time({metric}[3h]))"
        counts = asked(f"histogram_count({over})")
        check(f"{name}: {metric} of two hosts is two series with dwell's count",
              len(counts) == hosts and set(counts.values()) == {sum(bins.values())},
              f"{sorted(counts.values())} of {sum(bins.values())}")
        off = {}
        for share in QUANTILES:
            for value in asked(f"histogram_quantile({share}, {over})").values():
                off[share] = max(off.get(share, 0), abs(value / merged(bins, share) - 1))
        figure = ", ".join(f"p{100 * share:g} {100 * of:.2f} %" for share, of in off.items())
        check(f"{name}: {metric}: percentiles within {100 * near:g} %",
              len(off) == len(QUANTILES) and max(off.values()) <= near, figure)


def shares(name, wanted, hosts):
    count = asked("count by (instance) (last_over_time(dwell_time_share_ratio[3h]))")
    check(f"{name}: the shares of {hosts} hosts are there", len(count) == hosts,
          f"{sorted(count.values())} states")


def prometheus(dwell, store, program, folder, wanted, results):
    with Prometheus(program, folder / "cumulative", late="1d") as far:
        done = far.push(dwell, store)
        check("Prometheus takes cumulative", done.returncode == 0, done.stdout.splitlines()[0])
        histograms("cumulative", wanted, 2)
        shares("cumulative", wanted, 2)
    with Prometheus(program, folder / "delta", "otlp-native-delta-ingestion", late="1d") as far:
        done = far.push(dwell, store, "--temporality", "delta")
        check("Prometheus takes deltas with its feature", done.returncode == 0,
              done.stdout.splitlines()[0])
        histograms("delta", wanted, 2)
    with Prometheus(program, folder / "refused", late="1d") as far:
        done = far.push(dwell, store, "--temporality", "delta")
        first = done.stdout.splitlines()[:3]
        check("without it deltas are refused, and said", done.returncode == 1 and "refused" in done.stdout,
              "; ".join(line.strip() for line in first))
        there = get("api/v1/label/__name__/values")
        check("no histogram is there", "dwell_wakeup_latency_seconds" not in there)
        shares("beside the refused", wanted, 2)
        again = run(done.args[:6], store)
        check("what was refused is not sent again", again.stdout.startswith("0 results sent"),
              again.stdout.splitlines()[0])
    with Prometheus(program, folder / "clocks") as far:
        clocks(dwell, folder, far, results)


def clocks(dwell, folder, far, results):
    """Hosts whose clock is right, three hours behind and a day ahead, in this order."""
    store = folder / "clocks.sqlite"
    run([dwell, "push", str(folder / "lake")], store)
    run([dwell, "run", "-q", "true"], store)
    run([dwell, "rm", "last"], store)
    runs = [result for result in results if result["schema"].startswith("dwell.attach")]
    for name, hours in (("right", 0), ("behind", -3), ("ahead", 24), ("right-again", 0)):
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
        for number, result in enumerate(runs):
            moment = at + datetime.timedelta(milliseconds=number)
            keep(store, {**result, "started_at": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                         "host": {**result["host"], "name": name}})
    done = far.push(dwell, store)
    shown = run([dwell, "push"], store).stdout
    print("     ", shown.strip().replace("\n", "\n      "))
    now = f"{(datetime.datetime.now() + datetime.timedelta(hours=25)).timestamp():.0f}"
    there = {row["metric"]["instance"].rsplit("-", 1)[0] for row in get(
        "api/v1/query", query="last_over_time(dwell_time_share_ratio[2d])", time=now)["result"]}
    check("hosts with a clock that is right are there, the others are refused",
          there == {"right", "right-again"} and "6 results refused" in shown, sorted(there))
    again = run(done.args[:6], store)
    check("what a clock was wrong for is not sent again", "not sent" not in again.stdout, again.stdout.splitlines()[0])


class Collector:
    def __init__(self, program, folder, config):
        path = folder / "collector.yml"
        path.write_text(json.dumps(config))
        self.log = open(folder / "collector.log", "ab")
        self.process = subprocess.Popen([program, f"--config=file:{path}"], stdout=self.log, stderr=self.log)
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{COLLECTOR}/", timeout=5)
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.2)
        raise TimeoutError((folder / "collector.log").read_text()[-800:])

    def end(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        self.process.wait()
        self.log.close()


def pipelines(exporters, extensions=None):
    receiver = {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{COLLECTOR}"}}}}
    of = {"receivers": ["otlp"], "exporters": list(exporters)}
    return {"receivers": receiver, "exporters": exporters, "extensions": extensions or {},
            "service": {"extensions": list(extensions or {}), "pipelines": {"logs": of, "metrics": of},
                        "telemetry": {"metrics": {"level": "none"}}}}


def attributes(of):
    return {one["key"]: next(iter(one["value"].values())) for one in of}


def collector(dwell, store, program, folder, wanted):
    out = folder / "out.json"
    far = Collector(program, folder, pipelines({"file": {"path": str(out)}}))
    done = run([dwell, "push", "--otlp", f"http://127.0.0.1:{COLLECTOR}", "--again"], store)
    far.end()
    check("the collector takes all", done.returncode == 0, done.stdout.splitlines()[0])
    events, instances = collections.Counter(), collections.defaultdict(set)
    counts, bins = collections.Counter(), collections.Counter()
    for line in out.read_text().splitlines():
        request = json.loads(line)
        for resource in request.get("resourceLogs", []):
            own = attributes(resource["resource"]["attributes"])
            instances["logs"].add(own["service.instance.id"])
            for scope in resource["scopeLogs"]:
                events.update(record["eventName"] for record in scope["logRecords"])
        for resource in request.get("resourceMetrics", []):
            own = attributes(resource["resource"]["attributes"])
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    instances[metric["name"]].add(own["service.instance.id"])
                    for point in metric.get("exponentialHistogram", {}).get("dataPoints", []):
                        counts[metric["name"]] += int(point["count"])
                        if metric["name"] == "dwell.wakeup.latency":
                            base, of = 2 ** 2 ** -point["scale"], point["positive"]
                            for at, n in enumerate(of["bucketCounts"], of.get("offset", 0)):
                                bins[1e9 * base ** at, 1e9 * base ** (at + 1)] += int(n)
    twice = {name: 2 * n for name, n in wanted.logs.items() if n}
    check("the collector has a record for each result, finding, spike and comparison",
          dict(events) == twice, dict(events))
    both = (2 * sum(wanted.latencies.values()), 2 * sum(wanted.waits.values()))
    there = (counts["dwell.wakeup.latency"], counts["dwell.wait.duration"])
    check("its histograms have dwell's counts", there == both, there)
    off = {share: abs(merged(bins, share) / merged(wanted.latencies, share) - 1) for share in QUANTILES}
    check("its percentiles of wake-ups are within 1 %", max(off.values()) <= 0.01,
          ", ".join(f"p{100 * share:g} {100 * of:.2f} %" for share, of in off.items()))
    hosts = {name: len({one.rsplit("-", 1)[0] for one in of}) for name, of in instances.items()}
    check("two hosts are two instances in all of it", set(hosts.values()) == {2}, hosts)


def killed(dwell, store, program, folder):
    """What a collector took and had not passed on when it was killed."""
    for queue in ("in memory", "on disk"):
        server = Server(answers=lambda path, body: (503, b"down"))
        storage = {"file_storage": {"directory": str(folder / "queue"), "create_directory": True}}
        export = {"endpoint": server.url, "compression": "none",
                  "retry_on_failure": {"initial_interval": "1s"}}
        if queue == "on disk":
            export["sending_queue"] = {"storage": "file_storage"}
        config = pipelines({"otlp_http": export}, storage)
        far = Collector(program, folder, config)
        done = run([dwell, "push", "--otlp", f"http://127.0.0.1:{COLLECTOR}", "--again"], store)
        time.sleep(1)
        far.end(signal.SIGKILL)
        server.answers = None
        far = Collector(program, folder, config)
        time.sleep(8)
        far.end()
        came = sum(map(len, server.bodies.values()))
        check(f"a collector that is killed, its queue {queue}", done.returncode == 0 and
              (came == 0) == (queue == "in memory"), f"{came} requests passed on after it was started again")


def main():
    dwell, store, collector_program, prometheus_program = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        results = [result for result in kept(dwell, store) if "ladder" not in result["schema"]]
        two = folder / "two.sqlite"
        run([dwell, "run", "-q", "true"], two)
        run([dwell, "rm", "last"], two)
        for name in ("host-a", "host-b"):
            for result in results:
                keep(two, {**result, "host": {**result["host"], "name": name}})
        wanted = Wanted(results)
        prometheus(dwell, two, prometheus_program, folder, wanted, results)
        collector(dwell, two, collector_program, folder, wanted)
        killed(dwell, two, collector_program, folder)
    ended()


if __name__ == "__main__":
    main()
