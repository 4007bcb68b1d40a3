/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernel half of spikes says, byte for byte. `ring.rs` reads it; a change here is a change there.
 */
#pragma once
#include "../sources/bpf/kernel.h"

enum kind {
	K_SWITCH = 1,
	/* An interrupt, made when it is over. */
	K_IRQ,     /* arg: its number */
	K_SOFTIRQ, /* arg: its vector */
	K_TIMER,
	K_OTHER, /* arg: enum other */
	K_NMI,
};

enum other { O_RESCHEDULE, O_CALL_FUNCTION, O_CALL_FUNCTION_SINGLE, O_IRQ_WORK };

/* Of a switch: the first could have gone on; the second is the measuring thread. */
#define F_PREEMPTED 1
#define F_OWN 2

/* One line of the cache, since each one that is touched is a wait for memory. */
struct record {
	u64 seq; /* its place in the ring's order, from 1 on; 0 while it is being written */
	u64 at;
	u8 kind;
	u8 flags;
	u16 idle; /* of a switch from the idle task: the last state that the processor idled in, and one */
	u32 arg;  /* of a switch to the measuring thread: the processor that it was moved from, and one */
	union {
		struct {
			u32 from, to; /* threads by the kernel's numbers */
			s32 from_priority, to_priority;
			union {
				char to_name[16];
				/* Of the measuring thread, whose name is known: when it was woken, and when its timer had to
				 * expire, with its slack. 0 where it was not woken, or not by its timer. */
				struct { u64 woken, due; };
			};
			u64 stopped; /* when the measuring thread was stopped; 0 when it was not */
		};
		struct {
			u64 began;
			u64 spare;
			char name[16]; /* of an interrupt's handler */
		};
	};
};

/* A processor's state. */
struct cpu {
	/* Written on that processor. */
	u64 written; /* records, ever */
	u64 hard_began, soft_began; /* of the interrupt that it is in; 0 outside */
	u64 due;     /* of the timer that the measuring thread sleeps by; 0 when it does not */
	u64 stopped;
	u64 stacks; /* ever */
	u32 idle;   /* as in records */
	u32 moved_from;
	u64 woken; /* the measuring thread, wherever that was done; 0 when it has run since */
	/* A line of its own, which others read when they wake somebody: set by user space, */
	u64 late_ns; /* from when on a stack is taken */
	u32 ring;    /* its number and one; 0: not measured */
	u32 tid;     /* of the measuring thread, as user space numbers it */
	u32 pid;     /* the same, as the kernel does: set by whoever knows it first */
	u32 pad;
	u64 spare[5];
};

#define FRAMES 60
struct stack {
	u64 seq; /* as of records */
	u64 at;
	u64 len; /* bytes */
	u64 spare;
	u64 frames[FRAMES];
};
/* Stacks that are kept for each measured processor. */
#define STACKS 64
