/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel half of spikes: keeps the latest events of each measured CPU in a ring that user space
 * maps.
 *
 * The oldest records are overwritten and no reader is woken: user space reads the part that it
 * needs after a late wake-up. Only a CPU itself writes its ring. A record's sequence number is
 * written last, so that an incomplete one is detected.
 *
 * Code that runs between a timer's expiry and the thread's clock read adds to the measured latency,
 * with cold caches. So it does little: an interrupt is one record, written at its exit; a wake-up
 * and an idle state only write the CPU's own cache line, and the next switch records them; the
 * expiry of a timer is read when it is started, before the thread sleeps. Events that are not
 * needed return at once.
 */
#include "wire.h"
#include "../sources/bpf/names.h"
#include "../sources/bpf/numbers.h"

/* Records of each ring, minus one: a power of two. Set by user space before loading, as are the
 * sizes of the maps. */
volatile const u32 ring_mask = 0;

struct cpus_type { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(map_flags, BPF_F_MMAPABLE); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct cpu); } cpus SEC(".maps");
struct records_type { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(map_flags, BPF_F_MMAPABLE); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct record); } records SEC(".maps");
struct stacks_type { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(map_flags, BPF_F_MMAPABLE); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct stack); } stacks SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* The suffix after three underscores is not part of the name: fields that only this program reads.
 */
struct task_struct___wake { int prio; int wake_cpu; };
struct irqaction { const char *name; };
struct timerqueue_node { s64 expires; };
struct hrtimer { struct timerqueue_node node; };
#pragma clang attribute pop

#define TASK_STOPPED_OR_TRACED 0xc

INLINE struct cpu *cpu_at(u32 number)
{
	return bpf_map_lookup_elem(&cpus, &number);
}

/* This CPU, if it is measured. */
INLINE struct cpu *measured(void)
{
	struct cpu *cpu = cpu_at(bpf_get_smp_processor_id());
	return cpu && cpu->ring ? cpu : 0;
}

INLINE void *at_place(struct cpu *cpu, u64 place)
{
	u32 index = (cpu->ring - 1) * (ring_mask + 1) + ((u32)place & ring_mask);
	struct record *record = bpf_map_lookup_elem(&records, &index);
	if (record)
		STORE_RELEASE(&record->seq, 0);
	return record;
}

/* Reserves a record in this CPU's ring, where interrupts are off: only an NMI's record may then be
 * overwritten. */
INLINE void *take(struct cpu *cpu, u64 *seq)
{
	u64 place = cpu->written;
	cpu->written = place + 1;
	*seq = place + 1;
	return at_place(cpu, place);
}

/* The same where interrupts are on, or from an NMI. Atomic, so it may wait for memory. */
INLINE void *take_anywhere(struct cpu *cpu, u64 *seq)
{
	u64 place = __sync_fetch_and_add(&cpu->written, 1);
	*seq = place + 1;
	return at_place(cpu, place);
}

#define FINISH(record, kind_, at_)                                                                             \
	do {                                                                                                   \
		(record)->kind = kind_;                                                                        \
		(record)->at = at_;                                                                            \
		STORE_RELEASE(&(record)->seq, seq);                                                            \
	} while (0)

INLINE int hard_begins(void)
{
	struct cpu *cpu = measured();
	if (cpu)
		cpu->hard_began = bpf_ktime_get_ns();
	return 0;
}

/* Interrupts do not nest. `named`: of a driver's handler. */
INLINE int hard_ends(u8 kind, u32 arg, struct irqaction *named)
{
	struct cpu *cpu = measured();
	/* Began before tracing. */
	if (!cpu || !cpu->hard_began)
		return 0;
	u64 seq, now = bpf_ktime_get_ns();
	struct interrupt_record *record = take(cpu, &seq);
	if (!record)
		return 0;
	record->began = cpu->hard_began;
	cpu->hard_began = 0;
	record->arg = arg;
	record->name[0] = 0;
	if (named)
		bpf_probe_read_kernel_str(record->name, sizeof(record->name), named->name);
	FINISH(record, kind, now);
	return 0;
}

