/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * PIDs and TIDs in dwell's own PID namespace, as in everything else that dwell reads.
 *
 * A task has its TID of the initial namespace. In a container it has another one, until it is
 * reaped; so the table keeps it.
 */
#pragma once
#include "kernel.h"

/* The inode of dwell's own PID namespace; 0 for the initial one. Set by user space before loading,
 * so that for the initial one the verifier removes all of this. */
volatile const u32 own_pid_ns = 0;

/* The deepest nesting of namespaces (MAX_PID_NS_LEVEL). */
#define PID_NS_DEPTH 32

/* For a task that has no TID in dwell's namespace. */
#define NUMBER_ELSEWHERE 0xffffffffu

/* The PID of a `struct pid` in dwell's namespace; 0 where it has none. */
__attribute__((noinline)) u32 number_in_own(u64 address)
{
	/* Otherwise the verifier checks all of it in vain. */
	if (!own_pid_ns)
		return 0;
	struct pid *pid = (void *)address;
	u32 level = READ(pid, level);
	u64 numbers = (u64)__builtin_preserve_access_index(&pid->numbers);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PID_NS_DEPTH; i++) {
		if (i > level)
			break;
		/* Its two fields have been the same since namespaces exist. */
		struct upid *number = (void *)(numbers + i * 16);
		struct pid_namespace *of = READ(number, ns);
		struct ns_common *common = __builtin_preserve_access_index(&of->ns);
		if (READ(common, inum) == own_pid_ns)
			return READ(number, nr);
	}
	return 0;
}

/* The TID of a thread that is not in the table. 0 when it has none here: it is in another
 * namespace, or was reaped. */
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

/* The TID of a thread in the table. */
#define TID(thread, task) (own_pid_ns ? (thread)->tid : (task)->pid)
