/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel half: traces the threads of the tree, streams their switches and wake-ups, counts
 * their system calls.
 *
 * It concludes nothing. It sums only what would cost the program too much to stream: system calls
 * are counted per CPU and, for the path, per thread in a few slots, which are appended to the next
 * record of that thread.
 *
 * A thread of the tree has a reference in its task storage to its entry in the thread table: the
 * root gets one when it enters its first execve, a new thread when its creator has one. Without a
 * reference every program returns at once. The entry is freed when the thread has been switched out
 * for the last time. Task storage is an expensive lookup, so each CPU caches the running thread.
 *
 * No locks: a thread's entry is written on the CPU that runs it, statistics and buffers are per
 * CPU.
 */
#include "alive.h"
#include "asked.h"
#include "counted.h"
#include "disk_requests.h"
#include "faults.h"
#include "files.h"
#include "objects.h"
#include "occupants.h"
#include "requests.h"
#include "network.h"
#include "resolver.h"
#include "results.h"
#include "units.h"
#include "tasks.h"

/* ---- system calls ---------------------------------------------------------------------------- */

/* The current call of the running thread, from its saved registers: for when calls are not traced.
 */
__attribute__((noinline)) u32 call_by_registers(void)
{
	return saved_call(bpf_get_current_task_btf());
}

/* The root is about to execute its program: from here on there is a tree. */
__attribute__((noinline)) u32 begin(struct cpu *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	/* No thread has TID 0, and a thread outside dwell's PID namespace has none. */
	if (!cpu || !root_pid || number_of(task) != root_pid)
		return 0;
	u32 index = add_thread(bpf_task_storage_get(&thread_refs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	struct thread *thread = thread_at(index);
	if (!thread)
		return 0;
	struct sched_entity *se = __builtin_preserve_access_index(&task->se);
	struct sched_info *info = __builtin_preserve_access_index(&task->sched_info);
	thread->tid = root_pid;
	thread->cpu_before = READ(se, sum_exec_runtime);
	thread->delay_before = READ(info, run_delay);
	thread->regs = cpu->regs;
	thread->mm = (u64)READ(task, mm);
	cpu->index = index;
	struct head start = HEAD(K_START, 0, root_pid, bpf_ktime_get_ns());
	EMIT(start);
	return index;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	u32 call = ctx[1];
	if (!cpu)
		return 0;
	u32 index = running(cpu, (void *)ctx[0]);
	if (!index) {
		if (likely(call != nr_execve))
			return 0;
		index = begin(cpu);
	}
	struct thread *thread = thread_at(index);
	if (!thread)
		return 0;
	call = known(call);
	if (IS_COMPAT(bpf_get_current_task_btf()))
		call |= COMPAT;
	u64 now = bpf_ktime_get_ns();
	ON_CPU(thread, now);
	thread->call = call;
	thread->off_enter = thread->off_ns;
	thread->entered = now;
	thread->seg = now;
	return 0;
}

/* Exit of a call in which the running thread blocked: is a stack due? Its Python part precedes the
 * stack that it belongs to. */
__attribute__((noinline)) int wait_ends(struct thread *thread, u32 call, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	u64 *setting_ = setting(SETTING_WAIT_PERIOD_NS);
	u64 period = setting_ ? *setting_ : 0;
	u64 owed = thread->owed_ns + (thread->blocked_ns & ~ENDED_WAIT);
	u64 stands_for_ns = 0;
	struct head head = HEAD(K_WAIT_STACK, 0, TID(thread, task), now);
	if (period && owed >= period) {
		stands_for_ns = owed / period * period;
		owed -= stands_for_ns;
	} else if (period && thread->blocked_ns & ENDED_WAIT && thread->ended_in == thread->entered) {
		stands_for_ns = thread->ended_at;
		call = thread->ended_tid;
		head.kind = K_WAKER_STACK;
	}
	thread->blocked_ns = 0;
	thread->owed_ns = owed;
	if (stands_for_ns) {
		tell_python(&thread->python, 1, now);
		tell_wait_stack(&head, call, stands_for_ns);
	}
	return 0;
}

/* A call whose entry was traced has returned: its time, and what else is known with it. */
INLINE int timed(struct thread *thread, struct stats *entry, struct cpu *cpu, struct pt_regs *regs, s64 result, u8 more)
{
	u32 call = thread->call;
	u64 now = bpf_ktime_get_ns();
	ON_CPU(thread, now);
	charge(thread, call, 1, now - thread->seg, now);
	thread->call = NO_CALL;
	thread->seg = now;
	if (unlikely(thread->blocked_ns))
		wait_ends(thread, call, now);

	/* The length of a call that began before the recording is not known. */
	if (unlikely(!thread->entered))
		return 0;
	u64 total = now - thread->entered;
	u64 off = thread->off_ns - thread->off_enter;
	cpu->timed++;
	entry->timed++;
	entry->total_ns += total;
	entry->cpu_ns += total - off;
	if (total > entry->max_ns)
		entry->max_ns = total;
	u32 bucket = log_linear(total);
	if (bucket < BUCKETS)
		entry->histogram[bucket]++;
	count_repeat(thread, entry, regs, call, result);
	if (more & ASKS_FOR_PATH) {
		if (is_in_sample(cpu))
			count_asked(entry, call, result);
	} else if (more) {
		u64 bytes = stands_for(cpu, result);
		if (bytes)
			count_file(call, result, bytes, total - off, now);
		if (unlikely(off))
			count_durable(call, result, total, now);
	}
	return 0;
}

/*
 * Every call that returns is counted here, always: calls, errors, bytes and sizes, from the
 * registers alone. What needs the call's entry, its time and all that follows from it, is for when
 * calls are traced.
 */
SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	s64 result = ctx[1];
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct thread *thread = thread_at(running(cpu, regs));
	if (!thread)
		return 0;
	u32 call = returned_from(regs);
	if (unlikely(result == 0 && result_kind[index_of(call) & (2 * CALLS - 1)] & MAKES_THREAD))
		return 0;
	struct stats *entry = stats_of(call);
	if (!entry)
		return 0;
	cpu->calls++;
	entry->calls++;
	u8 more = count_result(entry, call, result);
	u32 entered_as = thread->call;
	if (likely(calls_are_off())) {
		/* Its entry may have been traced. */
		if (unlikely(entered_as != NO_CALL))
			thread->call = NO_CALL;
		return 0;
	}
	if (entered_as == NO_CALL)
		return 0;
	return timed(thread, entry, cpu, regs, result, more);
}

/* ---- switches and wake-ups ------------------------------------------------------------------- */

/* The running task had the CPU until now, and the one that comes was throttled. */
__attribute__((noinline)) int tell_ran(u32 tid, u64 now, u64 throttled)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	struct ran_record record = { .head = HEAD(K_RAN, 0, tid, now), .throttled_ns = throttled };
	record.cpu = bpf_get_smp_processor_id();
	record.ran = number_of(prev);
	/* 0 is the idle task. */
	if (own_pid_ns && !record.ran && READ(prev, pid))
		record.ran = NUMBER_ELSEWHERE;
	bpf_probe_read_kernel(record.name, sizeof(record.name), __builtin_preserve_access_index(&prev->comm));
	EMIT(record);
	return 0;
}

