/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The binary interface of the kernel half and user space.
 *
 * Made from `wire.rs` by `cargo xtask bpf`: changes are made there.
 */
#pragma once
#include "kernel.h"

/* The call of a thread that is in none. */
#define NO_CALL 0xffffffffu

/* The call for the time in which a thread dies. */
#define DYING 32767

/* The number for calls without their own entry. */
#define OTHER_CALL 32766

/* In the number of a call: from the 32-bit table. */
#define COMPAT 32768

/* Flags of a switch and of an `alive_record`. */
#define F_UNINTERRUPTIBLE 1

#define F_IO 2

/* Flag of a switch: nothing ran on the CPU before. */
#define F_WAS_IDLE 8

/* Flag of an exit: the last thread of its process. */
#define F_LAST 4

/* Flags of a connection. */
#define F_CLOSED 1

#define F_NO_DELAY 2

/* Flags of a path. */
#define PATH_CUT 1

#define PATH_DELETED 2

/* Flags of a file: it was opened with O_SYNC, O_DSYNC, O_DIRECT. */
#define FILE_SYNC 1

#define FILE_DSYNC 2

#define FILE_DIRECT 4

/*
 * Object of a switch: the thread's last PATH_GIVEN. Not a kernel address, and not aligned like
 * a futex.
 */
#define GIVEN_PATH 1

/* Queue time of a request: the kernel does not keep the time of creation. */
#define NOT_KEPT 0xffffffffffffffffull

/* The limit of distinct calls of a thread between two of its records. */
#define SLOTS 6

/* The longest name is 253 bytes. */
#define NAME_MAX 256

/* Return addresses that are read of a task that waits. */
#define CALLERS_MAX 16

/*
 * Bytes of a packet that are copied: the headers of IPv6, UDP and DNS, and the longest
 * question.
 */
#define PACKET_MAX 328

/* Bytes of a user stack that are copied: a power of two. */
#define USER_MAX 32768

/* Entries of a kernel stack that are copied. */
#define KERNEL_MAX 48

/* Registers that calls do not keep, on the architecture that has most of them. */
#define SCRATCH_MAX 19

/* Bytes of a local socket's name. */
#define SOCKET_NAME_MAX 108

/* Bytes of a request of which its kind is made. */
#define REQUEST_TEXT_MAX 128

/* Sockets that user space asks about at a time. */
#define ASKED 64

/* What a record is. */
enum kind {
	/* The root entered its execve. */
	K_START = 1,
	K_EXEC = 2,
	K_FORK = 3,
	K_EXIT = 4,
	K_SWITCH = 5,
	K_WAKE = 6,
	K_FLUSH = 7,
	K_SEND = 8,
	K_SAMPLE = 9,
	K_RENAME = 10,
	/* What an object number refers to from now on. */
	K_OBJECT = 11,
	/* For the next switch of this CPU: the previous task, and throttling. */
	K_RAN = 12,
	/* For the next switch of this CPU: the counters of the thread that dies. */
	K_DEAD = 13,
	/* For the next wake of this CPU: the socket that became ready. */
	K_READY = 14,
	/* What had this CPU while the thread waited for it that comes with the next switch. */
	K_OCCUPANT = 15,
	/* The largest resident set of a process whose last thread exits. */
	K_PEAK = 16,
	/* a: mapping_kind; a page fault of the sample. */
	K_FAULT = 17,
	/* a: path_kind; the path of a file. */
	K_PATH = 20,
	/* For the page fault in which the thread blocks next: its file. */
	K_PAGE = 21,
	/* For the next wake of this thread: the request whose completion causes it. */
	K_REQUEST = 22,
	/* For the next wake of this thread: the object of its waker's call. */
	K_THROUGH = 23,
	/* The names of a local socket and of its other end. */
	K_SOCKET_NAMES = 24,
	/* a: left; a thread that existed before the recording. */
	K_ALIVE = 30,
	/* a: connection_began; flags: F_CLOSED, F_NO_DELAY. */
	K_CONNECTION = 40,
	/* a: 1 for a query, 0 for a response. */
	K_PACKET = 41,
	/* A name lookup of the C library that has returned. */
	K_RESOLVED = 42,
	/* a: connection_began; a connection between two high ports is established. */
	K_ESTABLISHED = 43,
	/* A thread received on a TCP connection, after something else. */
	K_RECEIVED = 44,
	/* The beginning of what the thread received, of the next `Received` of the same time. */
	K_REQUEST_TEXT = 45,
	/*
	 * A thread works for a request that is not followed: it received on this connection, or
	 * sent there.
	 */
	K_LEFT_OUT = 46,
	/* a: n; the request that the thread receives next, at the same time, was drawn of 2^n. */
	K_DRAWN = 47,
	/* a: task_did; a task of the program's own scheduler. */
	K_TASK = 48,
	/* The same of one that waits. */
	K_TASK_WAITS = 49,
	/*
	 * A head alone. a: 1 where a piece of work begins that was asked for by name, 0 where it
	 * ends.
	 */
	K_UNIT = 50,
	/* In the ring `stacks`, like all below. a: mode. */
	K_SAMPLE_STACK = 64,
	K_WAIT_STACK = 65,
	/* The stack of a wait that begins: its length is not known yet. */
	K_FAULT_STACK = 66,
	/* The stack of a waker. stands_for_ns: the time of the wake-up, call: the woken thread. */
	K_WAKER_STACK = 67,
	/* The stack of a page fault of the sample. */
	K_FAULT_SAMPLE_STACK = 68,
	/* a: mode; a counter of the processor overflowed. */
	K_COUNTED = 69,
};

