/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What passes between the kernel half of spikes and user space.
 *
 * Made from `wire.rs` by `cargo xtask bpf`: changes are made there.
 */
#pragma once
#include "../sources/bpf/kernel.h"

enum kind {
	K_SWITCH = 1,
	/* An interrupt, recorded at its exit. arg: its number. */
	K_IRQ = 2,
	/* arg: its vector. */
	K_SOFTIRQ = 3,
	K_TIMER = 4,
	/* arg: enum other. */
	K_OTHER = 5,
	K_NMI = 6,
};

/* By their order in `decode.rs`. */
enum other {
	O_RESCHEDULE = 0,
	O_CALL_FUNCTION = 1,
	O_CALL_FUNCTION_SINGLE = 2,
	O_IRQ_WORK = 3,
};

/* Flag of a switch: the first thread was preempted. */
#define F_PREEMPTED 1

/* Flag of a switch: the second thread is the measuring one. */
#define F_OWN 2

/* A record of any kind. It takes one cache line, since each touched line may be a cache miss. */
struct record {
	/* Its sequence number, from 1 on; 0 while it is being written. */
	u64 seq;
	u64 at;
	u8 kind;
	u8 flags;
	/* For a switch from the idle task: the last idle state of the CPU, plus one. */
	u16 idle;
	/* For a switch to the measuring thread: the CPU that it migrated from, plus one. */
	u32 arg;
	/* By kind, as in the structs below. */
	u64 words[5];
};

struct switch_record {
	u64 seq;
	u64 at;
	u8 kind;
	u8 flags;
	u16 idle;
	u32 arg;
	/* Threads by TID in the initial PID namespace. */
	u32 from;
	u32 to;
	s32 from_priority;
	s32 to_priority;
	char to_name[16];
	u64 spare;
};

/* A switch with F_OWN. */
struct own_record {
	u64 seq;
	u64 at;
	u8 kind;
	u8 flags;
	u16 idle;
	u32 arg;
	u32 from;
	u32 to;
	s32 from_priority;
	s32 to_priority;
	/* When it was woken; 0 when it was not. */
	u64 woken;
	/* When its timer was due, with its slack; 0 when it was not woken by its timer. */
	u64 due;
	/* When it was stopped; 0 when it was not. */
	u64 stopped;
};

struct interrupt_record {
	u64 seq;
	u64 at;
	u8 kind;
	u8 flags;
	u16 idle;
	u32 arg;
	u64 began;
	u64 spare;
	/* The name of a handler. */
	char name[16];
	u64 spare2;
};

/* A CPU's state. */
struct cpu {
	/* Number of records so far. Written on that CPU, like all fields up to `woken`. */
	u64 written;
	/* Entry of the current interrupt; 0 outside. */
	u64 hard_began;
	u64 soft_began;
	/* Expiry of the timer that the measuring thread sleeps on; 0 when it does not. */
	u64 due;
	u64 stopped;
	/* Number of stacks so far. */
	u64 stacks;
	/* As in records. */
	u32 idle;
	u32 moved_from;
	/* When the measuring thread was woken, on any CPU; 0 when it has run since. */
	u64 woken;
	/*
	 * The latency from which a stack is taken. Set by user space, in a cache line that other
	 * CPUs read at wake-ups.
	 */
	u64 late_ns;
	/* Its number plus one; 0: not measured. */
	u32 ring;
	/* The TID of the measuring thread in dwell's PID namespace. */
	u32 tid;
	/* The same in the initial PID namespace: set by the side that knows it first. */
	u32 pid;
	u32 pad;
	u64 spare[5];
};

#define FRAMES 60

struct stack {
	/* As of records. */
	u64 seq;
	u64 at;
	/* In bytes. */
	u64 len;
	u64 spare;
	u64 frames[60];
};

/* The number of stacks that are kept for each ring. */
#define STACKS 64

/* As the other side lays it out. */
#define SIZE(of, bytes) _Static_assert(sizeof(struct of) == bytes, #of)
#define AT(of, field, bytes) _Static_assert(__builtin_offsetof(struct of, field) == bytes, #of "." #field)
AT(record, seq, 0);
AT(record, at, 8);
AT(record, kind, 16);
AT(record, flags, 17);
AT(record, idle, 18);
AT(record, arg, 20);
AT(record, words, 24);
SIZE(record, 64);
AT(switch_record, seq, 0);
AT(switch_record, at, 8);
AT(switch_record, kind, 16);
AT(switch_record, flags, 17);
AT(switch_record, idle, 18);
AT(switch_record, arg, 20);
AT(switch_record, from, 24);
AT(switch_record, to, 28);
AT(switch_record, from_priority, 32);
AT(switch_record, to_priority, 36);
AT(switch_record, to_name, 40);
AT(switch_record, spare, 56);
SIZE(switch_record, 64);
AT(own_record, seq, 0);
AT(own_record, at, 8);
AT(own_record, kind, 16);
AT(own_record, flags, 17);
AT(own_record, idle, 18);
AT(own_record, arg, 20);
AT(own_record, from, 24);
AT(own_record, to, 28);
AT(own_record, from_priority, 32);
AT(own_record, to_priority, 36);
AT(own_record, woken, 40);
AT(own_record, due, 48);
AT(own_record, stopped, 56);
SIZE(own_record, 64);
AT(interrupt_record, seq, 0);
AT(interrupt_record, at, 8);
AT(interrupt_record, kind, 16);
AT(interrupt_record, flags, 17);
AT(interrupt_record, idle, 18);
AT(interrupt_record, arg, 20);
AT(interrupt_record, began, 24);
AT(interrupt_record, spare, 32);
AT(interrupt_record, name, 40);
AT(interrupt_record, spare2, 56);
SIZE(interrupt_record, 64);
AT(cpu, written, 0);
AT(cpu, hard_began, 8);
AT(cpu, soft_began, 16);
AT(cpu, due, 24);
AT(cpu, stopped, 32);
AT(cpu, stacks, 40);
AT(cpu, idle, 48);
AT(cpu, moved_from, 52);
AT(cpu, woken, 56);
AT(cpu, late_ns, 64);
AT(cpu, ring, 72);
AT(cpu, tid, 76);
AT(cpu, pid, 80);
AT(cpu, pad, 84);
AT(cpu, spare, 88);
SIZE(cpu, 128);
AT(stack, seq, 0);
AT(stack, at, 8);
AT(stack, len, 16);
AT(stack, spare, 24);
AT(stack, frames, 32);
SIZE(stack, 512);
#undef SIZE
#undef AT
