# The statements: one transaction for each row, and one for all.
rows() {
    i=0
    while [ $i -lt 70 ]; do echo "insert into v values ('word$i', '0.$i 0.1 0.2');"; i=$((i + 1)); done
}
{ echo "create table v (word text, v text);"; rows; echo "select count(*) from v;"; } > each.sql
{ echo "create table v (word text, v text); begin;"; rows; echo "commit; select count(*) from v;"; } > all.sql