/* What a task does from then on, if it does not wait. */
enum task_did {
	TASK_RUNS = 0,
	TASK_READY = 1,
	TASK_ENDS = 2,
};

/* What a page fault is in. */
enum mapping_kind {
	MAPPING_UNKNOWN = 0,
	MAPPING_ANONYMOUS = 1,
	MAPPING_HEAP = 2,
	MAPPING_STACK = 3,
	MAPPING_FILE = 4,
};

/* The state in which a thread was switched out. */
enum left {
	LEFT_NONE = 0,
	LEFT_RUNNABLE = 1,
	LEFT_BLOCKED = 2,
	LEFT_STOPPED = 3,
	LEFT_DEAD = 4,
};

/* What woke a thread. */
enum waker_kind {
	/* A task of the tree. */
	WAKER_TASK = 0,
	WAKER_OTHER_TASK = 1,
	WAKER_TIMER = 2,
	WAKER_DEVICE = 3,
	WAKER_NETWORK = 4,
	WAKER_INTERRUPT = 5,
};

/* What a sample interrupted. */
enum mode {
	MODE_USER = 0,
	MODE_CALL = 1,
	MODE_FAULT = 2,
	MODE_INTERRUPT = 3,
	MODE_ENTRY = 4,
};

enum object_kind {
	OBJECT_FILE = 1,
	OBJECT_NET = 2,
	OBJECT_UNIX = 3,
	OBJECT_OTHER_SOCKET = 4,
};

enum path_kind {
	PATH_OF_FILE = 0,
	/* From the root of its filesystem, wherever it is mounted. */
	PATH_IN_FILESYSTEM = 1,
	/* As given to the current call of the thread; the file itself is not known. */
	PATH_GIVEN = 2,
};

/* How a connection was first seen. */
enum connection_began {
	BEGAN_OPENED = 1,
	BEGAN_ACCEPTED = 2,
	BEGAN_FOUND = 3,
};

/* Indexes of the map `settings`. */
enum setting {
	/* Set by user space: blocked time that one stack of a wait represents. */
	SETTING_WAIT_PERIOD_NS = 0,
	/* Set by the kernel half: lost stacks. */
	SETTING_LOST_STACKS = 1,
	/* Set by user space: calls are not traced at the moment. */
	SETTING_CALLS_OFF = 2,
	/* Set by the kernel half: lost samples of counters. */
	SETTING_LOST_COUNTED = 3,
	/* Set by user space: of 2^n requests one is followed; up to 31. */
	SETTING_HALVINGS = 4,
};

#define SETTINGS 5

struct head {
	u64 at;
	u8 kind;
	/* left, waker_kind, mode, object_kind and so on. */
	u8 a;
	/* F_… */
	u8 flags;
	/* Number of `struct slot` after the record. */
	u8 calls;
	u32 tid;
};

/* Time in one call since the last record. */
struct slot {
	u32 call;
	u32 count;
	u64 ns;
};

