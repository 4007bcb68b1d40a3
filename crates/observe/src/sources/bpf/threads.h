/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The thread table, and how records are emitted: task storage, the buffer of each CPU with records
 * written in place, and the slots in which calls are summed until the next record of their thread.
 */
#pragma once
#include "names.h"
#include "python.h"
#include "stacks.h"

/* Set by user space before loading. */
volatile const u32 root_pid = 0;
volatile const u32 nr_execve = 0, nr_io_uring_enter = 0;
/* In the native table and in that of 32 bits. */
volatile const u32 nr_rt_sigreturn[2] = {};
/* Segments of the buffer of each CPU below `cpus_at_start`; a power of two. A CPU from there on was
 * not online at the start, and has a smaller buffer. */
volatile const u32 segments_per_cpu = 1, segments_of_others = 1, cpus_at_start = 1;
/* By call (see `index_of`): the kind of its first argument; for ARG_PATH_AT, of its second; for
 * ARG_FDS, there are several. */
enum { ARG_NONE, ARG_FD, ARG_FDS, ARG_PATH, ARG_PATH_AT, ARG_FUTEX, ARG_POLL, ARG_EPOLL, ARG_SELECT, ARG_RING };
/* From ARG_ENDED on, the waker knows more about a wait; from ARG_SEVERAL on, the wait was for
 * several objects. */
#define ARG_ENDED ARG_FUTEX
#define ARG_SEVERAL ARG_POLL
volatile const u8 arg_kind[2 * CALLS] = {};

/* In `blocked_ns`, which is checked at syscall exit: the call ended another thread's wait. */
#define ENDED_WAIT (1ull << 63)

/* In `unit_returns`: no address. */
#define NO_RETURN 1ull

/* Places for the last calls of a thread: a power of two. */
#define LAST 16

struct thread {
	u64 stamp;     /* of the reference to this entry */
	u64 regs;      /* its saved registers while it is in a call */
	u64 seg;       /* CPU time is charged up to here */
	u64 entered;   /* entry of the current call; 0 when before the thread was of the tree */
	u64 off_ns;    /* off a CPU, in total */
	u64 off_enter; /* the same when the call was entered */
	u64 left_at;
	u64 woken_at;  /* written by the waker */
	u64 ran_ns;    /* the scheduler's counter when it was switched out */
	u64 throttled; /* its cgroups' throttled time, read at throttled_at */
	u64 throttled_at;
	u64 blocked_ns; /* in this call; with ENDED_WAIT */
	u64 cpu_before, delay_before; /* counters before it was of the tree */
	u64 fault_at;   /* when the last stack of a blocking fault was taken */
	u64 owed_ns;    /* blocked time without a stack so far */
	u64 ended_at;   /* when it last woke a thread such that its stack is due; `entered` then */
	u64 ended_in;
	u64 found_at;   /* when it was found alive; 0 when its fork was traced */
	u32 call;      /* the current one, or NO_CALL */
	u32 ended_tid; /* the thread woken at ended_at */
	u8 left;       /* state when switched out; LEFT_NONE on a CPU */
	u8 used;       /* slots */
	u8 kind;       /* first argument of the last call that blocked: ARG_… */
	u8 worker;     /* an io_uring worker: all its time counts as one call */
	u32 at_left_out; /* it is told that it works for a request that is not followed */
	u32 tid;       /* in dwell's PID namespace */
	u32 met_as;    /* its TID in the initial PID namespace */
	struct python_thread python;
	u64 file[2], inode[2]; /* objects that user space knows already */
	u64 held, held_at; /* the object of `held_fd`; only while calls are not traced */
	u32 held_fd, held_call;
	u64 path_told; /* entry of the call whose path is reported */
	u64 mm;        /* its address space since fork or execve */
	u64 task;      /* its task, once known from a switch or wake-up; else 0 */
	u64 sent_on, sent_when; /* the connection that it last sent on; how many had ended then */
	u64 received_on; /* the connection that it last received on */
	u64 unit; /* the piece of work that it is at (`units.h`): the stack at its beginning; or 1. 0: none */
	u64 unit_returns; /* what was on the stack at its beginning; NO_RETURN when it has ended */
	u64 page_inode, page_faults; /* file of a page fault; faults then */
	u64 last[LAST]; /* signatures of its last calls (`results.h`) */
	struct slot slot[SLOTS];
};

/* A reference to an entry of the table. Stamps are unique, so a reference to a reused entry is
 * detected. */
struct thread_ref {
	u64 stamp;
	u32 index;
	u32 pad;
};

