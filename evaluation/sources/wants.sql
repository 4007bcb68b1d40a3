-- A session that wants the same row all the time, and says which process serves it.
\o pid
select pg_backend_pid();
\o
do $$ begin
    loop
        update t set v = 3;
        commit;
    end loop;
end $$;
