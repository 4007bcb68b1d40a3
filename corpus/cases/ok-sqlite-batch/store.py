# Stores rows and reads some of them back.
import os, sqlite3
if os.path.exists("rows.db"):
    os.unlink("rows.db")
db = sqlite3.connect("rows.db")
db.execute("create table t (id integer primary key, name text, n int)")
with db:
    db.executemany("insert into t values (?, ?, ?)", ((i, f"row {i}", i % 101) for i in range(200000)))
    db.execute("create index by_n on t (n)")
print(db.execute("select count(*), sum(id) from t where n = 7").fetchone())