__attribute__((noinline)) int tell_dead(struct thread *thread, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dead_record record = { .head = HEAD(K_DEAD, 0, 0, now) };
	if (!thread)
		return 0;
	struct sched_entity *se = __builtin_preserve_access_index(&task->se);
	struct sched_info *info = __builtin_preserve_access_index(&task->sched_info);
	record.head.tid = TID(thread, task);
	record.cpu = bpf_get_smp_processor_id();
	record.counters.cpu_ns = READ(se, sum_exec_runtime) - thread->cpu_before;
	record.counters.runqueue_ns = READ(info, run_delay) - thread->delay_before;
	record.counters.minor_faults = READ(task, min_flt);
	record.counters.major_faults = READ(task, maj_flt);
	record.counters.voluntary = READ(task, nvcsw);
	record.counters.involuntary = READ(task, nivcsw);
	EMIT(record);
	return 0;
}

/* Below this run-queue time, the tasks that ran instead are not worth their records. */
#define RAN_NS 20000
/* Below this, a wait for a CPU is not due to throttling (the shortest CFS period is 1 ms), and the
 * cgroups' counters are still valid: reading them is expensive, and some threads are preempted
 * 100,000 times a second. */
#define THROTTLE_NS 500000

/* The shortest time between two stacks of one thread: the length of skipped waits is added to the
 * next. Calls are more frequent than faults. */
#define FAULT_STACK_NS 200000
#define CALL_STACK_NS 5000000