/* The current kernel stack. For the rare late wake-up. */
INLINE void take_stack(void *ctx, struct cpu *cpu, u64 now)
{
	u64 place = __sync_fetch_and_add(&cpu->stacks, 1);
	u32 index = (cpu->ring - 1) * STACKS + ((u32)place & (STACKS - 1));
	struct stack *stack = bpf_map_lookup_elem(&stacks, &index);
	if (!stack)
		return;
	STORE_RELEASE(&stack->seq, 0);
	long len = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), 0);
	stack->at = now;
	stack->len = len > 0 ? len : 0;
	STORE_RELEASE(&stack->seq, place + 1);
}

/* The CPU whose measuring thread this is. */
INLINE struct cpu *measured_by(struct task_struct *task)
{
	struct task_struct___wake *wake = (void *)task;
	struct cpu *cpu = cpu_at(FIELD_EXISTS(wake, wake_cpu) ? wake->wake_cpu : 0);
	return cpu && cpu->ring && cpu->pid && cpu->pid == task->pid ? cpu : 0;
}

/* Finds the measuring thread's TID in the initial PID namespace: it is running, with this TID in
 * dwell's. */
__attribute__((noinline)) int find_out(struct cpu *cpu, u64 thread_pid, u32 pid)
{
	if (cpu && number_in_own(thread_pid) == cpu->tid)
		cpu->pid = pid;
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct cpu *cpu = measured();
	if (!cpu)
		return 0;
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	/* With PREEMPT_RT a thread that runs softirqs can be preempted in one; then its time is
	 * that of a task. */
	cpu->soft_began = 0;
	u64 seq, now = bpf_ktime_get_ns();
	u32 from = prev->pid, to = next->pid, state = prev->__state;
	bool preempted = ctx[0] & 1 || !state;
	/* TIDs in dwell's own PID namespace differ. */
	if (own_pid_ns && !cpu->pid && cpu->tid && to)
		find_out(cpu, (u64)READ(next, thread_pid), to);
	struct switch_record *record = take(cpu, &seq);
	if (!record)
		return 0;
	record->from = from;
	record->to = to;
	record->from_priority = ((struct task_struct___wake *)prev)->prio;
	record->to_priority = ((struct task_struct___wake *)next)->prio;
	record->flags = preempted ? F_PREEMPTED : 0;
	record->idle = 0;
	if (!from) {
		record->idle = cpu->idle;
		cpu->idle = 0;
	}
	record->arg = 0;
	if (cpu->pid && to == cpu->pid) {
		u64 woken = cpu->woken;
		struct own_record *own = (void *)record;
		record->flags |= F_OWN;
		own->woken = woken;
		own->due = woken >= cpu->due ? cpu->due : 0;
		record->arg = cpu->moved_from;
		/* Recorded now, since the ring may be overwritten while it is stopped. */
		own->stopped = cpu->stopped;
		cpu->woken = cpu->due = cpu->stopped = 0;
		cpu->moved_from = 0;
		FINISH(record, K_SWITCH, now);
		if (woken && now - woken > cpu->late_ns && from)
			take_stack(ctx, cpu, now);
		return 0;
	}
	if (cpu->pid && from == cpu->pid && !preempted && state & TASK_STOPPED_OR_TRACED)
		cpu->stopped = now;
	bpf_probe_read_kernel(record->to_name, sizeof(record->to_name), __builtin_preserve_access_index(&next->comm));
	FINISH(record, K_SWITCH, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct cpu *cpu = measured_by((void *)ctx[0]);
	if (!cpu)
		return 0;
	u64 now = bpf_ktime_get_ns(), due = cpu->due;
	cpu->woken = now;
	/* Its ring may be that of another CPU; so may the late CPU, whose stack is taken. */
	if (due && now > due && now - due > cpu->late_ns && bpf_get_current_task_btf()->pid)
		take_stack(ctx, cpu, now);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	/* It is reported before the task is on its new CPU. */
	struct task_struct *task = (void *)ctx[0];
	struct task_struct___wake *wake = (void *)ctx[0];
	struct cpu *cpu = cpu_at(ctx[1]);
	if (!cpu || !cpu->ring || !cpu->pid || cpu->pid != task->pid || !FIELD_EXISTS(wake, wake_cpu))
		return 0;
	cpu->moved_from = wake->wake_cpu + 1;
	/* Its wake-up was recorded for the CPU that it comes from. */
	if (!cpu->woken)
		cpu->woken = bpf_ktime_get_ns();
	return 0;
}

/* The timer that the measuring thread is about to sleep on: the first that it starts itself. */
SEC("tp_btf/hrtimer_start")
int hrtimer_start(u64 *ctx)
{
	struct cpu *cpu = measured();
	if (!cpu || !cpu->pid || cpu->hard_began || cpu->soft_began)
		return 0;
	/* One that expired before the thread slept also woke it. */
	if ((cpu->due && !cpu->woken) || bpf_get_current_task_btf()->pid != cpu->pid)
		return 0;
	cpu->due = ((struct hrtimer *)ctx[0])->node.expires;
	cpu->woken = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx) { return hard_ends(K_IRQ, ctx[0], (void *)ctx[1]); }

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	struct cpu *cpu = measured();
	if (cpu)
		cpu->soft_began = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	struct cpu *cpu = measured();
	if (!cpu || !cpu->soft_began)
		return 0;
	u64 seq, now = bpf_ktime_get_ns(), began = cpu->soft_began;
	cpu->soft_began = 0;
	struct interrupt_record *record = take_anywhere(cpu, &seq);
	if (!record)
		return 0;
	record->began = began;
	record->arg = ctx[0];
	FINISH(record, K_SOFTIRQ, now);
	return 0;
}

