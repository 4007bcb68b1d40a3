/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that existed before the recording: found among all tasks, added to the thread table, and
 * reported with their state.
 *
 * All other programs are attached before. A thread keeps running while it is inspected, so its
 * state may be outdated when it gets its entry. Two rules keep that harmless. A running or runnable
 * thread is reported as runnable: if it has a CPU, `came_unseen` switches it in at the time when it
 * was found. And user space repeats the iteration until nothing changes, which finds threads that
 * blocked between inspection and entry. The remaining error is microseconds before the window
 * begins.
 */
#pragma once
#include "objects.h"

enum { ALIVE_MAP_HASH = 1 };
#define STATE_NEW 0x800

/* Processes to trace, set by user space. */
struct { MAP_UINT(type, ALIVE_MAP_HASH); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, u32); } wanted SEC(".maps");

/* Its layout is ABI: the first member is the output of an iterator program. */
struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; };
static long (*bpf_seq_write)(struct seq_file *to, const void *data, u32 size) = (void *)127;

/* Kernels for one CPU have no such field. */
#define HAS_ON_CPU FIELD_EXISTS((struct task_struct *)0, on_cpu)

/* By its lowest byte: it is a byte since Linux 7.2, and a word before. */
INLINE bool is_on_cpu(struct task_struct *task)
{
	u64 offset = __builtin_preserve_field_info(task->on_cpu, 0);
	/* Otherwise the load itself has the offset, and the loader compares the sizes. */
	barrier_var(offset);
	return *(u8 *)((void *)task + offset);
}

INLINE u8 condition(struct task_struct *task)
{
	u32 state = task->__state;
	if (state & STATE_DEAD)
		return LEFT_DEAD;
	/* It may be about to block, but has not yet: that will be traced. */
	if (HAS_ON_CPU && is_on_cpu(task))
		return LEFT_RUNNABLE;
	if (state == 0 || state & STATE_WAKING)
		return LEFT_RUNNABLE;
	return state & STATE_STOPPED || is_frozen(task, state) ? LEFT_STOPPED : LEFT_BLOCKED;
}

/* Prints what user space needs of a thread. A function of its own, since its row would stand on the
 * stack, of 512 bytes, below all that is called for the record. */
static __attribute__((noinline)) int print_found(struct seq_file *seq, struct task_struct *task, u32 tid, u32 pid,
						 bool blocked)
{
	struct found_row row = { .tid = tid, .pid = pid };
	if (blocked) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
		USER_REGS(regs, row.regs);
	}
	return bpf_seq_write(seq, &row, sizeof(row));
}

SEC("iter/task")
int find_alive(u64 *ctx)
{
	struct bpf_iter_meta *meta = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[1];
	if (!task)
		return 0;
	u32 pid = process_of(task), tid = number_of(task);
	if (!bpf_map_lookup_elem(&wanted, &pid))
		return 0;
	u8 how = condition(task);
	/* One that is incomplete is found in the next iteration. */
	if (how == LEFT_DEAD || task->__state & STATE_NEW)
		return 0;
	struct files_struct *files = task->files;
	barrier_var(files);
	struct thread_ref *ref = bpf_task_storage_get(&thread_refs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!ref) {
		lose();
		return 0;
	}
	struct thread_ref draft = { .stamp = ref->stamp, .index = ref->index };
	struct thread *thread = thread_at(draft.index);
	bool in_table = thread && thread->stamp == draft.stamp;
	if (in_table) {
		/* There has been no event since it was found, and its state has changed. */
		if (thread->left != LEFT_RUNNABLE || thread->left_at != thread->found_at || how == LEFT_RUNNABLE)
			return 0;
	} else {
		thread = thread_at(add_thread(&draft));
		if (!thread) {
			lose();
			return 0;
		}
	}
	u64 now = bpf_ktime_get_ns();
	struct sched_entity *se = __builtin_preserve_access_index(&task->se);
	struct sched_info *info = __builtin_preserve_access_index(&task->sched_info);
	struct alive_record record = { .head = HEAD(K_ALIVE, how, tid, now), .pid = pid };
	record.counters.cpu_ns = READ(se, sum_exec_runtime);
	record.counters.runqueue_ns = READ(info, run_delay);
	record.counters.minor_faults = task->min_flt;
	record.counters.major_faults = task->maj_flt;
	record.counters.voluntary = task->nvcsw;
	record.counters.involuntary = task->nivcsw;
	bpf_probe_read_kernel(record.name, sizeof(record.name), __builtin_preserve_access_index(&task->comm));
	/* The saved registers of a running thread may be old. */
	bool runs = !HAS_ON_CPU || is_on_cpu(task);
	thread->worker = !!(task->flags & PF_IO_WORKER);
	thread->call = record.call = runs && !thread->worker ? NO_CALL : saved_call(task);
	if (how == LEFT_BLOCKED) {
		if (task->__state & 2)
			record.head.flags |= F_UNINTERRUPTIBLE;
		if (in_iowait(task))
			record.head.flags |= F_IO;
		/* The descriptors of a poll, and paths, are in memory that cannot be read here. */
		u8 kind = record.call == NO_CALL ? ARG_NONE : arg_kind[index_of(record.call) & (2 * CALLS - 1)];
		thread->kind = kind;
		if (kind == ARG_FD || kind == ARG_EPOLL || kind == ARG_RING || kind == ARG_FDS || kind == ARG_FUTEX)
			record.object = object_of(task, (struct pt_regs *)bpf_task_pt_regs(task), files, thread, thread->call,
						   calls_are_off(), now);
	}
	thread->tid = tid;
	thread->cpu_before = record.counters.cpu_ns;
	thread->delay_before = record.counters.runqueue_ns;
	thread->ran_ns = record.counters.cpu_ns;
	thread->throttled = throttled_time(task);
	thread->throttled_at = now;
	/* A moment after this record, since records with that time come from another CPU. */
	thread->found_at = thread->left_at = thread->seg = now + 1;
	thread->owed_ns = tid * 7919ull % 500000;
	EMIT(record);
	thread->left = how;
	if (!in_table) {
		ref->stamp = draft.stamp;
		STORE_RELEASE(&ref->index, draft.index);
	}
	print_found(meta->seq, task, tid, pid, how == LEFT_BLOCKED && !thread->worker);
	return 0;
}

/*
 * Run by user space on each CPU, in an interrupt: when threads were added, and when the window
 * ends. The CPU drops its cached running thread, and reports what that thread did up to now.
 */
SEC("raw_tp/look_here")
int look_here(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	cpu->task = cpu->regs = 0;
	cpu->index = 0;
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	ON_CPU(thread, now);
	/* In the same call as when found: an interrupt in user code leaves no call in the
	 * registers. */
	if (thread->found_at && !thread->entered)
		thread->call = saved_call(task);
	settle(thread, now);
	flush(thread, now);
	return 0;
}
