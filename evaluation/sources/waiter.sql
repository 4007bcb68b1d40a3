-- A session that wants the same row, and says which process serves it.
\o pid
select pg_backend_pid();
\o
update t set v = 3;
