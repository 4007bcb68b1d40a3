# Two databases of 40,000 headers, one with an index, and 250 questions.
for db in plain index; do
    sqlite3 $db.db "create table h (height int, hash text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
        insert into h select i, hex(i * 7919) from n;"
done
sqlite3 index.db "create index by_hash on h (hash);"
i=0
while [ $i -lt 250 ]; do
    echo "select height from h where hash = hex($i * 100 * 7919);"
    i=$((i + 1))
done > ask.sql
