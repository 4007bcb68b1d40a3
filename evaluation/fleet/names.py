"""Odd names in every field of results, read back through DuckDB. ARGS: DWELL STORE (of record.py);
root; needs duckdb.

Of each kind of result every text that is a name (one that may be anything, and reaches a table)
becomes a word that nothing else has, with an odd name behind it. The tables, as Parquet, as rows and
as pushed, must have the same rows as before, with the name in each place: as it was given, cut to
4,096 bytes, with the characters escaped that a terminal obeys. An empty text may be NULL. Then a
program with odd arguments, files and threads runs. Two minutes.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unicodedata

import duckdb

from common import DOCS, check, ended, keep, kept, run

NAMES = {
    "NUL": "a\0b", "ESC": "\x1b[2J\x1b]0;title\x07", "two directions": "\u202etxt.exe\u2066",
    "SQL": "'; DROP TABLE results; --", "formula": "=cmd|' /C calc'!A0", "path": "../../etc/passwd",
    "quotes": "\"\\',;\t\r\n{}", "100 KB": "é" * 50000, "markup": "<script>alert(1)</script>&amp;",
    "a byte that is no UTF-8": "caf\ufffd", "empty": "",
}
WORD = re.compile(r"qq\d{5}[qp]q")
# Not shown as they are given: a service is the name of the program, made from the command.
MADE = {"service"}


def leaves(value, path=()):
    """Each text of a result, with its path and the path without numbers."""
    if isinstance(value, dict):
        for name, of in value.items():
            yield from leaves(of, (*path, name))
    elif isinstance(value, list):
        for at, of in enumerate(value):
            yield from leaves(of, (*path, at))
    elif isinstance(value, str):
        yield path, tuple(part for part in path if isinstance(part, str)), value


def replaced(result, paths, name, each=1):
    """A copy in which the text at each path is a word of its own, every so many with the name."""
    result = json.loads(json.dumps(result))
    for number, path in enumerate(paths):
        within = result
        for part in path[:-1]:
            within = within[part]
        word = f"qq{number:05}{'q' if number % each == 0 else 'p'}q"
        within[path[-1]] = word + name if word.endswith("qq") else word
    return result


def tables(lake, form):
    """The rows of all tables, without their numbers: (table, column, value) by row."""
    con = duckdb.connect()
    con.execute((DOCS / "schema.sql").read_text())
    found = {}
    for path in sorted(lake.iterdir()):
        columns = {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {path.name}").fetchall()
                   if name != "day"}
        files = f"{path}/*/*"
        read = f"read_parquet('{files}')" if form == "parquet" else \
            f"read_json('{files}', format = 'newline_delimited', columns = {columns!r})"
        rows = con.execute(f"SELECT {', '.join(columns)} FROM {read}").fetchall()
        skip = list(columns).index("result_id")
        found[path.name] = [[(name, value) for at, (name, value) in enumerate(zip(columns, row)) if at != skip
                             and name not in ("kept_at", *MADE)] for row in rows]
    return found


def exported(dwell, result, folder, form):
    """The tables of one result: exported, or kept and pushed."""
    folder.mkdir()
    lake, file, store = folder / "lake", folder / "result.json", folder / "results.sqlite"
    file.write_text(json.dumps({**result, "id": None}))
    if form == "pushed":
        shutil.copy2(folder.parent / "empty.sqlite", store)
        keep(store, result)
        done = run([dwell, "push", str(lake)], store)
    else:
        words = [dwell, "export", str(file), "--as", form, "--detail", "--no-store", str(lake)]
        done = run(words, store)
    return tables(lake, form) if done.returncode == 0 and lake.exists() else done.stderr


def shown(text, name):
    """What a column has for a text in which each word has a name behind it."""
    raw = WORD.sub(lambda word: word[0] + name if word[0].endswith("qq") else word[0], text)
    cut = raw.encode()[:4096].decode(errors="ignore")
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    def one(char):
        if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp"):
            return known.get(char, f"\\x{ord(char):02x}" if char < "\u0100" else f"\\u{{{ord(char):x}}}")
        return char
    return "".join(map(one, cut)) + ("…" if len(cut) < len(raw) else "")


def of_kind(dwell, result, folder):
    """Odd names in all fields of a result that are names."""
    verb = result["schema"][6:].split("/")[0]
    patterns = {}
    for path, pattern, _ in leaves(result):
        patterns.setdefault(pattern, []).append(path)
    named, before = [], {}
    for at, (pattern, paths) in enumerate(patterns.items()):
        odd = replaced(result, paths, NAMES["quotes"])
        found = exported(dwell, odd, folder / f"{verb}{at}", "rows")
        if isinstance(found, dict) and any(WORD.search(str(value)) for rows in found.values()
                                           for row in rows for _, value in row):
            named += paths
    for what, name in NAMES.items():
        off, cells = [], 0
        # A file of results may have 256 MiB.
        each = 1 + len(named) * len(name) // 20_000_000
        odd = replaced(result, named, name, each) if name else emptied(result, named)
        for form in ("parquet", "rows", "pushed"):
            place = folder / f"{verb}-{each}-{form}"
            if place not in before:
                before[place] = exported(dwell, replaced(result, named, "", each), place, form)
            plain = before[place]
            after = exported(dwell, odd, folder / f"{verb}-{what}-{form}", form)
            if isinstance(after, str) or plain.keys() != after.keys():
                off.append((form, after if isinstance(after, str) else plain.keys() ^ after.keys()))
                continue
            for table, rows in plain.items():
                if len(rows) != len(after[table]):
                    off.append((form, table, len(rows), len(after[table])))
                for row, odd_row in zip(rows, after[table]):
                    for (column, value), (_, there) in zip(row, odd_row):
                        wanted = value
                        if isinstance(value, str) and WORD.search(value):
                            wanted, cells = shown(value, name) if name else WORD.sub("", value), cells + 1
                        # Without a name of a call it is a page fault.
                        if there != wanted and (wanted, there) not in (("", None), ("", "fault")):
                            off.append((form, table, column, str(wanted)[:90], str(there)[:90]))
        check(f"{verb}, {what}", not off, f"{len(named)} texts, {cells} values of tables {off[:3] or ''}")


def emptied(result, paths):
    return json.loads(WORD.sub("", json.dumps(replaced(result, paths, ""))))


PROGRAM = r"""
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
for name in [os.fsencode(word) for word in sys.argv[1:]]:
    def work(name=name):
        libc.prctl(15, name[:15], 0, 0, 0)
        file = name.replace(b"/", b"|")[:200] or b"empty"
        with open(file, "wb") as out:
            for _ in range(8):
                out.write(b"x" * 4096); out.flush(); os.fsync(out.fileno())
        time.sleep(0.02)
    thread = threading.Thread(target=work); thread.start(); thread.join()