/* A page fault blocks, and no event at its end has the stack; or a call does while calls are not
 * traced. So the stack is taken when the wait begins. */
__attribute__((noinline)) int wait_begins(struct thread *thread, u64 now, u64 at_most_each_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread || now - thread->fault_at < at_most_each_ns)
		return 0;
	thread->fault_at = now;
	struct head head = HEAD(K_FAULT_STACK, 0, TID(thread, task), now);
	tell_python(&thread->python, 1, now);
	tell_wait_stack(&head, NO_CALL, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	/* Here, since the verifier looks up types by name among all of the kernel's at each load
	 * from a trusted pointer. The loaded pointer is not trusted, which is quicker to check. */
	struct files_struct *files = prev->files;
	barrier_var(files);
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	u32 from = place_of_running(cpu, prev);
	u32 to = place_of_met(next);
	struct thread *out = thread_at(from);
	struct thread *into = thread_at(to);
	cpu->task = (u64)next;
	cpu->index = to;
	cpu->regs = into ? into->regs : 0;
	struct occupants *had = occupants_here();
	if (!had)
		return 0;
	u64 clock = switched_at(prev, next);
	if (!out)
		occupied(had, prev, clock);
	had->since = clock;
	if (!out) {
		/* Otherwise the compiler ors the pointers, which the verifier refuses. */
		barrier_var(into);
		if (!into)
			return 0;
	}
	u64 now = bpf_ktime_get_ns();
	cpu->behind = now - clock;
	u32 call = NO_CALL, tid = 0, used = 0;
	u8 how = LEFT_NONE, flags = 0;
	u64 object = 0;
	if (out) {
		u32 state = prev->__state;
		/* Asked once, since it may change: a call's entry is its own or is not known. */
		bool off = calls_are_off();
		settle_as(out, now, off);
		tid = TID(out, prev);
		if (state & STATE_DEAD) {
			how = LEFT_DEAD;
			tell_dead(out, now);
		} else if ((ctx[0] & 1) || state == 0 || (state & STATE_WAKING)) {
			how = LEFT_RUNNABLE;
			if (now - out->throttled_at > THROTTLE_NS) {
				out->throttled = throttled_time(prev);
				out->throttled_at = now;
			}
		} else if (state & STATE_STOPPED || is_frozen(prev, state)) {
			how = LEFT_STOPPED;
		} else {
			how = LEFT_BLOCKED;
			out->at_left_out = 0;
			struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);
			call = out->call;
			if (off) {
				call = call_in(prev, regs);
				/* The known arguments are of another call. */
				out->entered = now;
				if (call != NO_CALL && now - out->fault_at >= CALL_STACK_NS)
					wait_begins(out, now, CALL_STACK_NS);
			}
			if (state & 2)
				flags |= F_UNINTERRUPTIBLE;
			if (in_iowait(prev))
				flags |= F_IO;
			out->kind = arg_kind[index_of(call) & (2 * CALLS - 1)];
			if (call != NO_CALL)
				object = object_of(prev, regs, files, out, call, off, now);
			else {
				tell_page(out, now);
				wait_begins(out, now, FAULT_STACK_NS);
			}
		}
		used = slots_of(out);
		out->left = how;
		out->left_at = now;
		out->ran_ns = prev->se.sum_exec_runtime;
	}
	u32 came = 0;
	if (into) {
		/* Not a record of its own at each wake-up of a CPU. */
		if (!out && !prev->pid)
			flags = F_WAS_IDLE;
		u64 off = into->left_at ? now - into->left_at : 0;
		u8 left = into->left;
		came = TID(into, next);
		into->off_ns += off;
		into->seg = now;
		into->left = LEFT_NONE;
		if (left == LEFT_BLOCKED && into->call != NO_CALL)
			into->blocked_ns += into->woken_at > into->left_at ? into->woken_at - into->left_at : off;
		if (off > RAN_NS) {
			u64 throttled = 0;
			if (left == LEFT_RUNNABLE && off > THROTTLE_NS)
				throttled = throttled_time(next) - into->throttled;
			if (unlikely(throttled))
				tell_ran(came, now, throttled);
			u64 ready = left == LEFT_BLOCKED && into->woken_at > into->left_at ? into->woken_at : into->left_at;
			if (now - ready > RAN_NS)
				tell_occupants(ready, now, clock);
		}
	}
	u32 size = with_slots(sizeof(struct switch_record), used);
	struct switch_record *record = reserve(size, ALONE);
	if (record) {
		record->head.at = now;
		record->head.kind = K_SWITCH;
		record->head.a = how;
		record->head.flags = flags;
		record->head.calls = used;
		record->head.tid = tid;
		record->cpu = bpf_get_smp_processor_id();
		record->into = came;
		record->call = call;
		record->object = object;
		if (out)
			take_slots(out, used, record->tail);
		ready(record, size);
	} else if (out)
		out->used = 0;
	/* Not `how`, or the verifier follows each of its values through all of the above. */
	if (out && unlikely(out->left == LEFT_DEAD))
		remove_thread(out, from);
	return 0;
}

