# "init" makes a database and the statements; a number starts its server on that port.
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as() {
    if [ "$(id -u)" = 0 ]; then exec setpriv --reuid postgres --regid postgres --clear-groups "$@"; fi
    exec "$@"
}
if [ "$1" != init ]; then as "$bin/postgres" -D data -p "$1" -k "$PWD/data" -c fsync=on; fi
mkdir -p data
if [ "$(id -u)" = 0 ]; then chown postgres data; fi
(as "$bin/initdb" -D data -A trust -U postgres)
rows() { i=0; while [ $i -lt 650 ]; do echo "insert into t values ($i, 'row $i');"; i=$((i + 1)); done; }
made="create table if not exists t (id int, v text);"
{ echo "$made"; rows; } > each.sql
{ echo "$made begin;"; rows; echo "commit;"; } > all.sql