/* The two ends of a socket. */
struct ends {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 remote_port;
	u16 protocol;
	u16 family;
};

/* The kernel's counters of a thread. */
struct counters {
	u64 cpu_ns;
	u64 runqueue_ns;
	u64 minor_faults;
	u64 major_faults;
	u64 voluntary;
	u64 involuntary;
};

struct switch_record {
	/* tid: the thread switched out; 0 when outside the tree. */
	struct head head;
	u32 cpu;
	/* The thread switched in; 0 when outside the tree. */
	u32 into;
	/* The call it blocked in. */
	u32 call;
	u32 pad;
	u64 object;
	struct slot tail[];
};

struct wake_record {
	/* tid: the thread that is woken. */
	struct head head;
	u32 cpu;
	u32 waker;
	/* The waker's name, when it is outside the tree. */
	char name[16];
	struct slot tail[];
};

struct exec_record {
	struct head head;
	u64 entered;
	u32 pid;
	u32 old_tid;
	char name[16];
};

struct fork_record {
	struct head head;
	u32 child;
	u32 pid;
	char name[16];
	struct slot tail[];
};

struct exit_record {
	struct head head;
	s32 status;
	u32 pid;
	struct slot tail[];
};

struct peak_record {
	/* tid: the process. */
	struct head head;
	u64 pages;
};

struct flush_record {
	struct head head;
	struct slot tail[];
};

struct sample_record {
	struct head head;
	u64 ip;
	u32 call;
	/* CPU time that the sample represents. */
	u32 period_ns;
};

struct rename_record {
	struct head head;
	char name[16];
};

struct ran_record {
	/* tid: the thread switched in. */
	struct head head;
	u32 cpu;
	u32 ran;
	char name[16];
	u64 throttled_ns;
};

struct occupant_record {
	/* tid: what had the CPU; 0 is the idle task. */
	struct head head;
	u64 from;
	u64 to;
	u32 cpu;
	/* 0 where it is not known in dwell's PID namespace. */
	u32 pid;
	char name[16];
};

struct dead_record {
	struct head head;
	u32 cpu;
	u32 pad;
	struct counters counters;
};

struct alive_record {
	struct head head;
	u32 pid;
	/* Its current call. */
	u32 call;
	u64 object;
	char name[16];
	/* Until then. */
	struct counters counters;
};

/* What the iterator prints of a thread that it has found, or found again. */
struct found_row {
	u32 tid;
	u32 pid;
	/* Where it blocks: USER_REGS; else zeros. */
	u64 regs[8];
};

struct object_record {
	/* a: object_kind. */
	struct head head;
	u64 object;
	u16 mode;
	u16 pad;
	u32 dev;
	u64 ino;
	u64 peer;
	u64 magic;
	char name[16];
	struct ends ends;
};

/* K_SEND, K_READY, K_ESTABLISHED. */
struct ends_record {
	struct head head;
	u32 cpu;
	u32 pad;
	struct ends ends;
	struct slot tail[];
};

struct received_record {
	/* a: 1 where the tree is known to serve. */
	struct head head;
	/* When the first of these bytes came in; 0: not known. */
	u64 arrived;
	u32 cpu;
	/* 0: the other end sends no more. */
	u32 bytes;
	struct ends ends;
	struct slot tail[];
};

struct task_record {
	struct head head;
	/* Its address in the process. */
	u64 task;
};

struct task_waits_record {
	struct head head;
	u64 task;
	/* Where it waits, in the process. */
	u64 on;
	u32 pid;
	/* The number of the reason. */
	u32 reason;
	/* Addresses, the innermost first, up to a 0. */
	u64 callers[16];
};

struct request_text_record {
	struct head head;
	/* How many of the bytes are there. */
	u32 len;
	u32 pad;
	u8 bytes[128];
};

struct path_record {
	struct head head;
	u64 ino;
	u32 dev;
	/* Bytes of `text` in use: components, the last one first, each terminated by a 0. */
	u32 length;
	char text[];
};

struct page_record {
	struct head head;
	/* 0: no file is known. */
	u64 ino;
	u32 dev;
	u32 pad;
};

struct fault_record {
	/* a: mapping_kind. */
	struct head head;
	/* The inode of a file. */
	u64 ino;
	u32 dev;
	/* The faults that it stands for. */
	u32 faults;
	char name[16];
};

