-- A session that updates a row again and again, and commits after half a second.
create table t (v int);
insert into t values (1);
\! touch held
do $$ begin
    loop
        update t set v = 2;
        perform pg_sleep(0.5);
        commit;
    end loop;
end $$;