/* Its end is the next event of the CPU. */
SEC("tp_btf/cpu_idle")
int cpu_idle(u64 *ctx)
{
	u32 state = ctx[0];
	struct cpu *cpu = state == ~0u ? 0 : measured();
	if (cpu)
		cpu->idle = state + 1;
	return 0;
}

SEC("tp_btf/nmi_handler")
int nmi_handler(u64 *ctx)
{
	struct cpu *cpu = measured();
	if (!cpu)
		return 0;
	u64 seq, now = bpf_ktime_get_ns();
	struct interrupt_record *record = take_anywhere(cpu, &seq);
	if (!record)
		return 0;
	record->began = now - ctx[1];
	FINISH(record, K_NMI, now);
	return 0;
}

/* Interrupts without a driver's handler. x86 has tracepoints for them. */
SEC("tp_btf/local_timer_entry")
int local_timer_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/local_timer_exit")
int local_timer_exit(u64 *ctx) { return hard_ends(K_TIMER, 0, 0); }

SEC("tp_btf/reschedule_entry")
int reschedule_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/reschedule_exit")
int reschedule_exit(u64 *ctx) { return hard_ends(K_OTHER, O_RESCHEDULE, 0); }

SEC("tp_btf/call_function_entry")
int call_function_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/call_function_exit")
int call_function_exit(u64 *ctx) { return hard_ends(K_OTHER, O_CALL_FUNCTION, 0); }

SEC("tp_btf/call_function_single_entry")
int call_function_single_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/call_function_single_exit")
int call_function_single_exit(u64 *ctx) { return hard_ends(K_OTHER, O_CALL_FUNCTION_SINGLE, 0); }

SEC("tp_btf/irq_work_entry")
int irq_work_entry(u64 *ctx) { return hard_begins(); }

SEC("tp_btf/irq_work_exit")
int irq_work_exit(u64 *ctx) { return hard_ends(K_OTHER, O_IRQ_WORK, 0); }

char _license[] SEC("license") = "Dual MIT/GPL";