"""


def of_program(dwell, folder):
    """Names that the system takes: no NUL, and bytes that are no UTF-8."""
    given = [os.fsencode(name.replace("\0", "")) for name in NAMES.values() if name != NAMES["100 KB"]]
    given += [b"lone\xff", b"x" * 100000]
    store, lake = folder / "own.sqlite", folder / "own"
    done = run([dwell, "run", "-q", sys.executable, "-c", PROGRAM, *given], store, cwd=folder)
    check("a program with odd arguments, files and threads is measured", done.returncode == 0, done.stderr[:200])
    done = run([dwell, "push", "--detail", str(lake)], store)
    found = tables(lake, "rows")
    texts = [value for rows in found.values() for row in rows for _, value in row if isinstance(value, str)]
    bad = [text for text in texts for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")]
    check("and is sent, without a character that a terminal obeys", done.returncode == 0 and not bad,
          f"{len(texts)} texts of {len(found)} tables")
    files = " ".join(texts)
    for name in given[:-1]:
        file = shown(name.replace(b"/", b"|").decode(errors="replace")[:200] or "empty", "")
        check(f"its file {file!r} is there", file in files)


def main():
    dwell, store = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run([dwell, "run", "-q", "true"], folder / "empty.sqlite")
        run([dwell, "rm", "last"], folder / "empty.sqlite")
        smallest = {}
        for result in sorted(kept(dwell, store), key=lambda result: -len(json.dumps(result))):
            smallest[result["schema"]] = result
        for result in smallest.values():
            of_kind(dwell, result, folder)
        of_program(dwell, folder)
    ended()


if __name__ == "__main__":
    main()
