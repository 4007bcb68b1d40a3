/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernel half says, byte for byte. `decode.rs` reads it; a change here is a change there.
 *
 * Each record starts with `head` and is a multiple of 8 bytes. Some records only prepare the next one on the same CPU (object, ran, dead …),
 * which keeps the frequent records small.
 */
#pragma once
#include "kernel.h"

enum kind {
	K_START = 1, /* the root entered its execve */
	K_EXEC,
	K_FORK,
	K_EXIT,
	K_SWITCH,
	K_WAKE,
	K_FLUSH,
	K_SEND,
	K_SAMPLE,
	K_RENAME,
	K_OBJECT, /* what an object number means from now on */
	K_RAN,    /* for the next switch of this CPU: who had it, and throttling */
	K_DEAD,   /* for the next switch of this CPU: the leaver's counters */
	K_READY,  /* for the next wake of this CPU: the socket that became ready */
	K_PATH = 20, /* a: path_kind; what a file is called */
	K_PAGE = 21, /* for the fault that the thread blocks in next: whose page it needs */
	K_REQUEST = 22, /* for the next wake of this thread: the request whose end it follows from */

	K_CONNECTION = 40, /* a: how it began (`network.h`); flags: F_CLOSED, F_NO_DELAY */
	K_PACKET,          /* a: whether it asks for a name, rather than answers */
	K_RESOLVED,        /* the C library was asked for a name and has returned */

	K_THROUGH = 23, /* for the next wake of this thread: what its waker works on */
	K_ALIVE = 30, /* a: left; a thread that lived before anybody watched */

	/* In the ring `stacks`. */
	K_SAMPLE_STACK = 64, /* a: mode */
	K_WAIT_STACK,
	K_FAULT_STACK, /* of the wait that begins: its length is not known yet */
	K_WAKER_STACK, /* of whoever ended a wait; stands_for_ns: when, call: of which thread */
};

enum left { LEFT_NONE, LEFT_RUNNABLE, LEFT_BLOCKED, LEFT_STOPPED, LEFT_DEAD };
enum context { BY_TASK, BY_OTHER_TASK, BY_TIMER, BY_DEVICE, BY_NETWORK, BY_INTERRUPT };
enum mode { MODE_USER, MODE_CALL, MODE_FAULT, MODE_INTERRUPT, MODE_ENTRY };
enum object_kind { ON_UNKNOWN, ON_FILE, ON_NET, ON_UNIX, ON_OTHER_SOCKET, ON_FUTEX };

#define NO_CALL 0xffffffffu
#define DYING 0x7fffu
#define OTHER_CALL 0x7ffeu
#define COMPAT 0x8000u

#define F_UNINTERRUPTIBLE 1
#define F_IO 2
#define F_LAST 4
#define F_CLOSED 1
#define F_NO_DELAY 2

enum path_kind {
	PATH_OF_FILE,
	PATH_IN_FILESYSTEM, /* from the root of its filesystem, wherever that is mounted */
	PATH_GIVEN,         /* as given to the call that the thread is in; the file itself is not known */
};
/* In flags. */
#define PATH_CUT 1
#define PATH_DELETED 2
/* Object of a switch: the thread's last PATH_GIVEN. No kernel address, and not aligned like a futex. */
#define GIVEN_PATH 1

struct head {
	u64 at;
	u8 kind;
	u8 a;     /* left, context, mode or object_kind */
	u8 flags; /* F_… */
	u8 calls; /* how many `struct slot` follow the record */
	u32 tid;
};

struct slot {
	u32 call;
	u32 count;
	u64 ns;
};

/* Most calls of one stretch that are told apart before they are handed over. */
#define SLOTS 6

struct switch_record {
	struct head head; /* tid: who left; 0 when not ours */
	u32 cpu;
	u32 into; /* who came; 0 when not ours */
	u32 call; /* the call it blocked in */
	u32 pad;
	u64 object;
	struct slot tail[];
};