struct { MAP_UINT(type, BPF_MAP_TYPE_TASK_STORAGE); MAP_UINT(map_flags, BPF_F_NO_PREALLOC); MAP_TYPE(key, int); MAP_TYPE(value, struct thread_ref); } thread_refs SEC(".maps");
/* The first is unused. User space sets the size. */
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, 2); MAP_TYPE(key, u32); MAP_TYPE(value, struct thread); } threads SEC(".maps");
/* Entries that were freed. */
struct { MAP_UINT(type, BPF_MAP_TYPE_STACK); MAP_UINT(max_entries, 1); MAP_TYPE(value, u32); } free_entries SEC(".maps");
/* User space sets the size: for each CPU that there may be one, and so many segments. */
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(map_flags, BPF_F_MMAPABLE); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct buffer); } buffers SEC(".maps");
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(map_flags, BPF_F_MMAPABLE); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct segment); } segments SEC(".maps");
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct cpu); } cpus SEC(".maps");
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, DENSE); MAP_TYPE(key, u32); MAP_TYPE(value, struct stats); } stats SEC(".maps");

/* The entry of `stats` of a call, plus 1. If two CPUs add a call at the same time it gets two
 * entries, which user space sums. */
u16 dense_of[2 * CALLS] = {};
u32 dense_used = 0;

INLINE u32 index_of(u32 call)
{
	u32 index = (call & (CALLS - 1)) | (call & COMPAT ? CALLS : 0);
	/* Older verifiers do not follow it: so that the compiler keeps the masks of all indices. */
	barrier_var(index);
	return index;
}

INLINE struct cpu *this_cpu(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&cpus, &zero);
}

u32 entries_used = 0;
u64 stamps_given = 0;

INLINE struct thread *thread_at(u32 index)
{
	return index ? bpf_map_lookup_elem(&threads, &index) : 0;
}

/* The index of a task in the table, 0 when it is outside the tree. */
INLINE u32 place_of(struct task_struct *task)
{
	struct thread_ref *ref = bpf_task_storage_get(&thread_refs, task, 0, 0);
	if (!ref)
		return 0;
	u32 index = ref->index;
	struct thread *thread = thread_at(index);
	return thread && thread->stamp == ref->stamp ? index : 0;
}

INLINE struct thread *thread_of(struct task_struct *task)
{
	return thread_at(place_of(task));
}

/*
 * A cache of the entries of recent tasks, by the low bits of their TIDs: threads that wake each
 * other recur, and task storage is an expensive lookup. It is a guess; the entry confirms it.
 */
#define MET 256 /* a power of two */
u32 met[MET] = {};

/* The same as `place_of`, for any task, at each switch and wake-up. */
INLINE u32 place_of_met(struct task_struct *task)
{
	u32 *guess = &met[task->pid & (MET - 1)];
	u32 index = *guess;
	struct thread *thread = thread_at(index);
	/* A kernel that hides switches may have hidden the last one of a task whose address has
	 * been reused. */
	if (likely(thread && thread->task == (u64)task && thread->met_as == task->pid))
		return index;
	index = place_of(task);
	thread = thread_at(index);
	if (!thread)
		return 0;
	thread->task = (u64)task;
	thread->met_as = task->pid;
	*guess = index;
	return index;
}

/* The running task's index in the table, from its task storage. */
__attribute__((noinline)) u32 look_up(struct cpu *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 index = place_of(task);
	struct thread *thread = thread_at(index);
	if (!cpu)
		return 0;
	if (thread)
		thread->regs = cpu->regs;
	cpu->task = (u64)task;
	cpu->index = index;
	return index;
}

/* The same where its registers are not known. `task` is the running one. */
INLINE u32 place_of_running(struct cpu *cpu, struct task_struct *task)
{
	if (likely(cpu->task == (u64)task))
		return cpu->index;
	cpu->regs = 0;
	return look_up(cpu);
}

/* The index of the task that is in a call with these registers, 0 when it is outside the tree. For
 * use at each system call: it needs no helper. */
INLINE u32 running(struct cpu *cpu, struct pt_regs *regs)
{
	if (likely(cpu->regs == (u64)regs))
		return cpu->index;
	cpu->regs = (u64)regs;
	return look_up(cpu);
}

/* An entry for a thread that joins the tree, given its task storage. */
__attribute__((noinline)) u32 add_thread(struct thread_ref *ref)
{
	u32 index = 0;
	if (!ref)
		return 0;
	if (bpf_map_pop_elem(&free_entries, &index))
		index = __sync_fetch_and_add(&entries_used, 1) + 1;
	struct thread *thread = thread_at(index);
	if (!thread)
		return 0;
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->call = NO_CALL;
	thread->stamp = ref->stamp = __sync_fetch_and_add(&stamps_given, 1) + 1;
	ref->index = index;
	return index;
}

