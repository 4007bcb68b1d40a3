-- What the session of process :pid waits for, ten times a second.
select 'wait ' || coalesce(wait_event_type, 'none') from pg_stat_activity where pid = :pid
\watch 0.1
