"""Runs queries on tables of results with DuckDB, and prints the rows of each as JSON.

fleet.py parquet|rows DIR SCHEMA QUERY...

SCHEMA declares the tables: a table without files is empty, and the files must have its columns, in
its order and of its types. A QUERY is a file, or SQL.
"""

import glob
import json
import os
import sys

import duckdb


def declared(schema):
    """The columns of each table."""
    con = duckdb.connect()
    con.execute(schema)
    names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    return {name: con.execute(f"DESCRIBE {name}").fetchall() for name in names}


def connect(form, lake, schema):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    tables = declared(schema)
    assert set(os.listdir(lake)) <= set(tables), "each directory is a table"
    for name, columns in tables.items():
        end = "parquet" if form == "parquet" else "jsonl.gz"
        files = glob.glob(f"{lake}/{name}/day=*/*.{end}")
        types = {column[0]: column[1] for column in columns}
        if not files:
            con.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {t}' for c, t in types.items())})")
            continue
        options = "hive_partitioning = true, hive_types = {day: DATE}"
        if form == "parquet":
            read = f"read_parquet({files!r}, {options})"
            # All files alike, and as declared; `day` is in the path.
            found = {}
            for row in con.execute(f"SELECT file_name, name, type, logical_type, repetition_type FROM parquet_schema({files!r}) WHERE type IS NOT NULL").fetchall():
                found.setdefault(row[0], []).append(row[1:])
            wanted = [physical(c, t) for c, t in types.items() if c != "day"]
            for file, has in found.items():
                assert has == wanted, f"{file} has {has}, not {wanted}"
        else:
            own = {column: kind for column, kind in types.items() if column != "day"}
            read = f"read_json({files!r}, format = 'newline_delimited', columns = {own!r}, {options})"
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM {read}")
    return con


def physical(name, kind):
    """How Parquet has a column: signed, nullable, and times in microseconds of UTC."""
    of = {
        "VARCHAR": ("BYTE_ARRAY", "StringType()"),
        "INTEGER": ("INT32", None),
        "BIGINT": ("INT64", None),
        "DOUBLE": ("DOUBLE", None),
        "BOOLEAN": ("BOOLEAN", None),
        "TIMESTAMP": ("INT64", None),
    }[kind]
    if kind == "TIMESTAMP":
        unit = "TimeUnit(MILLIS=<null>, MICROS=MicroSeconds(), NANOS=<null>)"
        of = ("INT64", f"TimestampType(isAdjustedToUTC=1, unit={unit})")
    return (name, *of, "OPTIONAL")


def main(form, lake, schema, *queries):
    with open(schema) as file:
        con = connect(form, lake, file.read())
    for query in queries:
        sql = query
        if query.endswith(".sql"):
            with open(query) as file:
                sql = file.read()
        asked = con.execute(sql)
        names = [column[0] for column in asked.description]
        rows = [dict(zip(names, row)) for row in asked.fetchall()]
        print(json.dumps([os.path.basename(query), rows], default=str))


main(*sys.argv[1:])