struct through_record {
	/* tid: the thread that is about to be woken. */
	struct head head;
	u64 object;
};

struct socket_names_record {
	struct head head;
	u64 ino;
	/* Bytes of `own` and `peer` in use; 0: it has no name. */
	u32 own_len;
	u32 peer_len;
	/* As in `sockaddr_un`: those that begin with a 0 are no paths. */
	char own[108];
	char peer[108];
};

struct request_about {
	u32 dev;
	u32 bytes;
	/* May be NOT_KEPT. */
	u64 queue_ns;
	u64 device_ns;
	u32 write;
	u32 pad;
};

struct request_record {
	/* tid: the thread that is about to be woken. */
	struct head head;
	struct request_about about;
};

struct connection_record {
	/* tid: the thread that opened it or sent on it first; 0 when unknown. */
	struct head head;
	u64 began;
	u64 established;
	u64 sent;
	u64 received;
	u32 round_trip_us;
	u32 round_trip_us_min;
	u32 retransmits;
	u32 segment_bytes_max;
	struct ends ends;
};

struct resolved_record {
	/* tid: the calling thread; at: when it returned. */
	struct head head;
	u64 asked_at;
	/* The return value of the function; 0: success. */
	s32 error;
	u32 len;
	char name[256];
};

struct packet_record {
	/* tid: the thread that sends a query. */
	struct head head;
	u32 len;
	u32 pad;
	/* From the IP header on. */
	u8 bytes[328];
};

/* The user stack follows, from the stack pointer upwards. */
struct stack_record {
	struct head head;
	u64 stands_for_ns;
	u32 pid;
	u32 call;
	/* User registers: USER_REGS. */
	u64 regs[8];
	/* The others, of a sample in user mode: SCRATCH_REGS. */
	u64 scratch[19];
	/* How many of these there are; 0 where they were not taken. */
	u32 scratch_regs;
	u32 pad;
	/* In bytes. */
	u32 kernel_len;
	/* In bytes. */
	u32 user_len;
	u64 kernel[48];
	u8 user[USER_MAX];
};

/* In the ring, since a counter may overflow where no other interrupt comes. */
struct counted_record {
	struct head head;
	u64 ip;
	/* How much it stands for; it tells which counter. */
	u64 period;
	u32 pid;
	u32 pad;
};

/* Bytes of a segment that have a position. */
#define SEGMENT 65536

/* Space after them for the rest of a segment's last record. */
#define LONGEST 512

/*
 * Each CPU has its own buffer, written in place and read by user space, which maps it
 * (`buffers.rs`). It is a power of two of segments; a position counts bytes since the start
 * and wraps at the buffer's size. A record that begins in a segment ends in it.
 *
 * A record is preceded by a word: 0 until the record is complete, then its size. The reader
 * zeroes records that it has read.
 */
struct segment {
	u8 bytes[66048];
};

/* Reader and writer use separate cache lines. */
struct buffer {
	/* Position of the end; the last record may be incomplete. */
	u64 written;
	u64 pad[15];
	u64 taken;
	u64 pad2[15];
};

/* Per CPU: the current interrupt, and counters of lost records. */
struct cpu {
	u64 lost;
	/* Calls that returned, and those of them whose time is known. */
	u64 calls;
	u64 timed;
	/* Bytes of small transfers since the last sample, and when the next is due (`files.h`). */
	u32 moved;
	u32 gap;
	/* Vector plus 1. */
	u32 softirq;
	u32 irq;
	u32 timer;
	/* `ends` holds the socket that became ready in this softirq. */
	u32 ready;
	/* The task of slot `index`, if known: the running one, unless its switch was hidden. */
	u64 task;
	/* The same task's registers; 0 when not known. */
	u64 regs;
	/*
	 * What the scheduler's clock of this CPU was behind ours at the last switch of a thread of
	 * the tree; it wraps. 0: not known yet.
	 */
	u64 behind;
	/* 0: outside the tree. */
	u32 index;
	/* A request to a disk was completed in this context. */
	u32 request;
	struct ends ends;
	/* Bytes of files that were counted (`files.h`). */
	u64 file_bytes;
	/* Requests to disks that were counted (`disk_requests.h`). */
	u64 disk_requests;
	/*
	 * Calls on paths: those that are in the sample, and those until the next that is
	 * (`asked.h`).
	 */
	u32 asked;
	u32 asked_pause;
	/* Requests that began and are not followed (`received.h`). */
	u64 left_out;
	/* Requests that began and are followed. */
	u64 followed;
	/* How often a thread of the tree, or another one, came past a probe (`units.h`). */
	u64 came_past;
	u64 others_came_past;
	/* What tasks did (`tasks.h`). */
	u64 tasks;
};

