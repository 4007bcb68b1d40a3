-- What the session of process :pid waits for and for whom, ten times a second.
select 'wait ' || coalesce(wait_event_type, 'none') || chr(10) ||
       'holder ' || array_to_string(pg_blocking_pids(:pid), ' ')
from pg_stat_activity where pid = :pid
\watch 0.1
