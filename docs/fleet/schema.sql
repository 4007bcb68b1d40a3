-- Tables of results. Columns and tables are added; none is renamed, removed or of another type.
-- All columns may be NULL; `unseen` says why, where something could not be observed.

-- One row: a result.
CREATE TABLE results (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  verb VARCHAR, -- run, attach, wake, ladder or compare
  schema VARCHAR, -- The schema of its JSON
  dwell VARCHAR, -- The version of dwell that measured
  rows_version INT, -- The version of these tables: 1
  command VARCHAR, -- What was run or measured, as typed. Not with --redact.
  note VARCHAR, -- What was written beside it in the store. Not with --redact.
  arch VARCHAR, -- x86_64, aarch64
  cpus INT, -- CPUs online
  memory_bytes BIGINT, -- Physical memory
  virtualisation VARCHAR, -- The hypervisor, emulator or container runtime
  kept_at TIMESTAMP, -- When it was kept in a store, UTC
  wall_ns BIGINT, -- The wall clock; of wake, ladder and compare how long measuring took
  user_ns BIGINT, -- User time of all threads
  kernel_ns BIGINT, -- CPU time in the kernel of all threads
  thread_ns BIGINT, -- What the account of a window sums to
  class VARCHAR, -- cpu, kernel, io, mixed, idle or starved
  resource VARCHAR, -- The state that leads in that class
  margin_points DOUBLE, -- Percentage points to the next kind of time
  verdict VARCHAR, -- Of wake with a deadline: pass, fail or undecided; of compare the verdicts
  first_finding VARCHAR, -- The cause that saves most
  tier VARCHAR, -- Where the evidence is from: bpf, perf or proc
  lost_events BIGINT, -- Events that the kernel could not deliver
  unexplained_ns BIGINT, -- Time without evidence
  overhead_lo_ns BIGINT, -- What the instruments cost the program at least
  overhead_hi_ns BIGINT, -- The same at most
  host_busy DOUBLE, -- CPU time of other programs by the capacity of all CPUs, 0 to 1
  steal_ns BIGINT, -- CPU time that the hypervisor took
  interrupted BOOLEAN, -- Whether it ended early
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a state of a run or window. They sum to results.wall_ns (run) or thread_ns (attach).
CREATE TABLE account (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  state VARCHAR, -- user, kernel, disk, network, lock and so on
  ns BIGINT, -- Time in it
  basis VARCHAR, -- measured, sampled or derived
  lo_ns BIGINT, -- Low end of its 95 % interval
  hi_ns BIGINT, -- High end
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a place of a run's or window's time in its own code. They sum as `account` does.
CREATE TABLE places (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  process VARCHAR, -- The name of the process. Not with --redact.
  code VARCHAR, -- The function. Not with --redact.
  file VARCHAR, -- The file that it is in. Not with --redact.
  line INT, -- The line
  state VARCHAR, -- What it did
  reason VARCHAR, -- The call, what was waited for, or what ran instead. Not with --redact.
  ns BIGINT, -- Time
  times BIGINT, -- How often it began
  sampled BOOLEAN, -- Whether functions were told apart by samples
  together INT, -- How many places the row stands for, where these are several: without --detail those of a state that have less than a hundredth of the time
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a kind of wait, over all threads.
CREATE TABLE waits (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  state VARCHAR, -- disk, network, lock, pipe, sleep, idle, other-wait or unexplained
  call VARCHAR, -- The system call; `fault` of a page fault
  target_kind VARCHAR, -- file, tcp, futex, timer and so on
  target VARCHAR, -- The file, peer or lock. Not with --redact.
  calls BIGINT, -- Number of waits
  total_ns BIGINT, -- Time in them, summed over threads
  path_ns BIGINT, -- Of that what is in the account
  p50_ns BIGINT, -- Median
  p99_ns BIGINT, -- 99th percentile
  max_ns BIGINT, -- The longest
  device VARCHAR, -- Disk: its name, or what the file system is mounted from. Not with --redact.
  requests BIGINT, -- Disk: requests that ended such waits
  queue_ns BIGINT, -- Time of those requests before the driver had them
  device_ns BIGINT, -- Time of those requests with the device
  together INT, -- How many kinds of waits the row stands for, where these are several
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: waits whose length is lo_ns or more and less than hi_ns; 8 bins an octave, of older results one.
CREATE TABLE wait_bins (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  wait INT, -- waits.row_number
  state VARCHAR, -- waits.state
  target_kind VARCHAR, -- waits.target_kind
  lo_ns BIGINT, -- The shortest
  hi_ns BIGINT, -- The first length beyond
  n BIGINT, -- How many
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: the requests of a run or window of a server.
CREATE TABLE requests (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  times BIGINT, -- Requests that came in and were answered
  began_before BIGINT, -- Requests from before the window, or not seen to come in; in no other figure
  under_way BIGINT, -- Requests not answered at the end
  abandoned BIGINT, -- Requests whose connection ended before there was an answer
  mean_ns BIGINT, -- Mean latency
  p50_ns BIGINT, -- Median
  p90_ns BIGINT, -- 90th percentile
  p99_ns BIGINT, -- 99th percentile
  max_ns BIGINT, -- The longest
  typical BIGINT, -- Typical requests: the middle of the distribution
  slow BIGINT, -- Slow requests: the slowest 1 %, and five at least
  left_out BIGINT, -- Requests that began and were counted only: the figures are of a random sample then
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: requests whose latency is lo_ns or more and less than hi_ns; 128 bins an octave.
CREATE TABLE request_bins (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  lo_ns BIGINT, -- The shortest
  hi_ns BIGINT, -- The first latency beyond
  n BIGINT, -- How many
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a part of the time of requests. Each column of means sums to the mean of its requests.
CREATE TABLE request_parts (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0; what slow ones have more comes first
  part VARCHAR, -- unread, other-request, no-thread, on-cpu, peer, rest, or a state of a thread
  call VARCHAR, -- The system call of a wait
  target_kind VARCHAR, -- What a wait was for: file, tcp, futex, timer and so on
  target VARCHAR, -- The file, peer or lock. Not with --redact.
  place VARCHAR, -- The function and line, of slow requests. Not with --redact.
  mean_ns BIGINT, -- Mean over all requests
  typical_ns BIGINT, -- Mean over typical ones
  slow_ns BIGINT, -- Mean over slow ones
  p99_without_ns BIGINT, -- The 99th percentile without it
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: the requests of a server that ask for the same.
CREATE TABLE request_kinds (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0; those with most time in all come first
  kind VARCHAR, -- Method and path, or a command, without what names an object. Not with --redact.
  times BIGINT, -- Requests that were answered
  slow BIGINT, -- How many of the slow requests are of this kind
  mean_ns BIGINT, -- Mean latency
  p50_ns BIGINT, -- Median
  p99_ns BIGINT, -- 99th percentile
  max_ns BIGINT, -- The longest
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a cause that was found. Savings of one result are not summed: findings may be of one bottleneck.
CREATE TABLE findings (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0; what saves most comes first
  cause VARCHAR, -- Its name, as `dwell explain` has it
  share_lo DOUBLE, -- Least part of the account, 0 to 1
  share_hi DOUBLE, -- Largest part
  saving_lo_ns BIGINT, -- What the change saves at least
  saving_hi_ns BIGINT, -- At most
  saved VARCHAR, -- Of what: wall, cpu or waiting
  expected_ns BIGINT, -- The mean of what is expected
  structure_lo_ns BIGINT, -- What the structure of the run allows at least
  structure_hi_ns BIGINT, -- At most
  families BIGINT, -- Families of programs whose changes were measured
  belief DOUBLE, -- How likely this is what makes it slow, 0 to 1
  known VARCHAR, -- counted, bounded or assumed
  shared_with INT, -- The finding of the same result, by its row_number, that saves much of the same time
  shared_ns BIGINT, -- What both surely save, in part of saving_lo_ns
  place VARCHAR, -- What the program does, and where. Not with --redact.
  action VARCHAR, -- What to change. Not with --redact.
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: TCP connections with one peer that began in one way.
CREATE TABLE connections (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  protocol VARCHAR, -- tcp
  began VARCHAR, -- opened, accepted or found
  local VARCHAR, -- The address of this end. Not with --redact.
  remote VARCHAR, -- The address of the other end. Not with --redact.
  port_service VARCHAR, -- The usual service of the port
  times BIGINT, -- How many
  failed BIGINT, -- Of these never established
  connect_p50_ns BIGINT, -- Connecting: median
  connect_p99_ns BIGINT, -- Connecting: 99th percentile
  round_trip_ns BIGINT, -- Smoothed round trip at the end, the largest
  round_trip_min_ns BIGINT, -- The smallest round trip
  sent_bytes BIGINT, -- Payload sent
  received_bytes BIGINT, -- Payload received
  retransmits BIGINT, -- Segments sent again
  open_ns BIGINT, -- How long they were open, summed
  waited_ns BIGINT, -- How long threads waited on them, summed
  waits BIGINT, -- How often
  together INT, -- How many rows the row stands for, where these are several
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a CPU of a measurement of wake-ups; cpu -1 is all together.
CREATE TABLE wakes (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  cpu INT, -- The CPU; -1: all together
  cycles BIGINT, -- Wake-ups
  missed BIGINT, -- Wake-up times that passed while the thread was late
  min_ns BIGINT, -- The smallest latency
  avg_ns BIGINT, -- The mean
  p50_ns BIGINT, -- Median
  p99_ns BIGINT, -- 99th percentile
  p999_ns BIGINT, -- 99.9th percentile
  p9999_ns BIGINT, -- 99.99th percentile
  p99999_ns BIGINT, -- 99.999th percentile
  p999999_ns BIGINT, -- 99.9999th percentile
  max_ns BIGINT, -- The largest
  max_at_ns BIGINT, -- When that was due, from the start
  deadline_ns BIGINT, -- The deadline that was asked for
  late BIGINT, -- Wake-ups later than the deadline less its margin
  answer VARCHAR, -- pass, fail or undecided
  one_in_ns BIGINT, -- At most one late wake-up in this time, on one CPU
  loads VARCHAR, -- Stress loads meanwhile. Not with --redact.
  interval_ns BIGINT, -- Time from one wake-up to the next
  mode VARCHAR, -- timer or gap
  policy VARCHAR, -- Scheduling policy, with its parameter
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: wake-ups whose latency is lo_ns or more and less than hi_ns; 128 bins an octave.
CREATE TABLE wake_bins (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  cpu INT, -- The CPU; -1: all together
  lo_ns BIGINT, -- The smallest latency
  hi_ns BIGINT, -- The first latency beyond
  n BIGINT, -- How many
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a part of a late wake-up. The parts of a spike sum to latency_ns.
CREATE TABLE spike_parts (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  spike INT, -- The spike, from 0; the largest comes first
  cpu INT, -- Its CPU
  at_ns BIGINT, -- When it was due, from the start
  latency_ns BIGINT, -- Its latency
  cause VARCHAR, -- Kind of the part
  who VARCHAR, -- The task, interrupt, softirq or idle state. Not with --redact.
  ns BIGINT, -- Time of the part
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a rung of a ladder. Only equal method_version may be compared.
CREATE TABLE rungs (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  rung VARCHAR, -- Its name
  peer VARCHAR, -- The host that it is about, where one was given. Not with --redact.
  rung_group VARCHAR, -- core, memory, allocator, language, kernel, files or network
  method_version INT, -- The version of its method
  median_ns DOUBLE, -- Time of an operation
  lo_ns DOUBLE, -- Low end of the median's 95 % interval
  hi_ns DOUBLE, -- High end
  samples BIGINT, -- Number of samples
  bytes_per_s DOUBLE, -- Throughput of the same level
  plausible VARCHAR, -- plausible, doubtful or unknown
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a command compared with the first one.
CREATE TABLE comparisons (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  a VARCHAR, -- The first command. Not with --redact.
  b VARCHAR, -- The other one. Not with --redact.
  figure VARCHAR, -- wall, user, kernel, cpu, memory, faults or printed
  a_median DOUBLE, -- Median of the first: nanoseconds, bytes or a count, by the figure
  b_median DOUBLE, -- Median of the other one
  ratio DOUBLE, -- The other by the first
  ratio_lo DOUBLE, -- Low end of its interval
  ratio_hi DOUBLE, -- High end
  verdict VARCHAR, -- faster, slower, same or undecided: the other one
  pairs INT, -- Pairs that count
  margin DOUBLE, -- Relative differences up to this count as none
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a timed run of a comparison.
CREATE TABLE compare_runs (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  command INT, -- The command, from 0
  block INT, -- The block, in which each command ran once, from 0
  place INT, -- The place in the block, from 0
  wall_ns BIGINT, -- Wall clock
  user_ns BIGINT, -- User time
  kernel_ns BIGINT, -- CPU time in the kernel
  excluded VARCHAR, -- Why it does not count; NULL if it does. Not with --redact.
  counts BOOLEAN, -- Whether it counts: warm-up runs do not
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a source of evidence of a run or window.
CREATE TABLE coverage (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  source VARCHAR, -- What it observes
  seen VARCHAR, -- full, partial or none
  why VARCHAR, -- Why not all of it. Not with --redact.
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a NULL that could not be observed. A NULL that is not named here is nothing: there is no such thing.
CREATE TABLE unseen (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  table_name VARCHAR, -- The table
  column_name VARCHAR, -- The column; NULL: all of them, as the table has no rows
  row_number INT, -- The row among those of the result, from 0; NULL: all of them
  why VARCHAR, -- Why; with --redact only that it was taken out
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a tag that a result has in its store.
CREATE TABLE tags (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  tag VARCHAR, -- The tag
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a place of the critical path. They sum as `account` does. With --detail.
CREATE TABLE path (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  process VARCHAR, -- The name of the process. Not with --redact.
  state VARCHAR, -- What it did
  reason VARCHAR, -- The call, what was waited for, or what ran instead. Not with --redact.
  ns BIGINT, -- Time
  times BIGINT, -- How often it began
  together INT, -- How many places the row stands for, where these are several
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a function by time on a CPU. With --detail.
CREATE TABLE functions (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  function VARCHAR, -- Its name. Not with --redact.
  module VARCHAR, -- The file that has it. Not with --redact.
  mode VARCHAR, -- user or kernel
  share DOUBLE, -- Its part of the time on a CPU without callees, 0 to 1
  share_lo DOUBLE, -- Low end of the 95 % interval
  share_hi DOUBLE, -- High end
  total_share DOUBLE, -- With callees
  samples BIGINT, -- Samples in it
  own BOOLEAN, -- Whether it is the program's own code
  day DATE -- The directory: the day of started_at, UTC.
);

-- One row: a system call, over all threads. With --detail.
CREATE TABLE syscalls (
  result_id VARCHAR, -- The result: 32 hexadecimal digits
  started_at TIMESTAMP, -- When it started, UTC
  host VARCHAR, -- The name of the host
  machine VARCHAR, -- The machine: 16 hexadecimal digits; copies of one image have the same
  kernel VARCHAR, -- The kernel's release
  service VARCHAR, -- The unit, container, control group, port, script or program, without a PID
  row_number INT, -- The row among those of the result, from 0
  call VARCHAR, -- Its name
  calls BIGINT, -- Calls that returned
  errors BIGINT, -- Of these with an error
  total_ns BIGINT, -- Time from entry to return
  cpu_ns BIGINT, -- Of that on a CPU
  p50_ns BIGINT, -- Median
  p99_ns BIGINT, -- 99th percentile
  max_ns BIGINT, -- The longest
  day DATE -- The directory: the day of started_at, UTC.
);
