/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What threads and processes are called: by dwell's own PID namespace, like everything else that dwell reads of them.
 *
 * A task has its number of the first namespace at hand. In a container it has another one there, for as long as it is not
 * reaped; so the table keeps it.
 */
#pragma once
#include "kernel.h"

/* The number of dwell's own PID namespace; 0 when that is the first one. Set by user space before loading, so that in the
 * first one the verifier sees that all of this is not needed. */
volatile const u32 own_pid_ns = 0;

/* Namespaces lie in each other, as deep as this at most (MAX_PID_NS_LEVEL). */
#define PID_NS_DEPTH 32

/* Stands for a task that has no number in dwell's namespace. */
#define NUMBER_ELSEWHERE 0xffffffffu

/* The number of a `struct pid` in dwell's namespace; 0 where it has none. */
__attribute__((noinline)) u32 number_in_own(u64 address)
{
	/* Or the verifier goes through all of it for nothing. */
	if (!own_pid_ns)
		return 0;
	struct pid *pid = (void *)address;
	u32 level = READ(pid, level);
	u64 numbers = (u64)__builtin_preserve_access_index(&pid->numbers);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PID_NS_DEPTH; i++) {
		if (i > level)
			break;
		/* Its two fields have been these since there are namespaces. */
		struct upid *number = (void *)(numbers + i * 16);
		struct pid_namespace *of = READ(number, ns);
		struct ns_common *common = __builtin_preserve_access_index(&of->ns);
		if (READ(common, inum) == own_pid_ns)
			return READ(number, nr);
	}
	return 0;
}

/* A thread that is not in the table. 0 when it has no number here: it is in another namespace, or was reaped. */
INLINE u32 number_of(struct task_struct *task)
{
	return own_pid_ns ? number_in_own((u64)READ(task, thread_pid)) : task->pid;
}

INLINE u32 process_of(struct task_struct *task)
{
	if (!own_pid_ns)
		return task->tgid;
	struct task_struct *leader = READ(task, group_leader);
	return number_in_own((u64)READ(leader, thread_pid));
}

/* A thread in the table. */
#define TID(thread, task) (own_pid_ns ? (thread)->tid : (task)->pid)
