-- A session that updates a row and does not commit.
create table t (v int);
insert into t values (1);
begin;
update t set v = 2;
\! touch held
select pg_sleep(60);