/* The files of which it is counted what processes read and wrote. */
#define FILES_MAX 4096

/* The bytes that a sample of small transfers stands for: a power of two. */
#define POINT_BYTES 1048576

/* A file and a process. Inodes are reused, with another generation. */
struct file_key {
	u64 ino;
	u32 dev;
	u32 generation;
	u32 pid;
	u32 pad;
};

/* What a process moved in one direction, as far as the sample tells. */
struct transfers {
	u64 bytes;
	/* CPU time of the calls. */
	u64 ns;
	/* In 1/1024. */
	u64 calls;
	/* Samples that stand for POINT_BYTES each. The rest was counted whole. */
	u32 points;
	/* The call of the last. */
	u32 call;
};

struct file_counts {
	/* The largest that was seen. */
	u64 size;
	/* Of its filesystem. */
	u64 magic;
	struct transfers read;
	struct transfers written;
	/* FILE_SYNC and so on, of all descriptors. */
	u32 flags;
	/* The call of the last write that waited to be durable. */
	u32 durable_call;
	char name[16];
	/* Writes that waited to be durable, and their time. */
	u64 durable_calls;
	u64 durable_bytes;
	u64 durable_ns;
	/* Requests to a disk that were made for it, and their bytes. */
	u64 disk_reads;
	u64 disk_read_bytes;
	u64 disk_writes;
	u64 disk_written_bytes;
};

/* Paths that were asked for again, with their text. */
#define ASKED_MAX 1024

/* Bytes of such a text, its zero included: of a longer path the end. */
#define ASKED_NAME 112

/* The first calls of a CPU, which are all in the sample. */
#define ASKED_FIRST 4096

/* Calls in one piece that are in the sample from then on, and of how many they are one. */
#define ASKED_PIECE 64

#define ASKED_ONE_IN 32

/* A path that a process asked for again, since it has an entry. */
struct asked_counts {
	u64 again;
	u64 failed;
	u32 call;
	u32 pid;
	/* `text` is its end. */
	u32 cut;
	u32 pad;
	char text[112];
};

/* Processes and disks of which requests are counted, reads and writes apart. */
#define DISK_USES_MAX 512

/*
 * Octaves of the distances of requests in sectors: the first has those without any, the last
 * all that are larger.
 */
#define DISTANCES 40

/* A disk, a process, and what the requests do. */
struct disk_key {
	u32 dev;
	u32 pid;
	/* 0: they read. */
	u32 write;
	u32 pad;
};

struct disk_counts {
	u64 requests;
	u64 bytes;
	/* The sector behind the last one; 0: there was none. */
	u64 end;
	/* Issued while no other of the tree was under way on that disk. */
	u64 alone;
	/* The sum of how many were under way at each, itself included. */
	u64 depths;
	u32 depth_max;
	u32 pad;
	/* By octave of bytes. */
	u32 sizes[24];
	u32 distances[40];
};

/* Buckets of a histogram of call times. */
#define BUCKETS 320

/* Calls with their own statistics, and one entry for the others: a power of two. */
#define DENSE 128

/* Numbers of calls are below this. */
#define CALLS 1024

/* Octaves of the numbers of bytes that calls moved: the last has all that is larger. */
#define SIZES 24

/* Error numbers that are kept apart for each call and CPU: the first that occur. */
#define ERRORS 6

struct error_count {
	/* 0: not used. */
	u32 error;
	u32 calls;
};

/* Per call and CPU. */
struct stats {
	/* The call, or OTHER_CALL. */
	u64 call;
	u64 calls;
	u64 errors;
	/* Of calls that move bytes: what they moved. */
	u64 bytes;
	/* Calls that returned 0. */
	u64 zeros;
	/* Calls whose entry was traced too: the figures below are of these. */
	u64 timed;
	u64 total_ns;
	u64 cpu_ns;
	u64 max_ns;
	/* Calls that did what the one before did; see `results.h`. */
	u64 repeats;
	/*
	 * Of calls on paths, by a sample (`asked.h`): how many it has, for how many these stand,
	 * how many of those asked again, and failed then.
	 */
	u64 asked_sample;
	u64 asked;
	u64 asked_again;
	u64 asked_again_failed;
	struct error_count by_error[6];
	u32 sizes[24];
	u32 histogram[320];
};