struct wake_record {
	struct head head; /* tid: who is woken */
	u32 cpu;
	u32 waker;
	char name[16]; /* the waker's, when it is not of the tree */
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

struct flush_record {
	struct head head;
	struct slot tail[];
};

struct sample_record {
	struct head head;
	u64 ip;
	u32 call;
	u32 period_ns; /* what the sample stands for */
};

struct rename_record {
	struct head head;
	char name[16];
};

struct ran_record {
	struct head head; /* tid: who comes */
	u32 cpu;
	u32 ran;
	char name[16];
	u64 throttled_ns;
};

struct dead_record {
	struct head head;
	u32 cpu;
	u32 pad;
	u64 cpu_ns, runqueue_ns, minor_faults, major_faults, voluntary, involuntary;
};

struct alive_record {
	struct head head;
	u32 pid;
	u32 call; /* the one that it is in */
	u64 object;
	char name[16];
	/* As the kernel had counted by then. */
	u64 cpu_ns, runqueue_ns, minor_faults, major_faults, voluntary, involuntary;
};

struct ends {
	u8 local[16], remote[16];
	u16 local_port, remote_port;
	u16 protocol, family;
};

struct object_record {
	struct head head; /* a: object_kind */
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

struct ends_record { /* K_SEND, K_READY */
	struct head head;
	u32 cpu;
	u32 pad;
	struct ends ends;
	struct slot tail[];
};

struct path_record {
	struct head head;
	u64 ino;
	u32 dev;
	u32 length; /* bytes of `text` that are used */
	char text[]; /* parts, the last one first, each with a 0 behind it */
};

struct page_record {
	struct head head;
	u64 ino; /* 0: no file was seen */
	u32 dev;
	u32 pad;
};

struct through_record {
	struct head head; /* tid: who is about to be woken */
	u64 object;
};

/* The kernel does not keep when requests are made. */
#define NOT_KEPT (~0ull)
struct request_about {
	u32 dev;
	u32 bytes;
	u64 queue_ns, device_ns; /* queue_ns may be NOT_KEPT */
	u32 write;
	u32 pad;
};

struct request_record {
	struct head head; /* tid: who is about to be woken */
	struct request_about about;
};

struct connection_record {
	struct head head; /* tid: who opened it or sent on it first; 0 when not seen */
	u64 began, established;
	u64 sent, received;
	u32 round_trip_us, round_trip_us_min;
	u32 retransmits, segment_bytes_max;
	struct ends ends;
};

/* The longest name is 253 bytes. */
#define NAME_MAX 256
struct resolved_record {
	struct head head; /* tid: who asked; at: when it knew */
	u64 asked_at;
	u32 error; /* as the function returned it; 0: there is an answer */
	u32 len;
	char name[NAME_MAX];
};

/* Most of a packet that is copied: the heads of IPv6, UDP and DNS, and a question as long as it gets. */
#define PACKET_MAX 328
struct packet_record {
	struct head head; /* tid: who asks */
	u32 len;
	u32 pad;
	u8 bytes[PACKET_MAX]; /* from the head of IP on */
};

/*
 * Each CPU has a buffer of its own, written in place and read by user space, which maps it (`buffers.rs`). It is a
 * power of two of segments; a position counts bytes since the start and wraps at the buffer's size. A record that
 * begins in a segment ends in it: behind each is room for the rest of its last one.
 *
 * A record is preceded by a word: 0 until the record is whole, then its size. The reader zeroes what it takes.
 */
#define SEGMENT (64 * 1024)
#define LONGEST 512
struct segment { u8 bytes[SEGMENT + LONGEST]; };
struct buffer {
	u64 written; /* position of the end; what ends here need not be whole */
	u64 pad[15]; /* the two ends write to cache lines of their own */
	u64 taken;
	u64 pad2[15];
};

/* Most of a stack that is copied: a power of two. */
#define USER_MAX 32768
#define KERNEL_MAX 48

struct stack_record {
	struct head head;
	u64 stands_for_ns;
	u32 pid;
	u32 call;
	u64 regs[8]; /* of the user's code: USER_REGS */
	u32 kernel_len;     /* bytes */
	u32 user_len;       /* bytes */
	u64 kernel[KERNEL_MAX];
	u8 user[USER_MAX]; /* from sp upwards */
};

/* Per call and CPU. */
#define BUCKETS 320
struct stats {
	u64 call; /* which, or OTHER_CALL */
	u64 calls, errors, total_ns, cpu_ns, max_ns;
	u32 histogram[BUCKETS];
};
#define DENSE 128 /* a power of two */
#define CALLS 1024
