/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What had each CPU lately and is not of the tree: the last stints of each CPU, kept at every
 * switch, and told when a thread of the tree has waited for that CPU. What threads of the tree had
 * is in their switches.
 *
 * All programs of the host pay for what is done at each switch, so the clock is not read there:
 * the scheduler has just done so, for the task that comes. Its clock stands still in interrupts
 * and while a hypervisor has the CPU; it is put beside ours when a wait is told, which is soon.
 */
#pragma once
#include "threads.h"

/* A power of two. Of a wait in which more came and went, the oldest are not told. */
#define OCCUPANTS 32

struct occupant {
	u64 from, to; /* of the scheduler's clock, like all times here */
	u64 name[2];
	u32 tid, pid;
};

struct occupants {
	u64 since; /* the last switch */
	u64 told;  /* stints until then were told */
	u32 next;  /* counts all of them */
	u32 pad;
	struct occupant of[OCCUPANTS];
};

struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct occupants); } occupants SEC(".maps");

INLINE struct occupants *occupants_here(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&occupants, &zero);
}

/* The scheduler's clock at this switch. Before Linux 6.12 the idle task has no time. */
INLINE u64 switched_at(struct task_struct *prev, struct task_struct *next)
{
	return next->pid ? next->se.exec_start : prev->se.exec_start;
}

/* A task that is not of the tree leaves this CPU. In another PID namespace its number is not looked
 * up, which would take long. */
INLINE void occupied(struct occupants *all, struct task_struct *prev, u64 clock)
{
	struct occupant *one = &all->of[all->next & (OCCUPANTS - 1)];
	u64 *name = (u64 *)__builtin_preserve_access_index(&prev->comm);
	u32 tid = prev->pid;
	one->from = all->since;
	one->to = clock;
	one->name[0] = name[0];
	one->name[1] = name[1];
	one->tid = own_pid_ns && tid ? NUMBER_ELSEWHERE : tid;
	one->pid = own_pid_ns ? 0 : prev->tgid;
	all->next += 1;
}

/* Global, so that the verifier checks it once and not in each iteration. */
__attribute__((noinline)) int tell_occupant(u32 index, u64 now, u64 behind)
{
	struct occupants *all = occupants_here();
	if (!all)
		return 0;
	struct occupant *one = &all->of[index & (OCCUPANTS - 1)];
	struct occupant_record record = {
		.head = HEAD(K_OCCUPANT, 0, one->tid, now),
		/* Before the first switch that was seen: since ever. */
		.from = one->from ? one->from + behind : 0,
		.to = one->to + behind,
		.cpu = bpf_get_smp_processor_id(),
		.pid = one->pid,
	};
	((u64 *)record.name)[0] = one->name[0];
	((u64 *)record.name)[1] = one->name[1];
	EMIT(record);
	return 0;
}

/* In two loops, which is quicker to check than one. */
#define TOLD_AT_ONCE 8

__attribute__((noinline)) int tell_some(u32 from, u32 many, u64 now, u64 behind)
{
	for (u32 i = 0; i < TOLD_AT_ONCE; i++) {
		if (i >= many)
			break;
		tell_occupant(from + i, now, behind);
	}
	return 0;
}

/* Of as many tasks as that, before the last `before`: how many left this CPU after `since`. */
__attribute__((noinline)) u32 left_after(u32 before, u64 since)
{
	struct occupants *all = occupants_here();
	u32 many = 0;
	if (!all)
		return 0;
	for (u32 i = 1; i <= TOLD_AT_ONCE; i++) {
		if (all->of[(all->next - before - i) & (OCCUPANTS - 1)].to <= since)
			break;
		many = i;
	}
	return many;
}

/* A thread of the tree comes that has waited for this CPU since then: who had it, oldest first,
 * each once. */
__attribute__((noinline)) int tell_occupants(u64 since, u64 now, u64 clock)
{
	/* What the scheduler's clock is behind ours; it wraps where it is ahead. */
	u64 behind = now - clock;
	struct occupants *all = occupants_here();
	if (!all)
		return 0;
	since -= behind;
	if (all->told > since)
		since = all->told;
	u32 next = all->next, many = 0;
	for (u32 i = 0; i < OCCUPANTS / TOLD_AT_ONCE; i++) {
		u32 some = left_after(many, since);
		many += some;
		if (some < TOLD_AT_ONCE)
			break;
	}
	for (u32 i = 0; i < OCCUPANTS / TOLD_AT_ONCE; i++) {
		if (many <= i * TOLD_AT_ONCE)
			break;
		tell_some(next - many + i * TOLD_AT_ONCE, many - i * TOLD_AT_ONCE, now, behind);
	}
	all->told = clock;
	return 0;
}