__attribute__((noinline)) int tell_ready(struct cpu *cpu, u32 tid, u64 now)
{
	if (!cpu)
		return 0;
	struct ends_record record = { .head = HEAD(K_READY, 0, tid, now), .cpu = bpf_get_smp_processor_id() };
	record.ends = cpu->ends;
	EMIT(record);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *woken = (void *)ctx[0];
	struct thread *thread = thread_at(place_of_met(woken));
	if (!thread)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct thread *waker = thread_at(place_of_running(cpu, task));
	u64 now = bpf_ktime_get_ns();
	thread->woken_at = now;
	u8 by = waker ? WAKER_TASK : WAKER_OTHER_TASK;
	if (cpu->timer)
		by = WAKER_TIMER;
	else if (cpu->irq)
		by = WAKER_DEVICE;
	else if (cpu->softirq) {
		switch (cpu->softirq - 1) {
		case 1: case 8: by = WAKER_TIMER; break; /* TIMER, HRTIMER */
		case 2: case 3: by = WAKER_NETWORK; break; /* NET_TX, NET_RX */
		case 4: case 5: by = WAKER_DEVICE; break; /* BLOCK, IRQ_POLL */
		default: by = WAKER_INTERRUPT;
		}
		if (by == WAKER_NETWORK && cpu->ready)
			tell_ready(cpu, TID(thread, woken), now);
	}
	/* In an interrupt of no interest, the update of the interrupted thread's times can wait. */
	u32 used = 0;
	if (waker && (by == WAKER_TASK || by == WAKER_NETWORK)) {
		settle(waker, now);
		used = slots_of(waker);
	}
	u32 tid = TID(thread, woken);
	if (unlikely(cpu->request))
		tell_request(cpu, tid, now);
	if (thread->kind >= ARG_ENDED && by <= WAKER_OTHER_TASK)
		tell_ended(thread, waker, tid, now);
	u32 size = with_slots(sizeof(struct wake_record), used);
	/* Interrupts are off (the woken task's lock is held), except where a task about to sleep
	 * wakes itself. */
	struct wake_record *record = reserve(size, likely(woken->pid != task->pid) ? ALONE : NOT_ALONE);
	if (!record) {
		if (used && waker)
			waker->used = 0;
		return 0;
	}
	record->head.at = now;
	record->head.kind = K_WAKE;
	record->head.a = by;
	record->head.flags = 0;
	record->head.calls = used;
	record->head.tid = tid;
	record->cpu = bpf_get_smp_processor_id();
	record->waker = waker ? TID(waker, task) : number_of(task);
	if (by == WAKER_OTHER_TASK)
		bpf_probe_read_kernel(record->name, sizeof(record->name), __builtin_preserve_access_index(&task->comm));
	if (used && waker)
		take_slots(waker, used, record->tail);
	ready(record, size);
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu) {
		cpu->softirq = (u32)ctx[0] + 1;
		cpu->ready = cpu->request = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		cpu->softirq = cpu->ready = cpu->request = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu) {
		cpu->irq = 1;
		cpu->request = 0;
	}
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		cpu->irq = cpu->request = 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		cpu->timer = 1;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_expire_exit(u64 *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		cpu->timer = 0;
	return 0;
}

