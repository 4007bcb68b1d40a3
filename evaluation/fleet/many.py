"""Makes 30 days of a fleet from results of this machine, and asks it every query of docs/fleet.
ARGS: DWELL STORE FOLDER [HOSTS...], of which the first two give the templates (record.py); the
third is made and removed, and takes 0.2 MB a host. HOSTS: 100 1000 10000. Needs duckdb.

A host has a window a day, a run and a measurement of wake-ups a week, a ladder; 2,000 comparisons
a day are of a CI of all (fewer where there are fewer hosts). Each result is a real one with another
number, time, host, machine, kernel and service. Times and counts get a noise of 10 %, accounts sum
as before, and a measurement of wake-ups lasts one to three times as long. Wake-ups later than
0.24 ms were taken out of the templates, and four things are planted: late hosts, hosts that got
worse with a kernel, silent hosts, and hosts with a slow level. Each table of a day is one file, as
docs/fleet.md says under Compacting.
"""
import pathlib
import shutil
import subprocess
import sys
import time

import duckdb

from common import DOCS, check, ended, environment

DAYS, FIRST = 30, "2026-11-01"
KERNELS = "['6.1.0-41', '6.12.57', '6.17.8']"
SERVICES = "['db.service', 'web.service', 'api.service', 'queue.service', 'search.service']"
# Of the numbers of hosts: who is planted. Hosts with an odd number get another kernel on day 15.
LATE, WORSE, SILENT, APART = "h % 71 = 3", "h % 16 = 5", "h % 97 = 11", "h % 96 = 17"
# The plan: a row is a result, made of a template. `z` is between 0 and 1, by result.
PLAN = f"""
CREATE TABLE plan AS
WITH hosts AS (SELECT h FROM range(getvariable('hosts')) r(h)),
kinds AS (SELECT verb, list(result_id ORDER BY result_id) AS templates FROM t.results GROUP BY verb),
made AS (
  SELECT h, d, 'attach' AS verb, h AS pick FROM hosts, range({DAYS}) r(d)
  UNION ALL SELECT h, d, verb, CASE WHEN verb = 'run' THEN h + d ELSE h END
    FROM hosts, range({DAYS}) r(d), (VALUES ('wake', 0), ('run', 3)) v(verb, later) WHERE d % 7 = (h + later) % 7
  UNION ALL SELECT h, h % 20, 'ladder', h FROM hosts
  UNION ALL SELECT 5 * n, d, 'compare', n
    FROM range(CAST(getvariable('hosts') / 5 AS BIGINT)) r(n), range({DAYS}) s(d)
)
SELECT md5(concat_ws('/', verb, h, d)) AS id, hash(verb, h, d) % 1000 / 1e3 AS z, verb, h, d,
  templates[1 + pick % len(templates)] AS template, 'host-' || lpad(h::VARCHAR, 5, '0') AS new_host,
  substr(md5('machine' || h), 1, 16) AS new_machine,
  {KERNELS}[CASE WHEN h % 2 = 1 AND d >= 15 THEN 2 + (h // 2) % 2 ELSE 1 + (h // 2) % 2 END] AS new_kernel,
  {SERVICES}[1 + h % 5] AS new_service,
  TIMESTAMP '{FIRST} 00:00:00' + to_days(d::INT) + to_seconds(hash(h, d) % 86000) AS moment
FROM made JOIN kinds USING (verb) WHERE NOT ({SILENT} AND d >= {DAYS} - 4)
"""
# Which columns of a table are times or counts, and so get noise: 0.9 to 1.1 of what they were.
NOISE = "(0.95 + 0.1 * z + 0.05 * (hash(p.id, s.rowid) % 100) / 1e2)"
NOISY = {
    "account": ["ns", "lo_ns", "hi_ns"], "places": ["ns"],
    "waits": ["total_ns", "path_ns", "p50_ns", "p99_ns", "max_ns", "calls"], "wait_bins": ["n"],
    "requests": ["times"], "request_bins": ["n"], "connections": ["times"],
    "rungs": ["median_ns"], "compare_runs": ["wall_ns"], "spike_parts": ["ns"],
    "findings": ["saving_lo_ns", "saving_hi_ns"], "comparisons": ["ratio"],
}
# What is planted, and how much longer wake-ups are measured: factors by table and column.
SLOWER, LONGER = f"CASE WHEN {WORSE} AND d >= 15 THEN 4 ELSE 1 END", "(1 + hash(p.id) % 3)"
FACTORS = {
    ("rungs", "median_ns"): f"CASE WHEN {APART} AND rung = 'dram' THEN 20 ELSE 1 END",
    ("wake_bins", "lo_ns"): SLOWER, ("wake_bins", "hi_ns"): SLOWER, ("wakes", "p999_ns"): SLOWER,
    ("wake_bins", "n"): LONGER, ("wakes", "cycles"): LONGER,
}
COMMON = {"result_id": "p.id", "started_at": "moment", "host": "new_host", "machine": "new_machine",
          "kernel": "new_kernel"}


