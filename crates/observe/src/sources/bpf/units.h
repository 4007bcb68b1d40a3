/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pieces of work that were asked for by name: when a thread of the tree begins one and ends it.
 *
 * `units.rs` attaches these programs, only where some were asked for: to the entry and the exits of
 * a function, or to probes that the program has in its code (USDT). They run in every process that
 * maps the file, and each time is counted: it costs the same there.
 */
#pragma once
#include "threads.h"

/* The running thread, if it is of the tree. */
INLINE struct thread *comes_past(void)
{
	struct thread *thread = thread_of(bpf_get_current_task_btf());
	struct cpu *cpu = this_cpu();
	if (cpu) {
		/* A program of a uprobe can be preempted by the next one of another thread. */
		if (thread)
			__sync_fetch_and_add(&cpu->came_past, 1);
		else
			__sync_fetch_and_add(&cpu->others_came_past, 1);
	}
	return thread;
}

/*
 * Only that and when: a program of a uprobe can be preempted, and by its own switch, so that it
 * must not touch what the programs of switches and calls write.
 */
__attribute__((noinline)) int tell_unit(struct thread *thread, u32 begins)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct head head = HEAD(K_UNIT, begins, TID(thread, task), bpf_ktime_get_ns());
	EMIT(head);
	return 0;
}

/* What is on top of the stack: at the entry of a function, where it returns to. */
INLINE u64 on_stack(u64 stack)
{
	u64 word = 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)stack);
	return word;
}

/*
 * The entry of the function. Where it calls itself, the outermost call counts. One that was left
 * without a return (an exception, a jump) is known by the stack: it is no longer as deep, or other
 * calls have written there. Where the return address is in a register at first, the latter is not
 * known. Of a function that jumps to its entry, that is not another call.
 */
INLINE int call_comes(struct pt_regs *ctx, bool comes_again)
{
	struct thread *thread = comes_past();
	u64 stack = UPROBE_SP(ctx);
	if (!thread)
		return 0;
	bool is_inside = thread->unit && (comes_again ? stack <= thread->unit : stack < thread->unit);
	if (is_inside && (!RETURNS_BY_STACK || on_stack(thread->unit) == thread->unit_returns))
		return 0;
	thread->unit = stack;
	thread->unit_returns = on_stack(stack);
	return tell_unit(thread, 1);
}

SEC("uprobe/call_begins")
int call_begins(struct pt_regs *ctx)
{
	return call_comes(ctx, 0);
}

SEC("uprobe/loop_begins")
int loop_begins(struct pt_regs *ctx)
{
	return call_comes(ctx, 1);
}

/* A return of the function, or a jump out of it: the stack is as it was at the entry. One that was
 * entered before there was a probe is told once. */
SEC("uprobe/call_ends")
int call_ends(struct pt_regs *ctx)
{
	struct thread *thread = comes_past();
	if (!thread)
		return 0;
	bool is_known = thread->unit || thread->unit_returns;
	if (is_known && UPROBE_SP(ctx) != thread->unit)
		return 0;
	thread->unit = 0;
	thread->unit_returns = NO_RETURN;
	return tell_unit(thread, 0);
}

/* From each beginning to the next end: a beginning that comes before is that of another one. */
SEC("uprobe/operation_begins")
int operation_begins(struct pt_regs *ctx)
{
	return tell_unit(comes_past(), 1);
}

SEC("uprobe/operation_ends")
int operation_ends(struct pt_regs *ctx)
{
	return tell_unit(comes_past(), 0);
}

/* Where one probe alone is: from each to the next one. */
SEC("uprobe/operation_turns")
int operation_turns(struct pt_regs *ctx)
{
	struct thread *thread = comes_past();
	if (!thread)
		return 0;
	if (thread->unit)
		tell_unit(thread, 0);
	thread->unit = 1;
	return tell_unit(thread, 1);
}