__attribute__((noinline)) int remove_thread(struct thread *thread, u32 index)
{
	if (!thread)
		return 0;
	thread->stamp = 0;
	thread->task = 0;
	bpf_map_push_elem(&free_entries, &index, 0);
	return 0;
}

__attribute__((noinline)) int lose(void)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		cpu->lost++;
	return 0;
}

/* Whether another program can interrupt this one on this CPU. */
enum others { ALONE, NOT_ALONE };

#define FULL (~0ull)

INLINE u32 segments_of(u32 cpu)
{
	return likely(cpu < cpus_at_start) ? segments_per_cpu : segments_of_others;
}

INLINE bool has_room(struct buffer *buffer, u64 end, u32 many)
{
	return likely(end - READ_ONCE(buffer->taken) <= (u64)many * SEGMENT);
}

/* The segment at this position of a CPU's buffer. */
INLINE u32 segment_at(u32 cpu, u32 many, u64 position)
{
	u32 first = cpu * many;
	if (unlikely(cpu >= cpus_at_start))
		first = cpus_at_start * segments_per_cpu + (cpu - cpus_at_start) * many;
	return first + (position / SEGMENT & (many - 1));
}

/*
 * Moves the end of this CPU's buffer atomically, where another program can interrupt this one, and
 * returns the old end, or FULL.
 *
 * Global, like all functions that are not called at each event: the verifier checks it once and not
 * on each path that leads here, which halves the time of loading.
 */
__attribute__((noinline)) u64 claim(struct buffer *buffer, u64 whole, u32 many)
{
	if (!buffer)
		return FULL;
	u64 from = READ_ONCE(buffer->written);
	for (int try = 0; try < 4; try++) {
		if (!has_room(buffer, from + whole, many))
			return FULL;
		u64 found = __sync_val_compare_and_swap(&buffer->written, from, from + whole);
		if (likely(found == from))
			return from;
		from = found;
	}
	return FULL;
}

/*
 * Reserves space for a record of this size, to be filled in and then passed to `ready`. Null, and
 * counted, when the reader is behind: nothing is overwritten.
 *
 * Only this CPU takes room here, but unless interrupts are off, a program can be interrupted by
 * another one (a sample, an interrupt's wake-up) between its look at the end and its move of it.
 * The reader is not woken: it looks by the clock, since waking it would put its wake-up on the
 * program's bill.
 */
INLINE void *reserve(u32 size, enum others others)
{
	u32 cpu = bpf_get_smp_processor_id(), many = segments_of(cpu);
	struct buffer *buffer = bpf_map_lookup_elem(&buffers, &cpu);
	if (unlikely(!buffer))
		goto lost;
	u64 whole = sizeof(u64) + size;
	u64 from;
	if (others == ALONE) {
		from = READ_ONCE(buffer->written);
		if (!has_room(buffer, from + whole, many))
			goto lost;
		READ_ONCE(buffer->written) = from + whole;
	} else {
		from = claim(buffer, whole, many);
		if (from == FULL)
			goto lost;
	}
	u32 index = segment_at(cpu, many, from);
	struct segment *segment = bpf_map_lookup_elem(&segments, &index);
	if (likely(segment))
		return segment->bytes + (from & (SEGMENT - sizeof(u64))) + sizeof(u64);
lost:
	lose();
	return 0;
}

INLINE void ready(void *record, u32 size)
{
	STORE_RELEASE((u64 *)record - 1, (u64)size);
}

#define EMIT(record)                                                                                           \
	do {                                                                                                   \
		typeof(record) *place_ = reserve(sizeof(record), NOT_ALONE);                                   \
		if (place_) {                                                                                  \
			*place_ = (record);                                                                    \
			ready(place_, sizeof(record));                                                         \
		}                                                                                              \
	} while (0)

#define HEAD(kind_, a_, tid_, at_) { .at = (at_), .kind = (kind_), .a = (a_), .tid = (tid_) }

INLINE u32 with_slots(u32 size, u32 slots)
{
	return size + slots * sizeof(struct slot);
}

INLINE u32 slots_of(struct thread *thread)
{
	u32 used = thread->used;
	return used < SLOTS ? used : SLOTS;
}

INLINE void take_slots(struct thread *thread, u32 used, struct slot *to)
{
	for (int i = 0; i < SLOTS; i++) {
		if (i >= used)
			break;
		to[i].call = thread->slot[i].call;
		to[i].count = thread->slot[i].count;
		to[i].ns = thread->slot[i].ns;
	}
	thread->used = 0;
}