def template(dwell, store, folder, con):
    """Tables of the recorded results: `t`. Returns bytes a result as rows and as Parquet."""
    sizes = {}
    for form in ("rows", "parquet"):
        lake = folder / form
        subprocess.run([dwell, "export", "--as", form, str(lake)], env=environment(store), check=True)
        sizes[form] = [sum(path.stat().st_size for path in lake.glob(f"*/*/{one.stem.split('.')[0]}.*"))
                       for one in sorted(lake.glob("results/*/*"))]
    con.execute("ATTACH ':memory:' AS t; SET TimeZone = 'UTC'")
    for path in sorted((folder / "parquet").iterdir()):
        con.execute(f"CREATE TABLE t.{path.name} AS SELECT * EXCLUDE (day) FROM read_parquet("
                    f"'{path}/*/*.parquet', union_by_name = true)")
    # Four times that is not late. What the rows of a measurement say of all follows.
    con.execute("""DELETE FROM t.wake_bins WHERE lo_ns >= 240000;
        UPDATE t.wakes w SET cycles = b.cycles, p999_ns = b.p999_ns FROM (
          SELECT result_id, max(up_to) AS cycles, min(hi_ns - 1) FILTER (1000 * up_to >= 999 * wakeups)
            AS p999_ns FROM (SELECT *, sum(n) OVER (PARTITION BY result_id ORDER BY hi_ns) AS up_to,
              sum(n) OVER (PARTITION BY result_id) AS wakeups FROM t.wake_bins WHERE cpu = -1)
          GROUP BY result_id) b WHERE b.result_id = w.result_id AND w.cpu = -1""")
    return {form: sum(of) / len(of) for form, of in sizes.items()}


def copied(table, con):
    """The SELECT that makes rows of `table` of all results of a day."""
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE t.{table}").fetchall()}
    parts = []
    for name in types:
        expression = COMMON.get(name, f"s.{name}")
        if name == "service":
            expression = "CASE WHEN p.verb = 'attach' THEN new_service ELSE s.service END"
        elif (table, name) in FACTORS or name in NOISY.get(table, []):
            factor = FACTORS.get((table, name), NOISE)
            expression = f"CAST({expression} * {factor} AS {types[name]})"
            if name in ("n", "calls", "times"):
                # What was there stays.
                expression = f"greatest({expression}, 1)"
        elif table == "results" and name in ("wall_ns", "thread_ns"):
            verb = "run" if name == "wall_ns" else "attach"
            expression = f"CASE WHEN p.verb = '{verb}' THEN w.ns ELSE s.{name} END"
        parts.append(f"{expression} AS {name}")
    whole = ""
    if table == "results":
        noisy = f"CAST(s.ns * {NOISE} AS BIGINT)"
        whole = f"""LEFT JOIN (SELECT p.id, SUM({noisy})::BIGINT AS ns FROM plan p JOIN t.account s
                    ON s.result_id = p.template WHERE p.d = $day GROUP BY p.id) w ON w.id = p.id"""
    late = ""
    if table == "wake_bins":
        # The latest wake-up of a late host.
        own = ", ".join({"lo_ns": "2998272::BIGINT AS lo_ns", "hi_ns": "3014656::BIGINT AS hi_ns",
                         "n": "1::BIGINT AS n", "cpu": "-1::INT AS cpu"}.get(
                             name, f"{COMMON.get(name, 'NULL')} AS {name}") for name in types)
        late = f" UNION ALL SELECT {own} FROM plan p WHERE p.d = $day AND p.verb = 'wake' AND {LATE}"
    return f"SELECT {', '.join(parts)} FROM plan p JOIN t.{table} s ON s.result_id = p.template " \
           f"{whole} WHERE p.d = $day{late}"


