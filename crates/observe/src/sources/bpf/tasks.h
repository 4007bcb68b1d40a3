/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tasks of programs that schedule them themselves: goroutines.
 *
 * `tasks.rs` attaches these programs to functions of Go's runtime, in processes that serve
 * requests. Arguments are in registers since Go 1.17.
 */
#pragma once
#include "threads.h"

/* As all programs of uprobes they can be preempted, and touch nothing that those of switches write
 * (`units.h`). */
INLINE struct thread *counted_thread(void)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		__sync_fetch_and_add(&cpu->tasks, 1);
	return thread_of(bpf_get_current_task_btf());
}

INLINE int tell_task(u32 did, u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = counted_thread();
	if (!thread)
		return 0;
	struct task_record record = { .head = HEAD(K_TASK, did, TID(thread, task), bpf_ktime_get_ns()), .task = address };
	EMIT(record);
	return 0;
}

/* runtime.execute(gp, …): this thread runs it from now on. */
SEC("uprobe/task_runs")
int task_runs(struct pt_regs *ctx)
{
	return tell_task(TASK_RUNS, GO_PARAMETER0(ctx));
}

/* runtime.goexit0(gp): the thread has run it, and it has ended. */
SEC("uprobe/task_ends")
int task_ends(struct pt_regs *ctx)
{
	return tell_task(TASK_ENDS, GO_PARAMETER0(ctx));
}

/* runtime.runqput(pp, gp, …): it can run. */
SEC("uprobe/task_ready")
int task_ready(struct pt_regs *ctx)
{
	return tell_task(TASK_READY, GO_PARAMETER1(ctx));
}

/* runtime.gopark(unlock, lock, reason, …): the running one waits. Go's code has frame pointers. */
SEC("uprobe/task_waits")
int task_waits(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = counted_thread();
	if (!thread)
		return 0;
	struct task_waits_record record = {
		.head = HEAD(K_TASK_WAITS, 0, TID(thread, task), bpf_ktime_get_ns()),
		.task = GO_TASK(ctx),
		.on = GO_PARAMETER1(ctx),
		.pid = process_of(task),
		.reason = GO_PARAMETER2(ctx) & 0xff,
	};
	bpf_get_stack(ctx, record.callers, sizeof(record.callers), BPF_F_USER_STACK);
	EMIT(record);
	return 0;
}
