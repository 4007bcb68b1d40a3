"""Whether DuckDB, Spark and Trino give the same rows for every query of docs/fleet.
ARGS: DWELL STORE FOLDER [HOSTS [TRINO]]: the templates (record.py), a folder that is made and
removed, 100 hosts of many.py, and where the tar of trino-server was unpacked. Needs duckdb and
pyspark, and for Trino a Java that it takes (25 for Trino 476) in JAVA_HOME_TRINO.

The declarations are those of docs/fleet.md. Numbers are compared as numbers, and no other difference
is allowed, in the order that each query asks for.
"""
import datetime
import decimal
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

import duckdb

import many
from common import DOCS, check, ended

PORT = 18950


def queries():
    return {path.stem: path.read_text().strip().rstrip(";") for path in sorted(DOCS.glob("*.sql"))
            if path.stem != "schema"}


def plain(value):
    """A value as all engines have it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return str(value)
    return int(value) if isinstance(value, float) and value == int(value) else value


def spark(lake):
    from pyspark.sql import SparkSession
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false") \
        .config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "3g") \
        .config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for table in lake.iterdir():
        session.read.option("mergeSchema", "true").parquet(str(table)).createOrReplaceTempView(table.name)
    found = {name: [tuple(row) for row in session.sql(sql).collect()] for name, sql in queries().items()}
    version = session.version
    session.stop()
    return version, found


class Trino:
    """A server of one node; its catalogue has the tables of the lake, and is a file beside it."""

    def __init__(self, home, folder, lake):
        self.folder, self.lake, etc = folder, lake, folder / "etc"
        (etc / "catalog").mkdir(parents=True)
        (etc / "node.properties").write_text(
            f"node.environment=test\nnode.id=one\nnode.data-dir={folder}/data\n")
        (etc / "config.properties").write_text(
            f"coordinator=true\nnode-scheduler.include-coordinator=true\n"
            f"http-server.http.port={PORT}\nnode.bind-ip=127.0.0.1\n"
            f"node.internal-address=127.0.0.1\ndiscovery.uri=http://127.0.0.1:{PORT}\n"
            "catalog.management=static\n")
        (etc / "jvm.config").write_text("-Xmx3G\n-XX:+UseG1GC\n")
        (etc / "log.properties").write_text("io.trino=WARN\n")
        (etc / "catalog" / "hive.properties").write_text(
            f"connector.name=hive\nhive.metastore=file\nhive.metastore.catalog.dir=local:///metastore\n"
            f"fs.native-local.enabled=true\nlocal.location={folder}\n"
            "hive.non-managed-table-writes-enabled=true\n")
        java = os.environ.get("JAVA_HOME_TRINO", "/usr/lib/jvm/temurin-25-jdk-amd64")
        environment = {**os.environ, "JAVA_HOME": java, "PATH": f"{java}/bin:{os.environ['PATH']}"}
        self.log = open(folder / "trino.log", "wb")
        self.process = subprocess.Popen(
            [f"{home}/bin/launcher", "run", f"--etc-dir={etc}"], env=environment, stdout=self.log,
            stderr=self.log, start_new_session=True)

    def sql(self, sql):
        """Rows of a statement."""
        headers = {"X-Trino-User": "fleet", "X-Trino-Catalog": "hive", "X-Trino-Schema": "dwell",
                   "X-Trino-Time-Zone": "UTC"}
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/statement", sql.encode(), headers)
        rows = []
        while True:
            answer = json.load(urllib.request.urlopen(request, timeout=300))
            if "error" in answer:
                raise RuntimeError(answer["error"]["message"])
            rows += map(tuple, answer.get("data", []))
            if "nextUri" not in answer:
                return rows
            request = urllib.request.Request(answer["nextUri"], headers=headers)

    def ready(self):
        for _ in range(240):
            if self.process.poll() is not None:
                break
            try:
                return self.sql("SELECT node_version FROM system.runtime.nodes")[0][0]
            except (OSError, RuntimeError, ValueError, IndexError):
                time.sleep(1)
        raise TimeoutError("Trino does not start")

    def declare(self):
        """Tables as schema.sql has them, in the way that docs/fleet.md says."""
        con = duckdb.connect()
        con.execute((DOCS / "schema.sql").read_text())
        self.sql("CREATE SCHEMA hive.dwell")
        for table in self.lake.iterdir():
            columns = con.execute(f"DESCRIBE {table.name}").fetchall()
            of = ", ".join(f"{name} {kind}" for name, kind, *_ in columns)
            self.sql(f"CREATE TABLE hive.dwell.{table.name} ({of}) WITH (format = 'PARQUET', "
                     f"external_location = 'local:///{self.lake.name}/{table.name}', "
                     "partitioned_by = ARRAY['day'])")
            self.sql(f"CALL hive.system.sync_partition_metadata('dwell', '{table.name}', 'ADD')")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 15)
        self.process.wait()
        self.log.close()


def trino(home, folder, lake):
    server = Trino(home, folder, lake)
    try:
        version = server.ready()
        server.declare()
        return version, {name: server.sql(sql) for name, sql in queries().items()}
    except Exception:
        print((folder / "trino.log").read_text(errors="replace")[-1500:])
        raise
    finally:
        server.stop()


def compare(engine, version, found, wanted):
    same = 0
    for name, rows in wanted.items():
        rows = [tuple(map(plain, row)) for row in rows]
        theirs = [tuple(map(plain, row)) for row in found[name]]
        same += rows == theirs
        if rows != theirs:
            differ = [pair for pair in zip(rows, theirs) if pair[0] != pair[1]][:2]
            check(f"{engine}, {name}", False, f"{len(rows)} and {len(theirs)} rows: {differ}")
    total = sum(map(len, wanted.values()))
    check(f"{engine} {version} gives the rows of DuckDB {duckdb.__version__}", same == len(wanted),
          f"{same} of {len(wanted)} queries, {total} rows")


def main():
    dwell, store, folder = sys.argv[1:4]
    hosts = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    folder = pathlib.Path(folder)
    folder.mkdir()
    try:
        con = duckdb.connect()
        many.template(dwell, store, folder, con)
        lake = folder / "lake"
        many.make(con, lake, hosts)
        con = many.connected(lake)
        wanted = {name: con.execute(sql).fetchall() for name, sql in queries().items()}
        check("no query is without rows but not-closed",
              [name for name, rows in wanted.items() if not rows] == ["not-closed"])
        compare("Spark", *spark(lake), wanted)
        if len(sys.argv) > 5:
            compare("Trino", *trino(sys.argv[5], folder, lake), wanted)
    finally:
        shutil.rmtree(folder)
    ended()


if __name__ == "__main__":
    main()