/* Just before the tasks that wait for the request are woken. */
SEC("tp_btf/block_rq_complete")
int block_rq_complete(u64 *ctx)
{
	u64 address = address_in(ctx);
	struct request *request = (void *)address;
	struct cpu *cpu = this_cpu();
	struct ended *ended = ended_here();
	is_done(address);
	if (!cpu || !ended)
		return 0;
	struct request_queue *queue = READ(request, q);
	struct gendisk *disk = READ(queue, disk);
	u64 task = in_interrupt(cpu) ? 0 : (u64)bpf_get_current_task_btf();
	u32 dev = (u32)READ(disk, major) << 20 | (u32)READ(disk, first_minor);
	u64 made = READ(request, start_time_ns), now = bpf_ktime_get_ns();
	struct issue *issue = issue_of(address);
	u64 given = issue->request == address ? issue->at : 0;
	if (given >= made && given <= now) {
		ended->about.device_ns = now - given;
		ended->about.queue_ns = made ? given - made : NOT_KEPT;
	} else if (made && cpu->request && ended->about.dev == dev && now - made >= ended->about.device_ns) {
		/* A flush: another request was issued in its place, which has just been completed.
		 * */
		ended->about.queue_ns = now - made - ended->about.device_ns;
	} else {
		cpu->request = 0;
		return 0;
	}
	/* Among operations only reads are even without side effects (REQ_OP_READ is 0). */
	ended->about.write = (READ(request, cmd_flags) & 0xff) != 0;
	ended->about.bytes = READ(request, __data_len);
	ended->about.dev = dev;
	ended->task = task;
	cpu->request = 1;
	return 0;
}

/* Since 6.13: a page fault needs a page of a file, whether a read is in progress or not. */
SEC("tp_btf/mm_filemap_fault")
int mm_filemap_fault(u64 *ctx)
{
	struct address_space *mapping = (void *)address_in(ctx);
	return needs_page((u64)READ(mapping, host));
}

/* The same without that tracepoint: only for pages that this thread reads itself. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int mm_filemap_add_to_page_cache(u64 *ctx)
{
	struct folio *folio = (void *)address_in(ctx);
	struct address_space *mapping = READ(folio, mapping);
	return needs_page((u64)READ(mapping, host));
}

/* Since 6.3: a thread sent on a socket. Only data that stays on this host can reach a thread of the
 * tree. */
SEC("tp_btf/sock_send_length")
int sock_send_length(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	struct thread *thread = cpu ? thread_at(place_of_running(cpu, task)) : 0;
	/* One that has failed has sent nothing; its connection may be gone. */
	if (!thread || (s32)ctx[1] <= 0)
		return 0;
	struct sock *sk = (void *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	struct ends_record record = { .head = HEAD(K_SEND, 0, TID(thread, task), now), .cpu = bpf_get_smp_processor_id() };
	u64 key = 0;
	load_ends(sk, &record.ends);
	if (record.ends.family == FAMILY_LOCAL) {
		bpf_probe_read_kernel(&key, sizeof(key), ctx);
		return is_sent_locally(thread, key, now);
	}
	if (record.ends.family != 2 && record.ends.family != 10)
		return 0;
	bool is_tcp = record.ends.protocol == IPPROTO_TCP && record.ends.remote_port;
	if (is_tcp) {
		bpf_probe_read_kernel(&key, sizeof(key), ctx);
		if (unlikely(answers_left_out(thread, record.head.tid, key)))
			return turns_to_left_out(thread, key, 0, now);
	}
	settle(thread, now);
	EMIT_WITH_SLOTS(record, thread);
	/* A connection is known by its address only while none ends. */
	if (is_tcp && (thread->sent_on != key || thread->sent_when != connections_closed))
		sent_on(thread, key, now);
	return 0;
}

/* ---- fork, exec, names and exit -------------------------------------------------------------- */

/* A thread is created: from here on it is of the tree. */
SEC("tp_btf/sched_process_fork")
int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0];
	struct task_struct *child = (void *)ctx[1];
	if (!thread_of(parent))
		return 0;
	if (child->tgid != parent->tgid)
		python_fork(process_of(parent), process_of(child));
	struct thread *thread = thread_at(add_thread(bpf_task_storage_get(&thread_refs, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE)));
	if (!thread) {
		struct cpu *cpu = this_cpu();
		if (cpu)
			cpu->lost++;
		return 0;
	}
	thread->tid = number_of(child);
	thread->left = LEFT_RUNNABLE;
	thread->mm = (u64)READ(child, mm);
	/* Each thread starts at a random point of the period, or identical threads would be sampled
	 * in lockstep. */
	thread->owed_ns = child->pid * 7919ull % 500000;
	return 0;
}

INLINE void become_worker(struct thread *thread, struct task_struct *task)
{
	thread->tid = number_of(task);
	thread->worker = 1;
	thread->left = LEFT_RUNNABLE;
	thread->call = nr_io_uring_enter;
}