/* Emits a record with the slots of the thread, if there is one. */
#define EMIT_WITH_SLOTS(record, thread)                                                                        \
	do {                                                                                                   \
		u32 used_ = (thread) ? slots_of(thread) : 0;                                                   \
		u32 size_ = with_slots(sizeof(record), used_);                                                 \
		typeof(record) *place_ = reserve(size_, NOT_ALONE);                                            \
		if (place_) {                                                                                  \
			*place_ = (record);                                                                    \
			place_->head.calls = used_;                                                            \
			if (thread)                                                                            \
				take_slots(thread, used_, place_->tail);                                       \
			ready(place_, size_);                                                                  \
		} else if (thread)                                                                             \
			(thread)->used = 0;                                                                    \
	} while (0)

__attribute__((noinline)) int flush(struct thread *thread, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct flush_record record = { .head = HEAD(K_FLUSH, 0, TID(thread, task), now) };
	EMIT_WITH_SLOTS(record, thread);
	return 0;
}

/* Charges CPU time to a call. */
INLINE void charge(struct thread *thread, u32 call, u32 count, u64 ns, u64 now)
{
	u32 used = thread->used;
	/* Programs repeat themselves: the newest slot is the likely one. */
	for (u32 i = 0; i < SLOTS; i++) {
		if (i >= used)
			break;
		if (thread->slot[i].call == call) {
			thread->slot[i].count += count;
			thread->slot[i].ns += ns;
			return;
		}
	}
	if (used >= SLOTS) {
		flush(thread, now - ns);
		used = 0;
	}
	barrier_var(used); /* as in `copy_page` */
	if (used >= SLOTS)
		return;
	thread->slot[used].call = call;
	thread->slot[used].count = count;
	thread->slot[used].ns = ns;
	thread->used = used + 1;
}

/*
 * A thread of the tree runs, and its switch-in was not traced. Some kernels hide the switches of
 * tasks that they protect, including those to other tasks; some those of an idle CPU. The scheduler
 * has the time since then: `exec_start` is the time up to which it charged the thread, and
 * `sum_exec_runtime` has grown by all that it charged since the switch. Before the first switch on
 * this CPU that was traced, it is not known how far its clock is from ours: then the end is now,
 * and the time may be late by a clock tick.
 */
__attribute__((noinline)) int came_unseen(struct thread *thread, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct switch_record record = {
		.head = HEAD(K_SWITCH, LEFT_NONE, 0, now),
		.cpu = bpf_get_smp_processor_id(),
		.call = NO_CALL,
	};
	struct cpu *cpu = this_cpu();
	if (!thread || !cpu)
		return 0;
	struct sched_entity *se = __builtin_preserve_access_index(&task->se);
	bool blocked = thread->left != LEFT_RUNNABLE && thread->woken_at >= thread->left_at;
	u64 from = blocked ? thread->woken_at : thread->left_at;
	u64 to = cpu->behind ? READ(se, exec_start) + cpu->behind : now;
	u64 at = to - (READ(se, sum_exec_runtime) - thread->ran_ns);
	/* After the wake-up, or the switch-out: of two records with one time, that of the CPU with
	 * the lower number is read first, which may be this one. */
	if ((s64)(at - from) <= 0)
		at = from + 1;
	if ((s64)(at - now) > 0)
		at = now;
	record.head.at = at;
	record.into = TID(thread, task);
	thread->off_ns += at - thread->left_at;
	/* As at a switch that is traced: the call's exit asks whether the wait is worth a stack. */
	if (thread->left == LEFT_BLOCKED && thread->call != NO_CALL)
		thread->blocked_ns += (blocked ? from : at) - thread->left_at;
	thread->seg = at;
	thread->left = LEFT_NONE;
	EMIT(record);
	return 0;
}

#define ON_CPU(thread, now)                                                                                    \
	do {                                                                                                   \
		if (unlikely((thread)->left != LEFT_NONE))                                                     \
			came_unseen(thread, now);                                                        \
	} while (0)

INLINE bool calls_are_off(void)
{
	u64 *off = setting(SETTING_CALLS_OFF);
	return off && unlikely(*off);
}

/* Updates the running thread's times up to now, inside a call or outside. While calls are not
 * traced (`off`), their exits are unknown: samples give the share of time in calls. */
INLINE void settle_as(struct thread *thread, u64 now, bool off)
{
	ON_CPU(thread, now);
	if (off && !thread->worker)
		thread->call = NO_CALL;
	if (thread->call != NO_CALL)
		charge(thread, thread->call, 0, now - thread->seg, now);
	thread->seg = now;
}

INLINE void settle(struct thread *thread, u64 now)
{
	settle_as(thread, now, calls_are_off());
}