def make(con, lake, hosts):
    con.execute(f"SET VARIABLE hosts = {hosts}; DROP TABLE IF EXISTS plan; {PLAN}")
    tables = [row[0] for row in con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 't'").fetchall()]
    for table in tables:
        sql = copied(table, con)
        for day in range(DAYS):
            date = con.execute(f"SELECT (DATE '{FIRST}' + {day})::VARCHAR").fetchone()[0]
            place = lake / table / f"day={date}"
            place.mkdir(parents=True)
            con.execute(f"COPY ({sql.replace('$day', str(day))}) TO '{place}/all.parquet' "
                        "(FORMAT parquet, COMPRESSION zstd)")


def connected(lake):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    for table in lake.iterdir():
        con.execute(f"""CREATE VIEW {table.name} AS SELECT * FROM read_parquet(
            '{table}/*/*.parquet', hive_partitioning = true, hive_types = {{day: DATE}},
            union_by_name = true)""")
    return con


def ask(lake):
    """CPU seconds and rows of each query."""
    found, con = {}, connected(lake)
    for path in sorted(DOCS.glob("*.sql")):
        if path.stem == "schema":
            continue
        began = time.process_time()
        asked = con.execute(path.read_text())
        names = [column[0] for column in asked.description]
        rows = [dict(zip(names, row)) for row in asked.fetchall()]
        found[path.stem] = (time.process_time() - began, rows)
    return found


def judge(found, con, hosts):
    """Whether what was planted was found, and nothing else."""
    def planted(where, more="true"):
        sql = f"SELECT DISTINCT new_host FROM plan WHERE {where} AND {more}"
        return {row[0] for row in con.execute(sql).fetchall()}
    for query, where in {
        "late-hosts": planted(LATE, "verb = 'wake'"),
        "worse-with-kernel": planted(WORSE),
        "silent-hosts": planted(SILENT),
        "ladders-apart": planted(APART, "verb = 'ladder'"),
    }.items():
        there = {row["host"] for row in found[query][1]}
        check(f"{hosts} hosts, {query}", there == where,
              f"{len(there & where)} of {len(where)} planted, {len(there - where)} others")
    check(f"{hosts} hosts, not-closed", not found["not-closed"][1], len(found["not-closed"][1]))


def main():
    dwell, store, folder = sys.argv[1:4]
    folder = pathlib.Path(folder)
    folder.mkdir()
    try:
        con = duckdb.connect()
        con.execute(f"SET temp_directory = '{folder}/temp'; SET memory_limit = '6GB'")
        a_result = template(dwell, store, folder, con)
        print(f"      a result of the templates: {a_result['rows']:.0f} B of rows, "
              f"{a_result['parquet']:.0f} B of Parquet")
        for hosts in [int(word) for word in sys.argv[4:]] or [100, 1000, 10000]:
            lake = folder / "lake"
            make(con, lake, hosts)
            results = con.execute("SELECT count(*) FROM plan").fetchone()[0]
            size = sum(path.stat().st_size for path in lake.glob("*/*/*"))
            print(f"{hosts} hosts: {results} results, {size / 1e6:.1f} MB, {size / results:.0f} B a result")
            found = ask(lake)
            for query, (seconds, rows) in found.items():
                print(f"      {query}: {seconds:.2f} CPU s, {len(rows)} rows")
            seconds = sum(of[0] for of in found.values())
            check(f"{hosts} hosts, all queries take 12 CPU s at most", seconds <= 12, f"{seconds:.2f}")
            judge(found, con, hosts)
            counts = ", ".join(
                f"{table.name} {connected(lake).execute(f'SELECT count(*) FROM {table.name}').fetchone()[0]}"
                for table in sorted(lake.iterdir()))
            print("      rows:", counts)
            shutil.rmtree(lake)
    finally:
        shutil.rmtree(folder)
    ended()


if __name__ == "__main__":
    main()