/* It is enqueued for the first time: from here on it waits for a CPU. Until then its creator ran.
 */
SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	struct task_struct *parent = bpf_get_current_task_btf();
	struct thread *thread = thread_of(child), *creator = thread_of(parent);
	/* There is no fork event for these. */
	if (!thread && creator && child->flags & PF_IO_WORKER && child->tgid == parent->tgid) {
		thread = thread_at(add_thread(bpf_task_storage_get(&thread_refs, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE)));
		if (!thread)
			lose();
		else
			become_worker(thread, child);
	}
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	thread->seg = thread->left_at = now;
	struct fork_record record = { .head = HEAD(K_FORK, 0, number_of(parent), now), .child = TID(thread, child), .pid = process_of(child) };
	bpf_probe_read_kernel(record.name, sizeof(record.name), __builtin_preserve_access_index(&child->comm));
	if (creator)
		settle(creator, now);
	EMIT_WITH_SLOTS(record, creator);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int sched_process_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	/* A thread other than the group leader takes over its TID. */
	u32 pid = process_of(task), old = own_pid_ns ? thread->tid : (u32)ctx[1];
	thread->tid = pid;
	struct exec_record record = {
		.head = HEAD(K_EXEC, 0, pid, bpf_ktime_get_ns()),
		.entered = thread->entered,
		.pid = pid,
		.old_tid = old,
	};
	bpf_probe_read_kernel(record.name, sizeof(record.name), __builtin_preserve_access_index(&task->comm));
	EMIT(record);
	thread->mm = (u64)READ(task, mm);
	python_exec(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	u64 now = bpf_ktime_get_ns();
	settle(thread, now);
	/* Killed outside a call: the rest of its life is exit work of the kernel. */
	if (thread->call == NO_CALL)
		thread->call = DYING;
	u32 pid = process_of(task);
	struct signal_struct *signal = READ(task, signal);
	struct exit_record record = { .head = HEAD(K_EXIT, 0, TID(thread, task), now), .status = task->exit_code, .pid = pid };
	if (READ(signal, live.counter) == 0) {
		record.head.flags = F_LAST;
		python_exit(pid);
		/* Brought up to date when the last thread began to exit. */
		struct peak_record peak = { .head = HEAD(K_PEAK, 0, pid, now), .pages = READ(signal, maxrss) };
		EMIT(peak);
	}
	EMIT_WITH_SLOTS(record, thread);
	return 0;
}

SEC("tp_btf/task_rename")
int task_rename(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	if (!thread_of(task))
		return 0;
	struct rename_record record = { .head = HEAD(K_RENAME, 0, number_of(task), bpf_ktime_get_ns()) };
	bpf_probe_read_kernel(record.name, sizeof(record.name), (void *)ctx[1]);
	EMIT(record);
	return 0;
}

/* ---- the program of the sampling clock ------------------------------------------------------- */

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	u64 now = bpf_ktime_get_ns();
	ON_CPU(thread, now);
	bool off = calls_are_off();
	if (off)
		thread->call = REGS_USER(&ctx->regs) ? NO_CALL : call_by_registers();
	struct sample_record record = {
		.head = HEAD(K_SAMPLE, MODE_FAULT, TID(thread, task), now),
		.ip = REGS_IP(&ctx->regs),
		.call = thread->call,
		.period_ns = ctx->sample_period,
	};
	if (REGS_USER(&ctx->regs)) {
		record.head.a = MODE_USER;
		/* It was found in a call, but at its exit: the tracepoint had passed. */
		if (thread->found_at)
			thread->call = NO_CALL;
	}
	else if (cpu->softirq)
		record.head.a = MODE_INTERRUPT;
	else if (thread->call != NO_CALL)
		record.head.a = MODE_CALL;
	else {
		/* Before sys_enter and after sys_exit: syscall entry and exit are not faults. */
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (CAME_BY_CALL(regs))
			record.head.a = MODE_ENTRY;
	}
	if (off && !thread->worker)
		thread->call = NO_CALL;
	EMIT(record);
	/* A softirq in a call is part of what the call does; over the program's own code it has
	 * nothing to do with the stack. */
	if (record.head.a != MODE_INTERRUPT || record.call != NO_CALL) {
		struct head head = record.head;
		head.kind = K_SAMPLE_STACK;
		tell_python(&thread->python, 0, now);
		tell_stack(ctx, task, 0, head, record.call, record.period_ns);
	}
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
