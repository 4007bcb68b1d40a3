# Stores 70 log entries.
import os, sqlite3, sys
for f in ("log.db", "log.db-journal"):
    if os.path.exists(f):
        os.unlink(f)
db = sqlite3.connect("log.db", isolation_level=None)
db.execute("create table entry (at int, level int, message text)")
if sys.argv[1] == "all":
    db.execute("begin")
for i in range(70):
    db.execute("insert into entry values (?, ?, ?)", (i, i % 5, f"message {i}"))
if sys.argv[1] == "all":
    db.execute("commit")
print(db.execute("select count(*), sum(at) from entry").fetchone())