/* The state of a connection until it is reported. */
struct connection {
	/* Time of its first segment, or when it was first observed. */
	u64 began;
	/* 0: not established, or not observed. */
	u64 established;
	/* TCP's counters when it was found. */
	u64 sent;
	u64 received;
	u32 retransmits;
	/* 0: not known yet. */
	u32 tid;
	/* connection_began. */
	u8 how;
	u8 pad[7];
};

/* As the other side lays it out. */
#define SIZE(of, bytes) _Static_assert(sizeof(struct of) == bytes, #of)
#define AT(of, field, bytes) _Static_assert(__builtin_offsetof(struct of, field) == bytes, #of "." #field)
AT(head, at, 0);
AT(head, kind, 8);
AT(head, a, 9);
AT(head, flags, 10);
AT(head, calls, 11);
AT(head, tid, 12);
SIZE(head, 16);
AT(slot, call, 0);
AT(slot, count, 4);
AT(slot, ns, 8);
SIZE(slot, 16);
AT(ends, local, 0);
AT(ends, remote, 16);
AT(ends, local_port, 32);
AT(ends, remote_port, 34);
AT(ends, protocol, 36);
AT(ends, family, 38);
SIZE(ends, 40);
AT(counters, cpu_ns, 0);
AT(counters, runqueue_ns, 8);
AT(counters, minor_faults, 16);
AT(counters, major_faults, 24);
AT(counters, voluntary, 32);
AT(counters, involuntary, 40);
SIZE(counters, 48);
AT(switch_record, head, 0);
AT(switch_record, cpu, 16);
AT(switch_record, into, 20);
AT(switch_record, call, 24);
AT(switch_record, pad, 28);
AT(switch_record, object, 32);
AT(switch_record, tail, 40);
AT(wake_record, head, 0);
AT(wake_record, cpu, 16);
AT(wake_record, waker, 20);
AT(wake_record, name, 24);
AT(wake_record, tail, 40);
AT(exec_record, head, 0);
AT(exec_record, entered, 16);
AT(exec_record, pid, 24);
AT(exec_record, old_tid, 28);
AT(exec_record, name, 32);
SIZE(exec_record, 48);
AT(fork_record, head, 0);
AT(fork_record, child, 16);
AT(fork_record, pid, 20);
AT(fork_record, name, 24);
AT(fork_record, tail, 40);
AT(exit_record, head, 0);
AT(exit_record, status, 16);
AT(exit_record, pid, 20);
AT(exit_record, tail, 24);
AT(peak_record, head, 0);
AT(peak_record, pages, 16);
SIZE(peak_record, 24);
AT(flush_record, head, 0);
AT(flush_record, tail, 16);
AT(sample_record, head, 0);
AT(sample_record, ip, 16);
AT(sample_record, call, 24);
AT(sample_record, period_ns, 28);
SIZE(sample_record, 32);
AT(rename_record, head, 0);
AT(rename_record, name, 16);
SIZE(rename_record, 32);
AT(ran_record, head, 0);
AT(ran_record, cpu, 16);
AT(ran_record, ran, 20);
AT(ran_record, name, 24);
AT(ran_record, throttled_ns, 40);
SIZE(ran_record, 48);
AT(occupant_record, head, 0);
AT(occupant_record, from, 16);
AT(occupant_record, to, 24);
AT(occupant_record, cpu, 32);
AT(occupant_record, pid, 36);
AT(occupant_record, name, 40);
SIZE(occupant_record, 56);
AT(dead_record, head, 0);
AT(dead_record, cpu, 16);
AT(dead_record, pad, 20);
AT(dead_record, counters, 24);
SIZE(dead_record, 72);
AT(alive_record, head, 0);
AT(alive_record, pid, 16);
AT(alive_record, call, 20);
AT(alive_record, object, 24);
AT(alive_record, name, 32);
AT(alive_record, counters, 48);
SIZE(alive_record, 96);
AT(found_row, tid, 0);
AT(found_row, pid, 4);
AT(found_row, regs, 8);
SIZE(found_row, 72);
AT(object_record, head, 0);
AT(object_record, object, 16);
AT(object_record, mode, 24);
AT(object_record, pad, 26);
AT(object_record, dev, 28);
AT(object_record, ino, 32);
AT(object_record, peer, 40);
AT(object_record, magic, 48);
AT(object_record, name, 56);
AT(object_record, ends, 72);
SIZE(object_record, 112);
AT(ends_record, head, 0);
AT(ends_record, cpu, 16);
AT(ends_record, pad, 20);
AT(ends_record, ends, 24);
AT(ends_record, tail, 64);
AT(received_record, head, 0);
AT(received_record, arrived, 16);
AT(received_record, cpu, 24);
AT(received_record, bytes, 28);
AT(received_record, ends, 32);
AT(received_record, tail, 72);
AT(task_record, head, 0);
AT(task_record, task, 16);
SIZE(task_record, 24);
AT(task_waits_record, head, 0);
AT(task_waits_record, task, 16);
AT(task_waits_record, on, 24);
AT(task_waits_record, pid, 32);
AT(task_waits_record, reason, 36);
AT(task_waits_record, callers, 40);
SIZE(task_waits_record, 168);
AT(request_text_record, head, 0);
AT(request_text_record, len, 16);
AT(request_text_record, pad, 20);
AT(request_text_record, bytes, 24);
SIZE(request_text_record, 152);
AT(path_record, head, 0);
AT(path_record, ino, 16);
AT(path_record, dev, 24);
AT(path_record, length, 28);
AT(path_record, text, 32);
AT(page_record, head, 0);
AT(page_record, ino, 16);
AT(page_record, dev, 24);
AT(page_record, pad, 28);
SIZE(page_record, 32);
AT(fault_record, head, 0);
AT(fault_record, ino, 16);
AT(fault_record, dev, 24);
AT(fault_record, faults, 28);
AT(fault_record, name, 32);
SIZE(fault_record, 48);
AT(through_record, head, 0);
AT(through_record, object, 16);
SIZE(through_record, 24);
AT(socket_names_record, head, 0);
AT(socket_names_record, ino, 16);
AT(socket_names_record, own_len, 24);
AT(socket_names_record, peer_len, 28);
AT(socket_names_record, own, 32);
AT(socket_names_record, peer, 140);
SIZE(socket_names_record, 248);
AT(request_about, dev, 0);
AT(request_about, bytes, 4);
AT(request_about, queue_ns, 8);
AT(request_about, device_ns, 16);
AT(request_about, write, 24);
AT(request_about, pad, 28);
SIZE(request_about, 32);
AT(request_record, head, 0);
AT(request_record, about, 16);
SIZE(request_record, 48);
AT(connection_record, head, 0);
AT(connection_record, began, 16);
AT(connection_record, established, 24);
AT(connection_record, sent, 32);
AT(connection_record, received, 40);
AT(connection_record, round_trip_us, 48);
AT(connection_record, round_trip_us_min, 52);
AT(connection_record, retransmits, 56);
AT(connection_record, segment_bytes_max, 60);
AT(connection_record, ends, 64);
SIZE(connection_record, 104);
AT(resolved_record, head, 0);
AT(resolved_record, asked_at, 16);
AT(resolved_record, error, 24);
AT(resolved_record, len, 28);
AT(resolved_record, name, 32);
SIZE(resolved_record, 288);
AT(packet_record, head, 0);
AT(packet_record, len, 16);
AT(packet_record, pad, 20);
AT(packet_record, bytes, 24);
SIZE(packet_record, 352);
AT(stack_record, head, 0);
AT(stack_record, stands_for_ns, 16);
AT(stack_record, pid, 24);
AT(stack_record, call, 28);
AT(stack_record, regs, 32);
AT(stack_record, scratch, 96);
AT(stack_record, scratch_regs, 248);
AT(stack_record, pad, 252);
AT(stack_record, kernel_len, 256);
AT(stack_record, user_len, 260);
AT(stack_record, kernel, 264);
AT(stack_record, user, 648);
AT(counted_record, head, 0);
AT(counted_record, ip, 16);
AT(counted_record, period, 24);
AT(counted_record, pid, 32);
AT(counted_record, pad, 36);
SIZE(counted_record, 40);
AT(segment, bytes, 0);
SIZE(segment, 66048);
AT(buffer, written, 0);
AT(buffer, pad, 8);
AT(buffer, taken, 128);
AT(buffer, pad2, 136);
SIZE(buffer, 256);
AT(cpu, lost, 0);
AT(cpu, calls, 8);
AT(cpu, timed, 16);
AT(cpu, moved, 24);
AT(cpu, gap, 28);
AT(cpu, softirq, 32);
AT(cpu, irq, 36);
AT(cpu, timer, 40);
AT(cpu, ready, 44);
AT(cpu, task, 48);
AT(cpu, regs, 56);
AT(cpu, behind, 64);
AT(cpu, index, 72);
AT(cpu, request, 76);
AT(cpu, ends, 80);
AT(cpu, file_bytes, 120);
AT(cpu, disk_requests, 128);
AT(cpu, asked, 136);
AT(cpu, asked_pause, 140);
AT(cpu, left_out, 144);
AT(cpu, followed, 152);
AT(cpu, came_past, 160);
AT(cpu, others_came_past, 168);
AT(cpu, tasks, 176);
SIZE(cpu, 184);
AT(file_key, ino, 0);
AT(file_key, dev, 8);
AT(file_key, generation, 12);
AT(file_key, pid, 16);
AT(file_key, pad, 20);
SIZE(file_key, 24);
AT(transfers, bytes, 0);
AT(transfers, ns, 8);
AT(transfers, calls, 16);
AT(transfers, points, 24);
AT(transfers, call, 28);
SIZE(transfers, 32);
AT(file_counts, size, 0);
AT(file_counts, magic, 8);
AT(file_counts, read, 16);
AT(file_counts, written, 48);
AT(file_counts, flags, 80);
AT(file_counts, durable_call, 84);
AT(file_counts, name, 88);
AT(file_counts, durable_calls, 104);
AT(file_counts, durable_bytes, 112);
AT(file_counts, durable_ns, 120);
AT(file_counts, disk_reads, 128);
AT(file_counts, disk_read_bytes, 136);
AT(file_counts, disk_writes, 144);
AT(file_counts, disk_written_bytes, 152);
SIZE(file_counts, 160);
AT(asked_counts, again, 0);
AT(asked_counts, failed, 8);
AT(asked_counts, call, 16);
AT(asked_counts, pid, 20);
AT(asked_counts, cut, 24);
AT(asked_counts, pad, 28);
AT(asked_counts, text, 32);
SIZE(asked_counts, 144);
AT(disk_key, dev, 0);
AT(disk_key, pid, 4);
AT(disk_key, write, 8);
AT(disk_key, pad, 12);
SIZE(disk_key, 16);
AT(disk_counts, requests, 0);
AT(disk_counts, bytes, 8);
AT(disk_counts, end, 16);
AT(disk_counts, alone, 24);
AT(disk_counts, depths, 32);
AT(disk_counts, depth_max, 40);
AT(disk_counts, pad, 44);
AT(disk_counts, sizes, 48);
AT(disk_counts, distances, 144);
SIZE(disk_counts, 304);
AT(error_count, error, 0);
AT(error_count, calls, 4);
SIZE(error_count, 8);
AT(stats, call, 0);
AT(stats, calls, 8);
AT(stats, errors, 16);
AT(stats, bytes, 24);
AT(stats, zeros, 32);
AT(stats, timed, 40);
AT(stats, total_ns, 48);
AT(stats, cpu_ns, 56);
AT(stats, max_ns, 64);
AT(stats, repeats, 72);
AT(stats, asked_sample, 80);
AT(stats, asked, 88);
AT(stats, asked_again, 96);
AT(stats, asked_again_failed, 104);
AT(stats, by_error, 112);
AT(stats, sizes, 160);
AT(stats, histogram, 256);
SIZE(stats, 1536);
AT(connection, began, 0);
AT(connection, established, 8);
AT(connection, sent, 16);
AT(connection, received, 24);
AT(connection, retransmits, 32);
AT(connection, tid, 36);
AT(connection, how, 40);
AT(connection, pad, 41);
SIZE(connection, 48);
#undef SIZE
#undef AT
