/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Raw stacks of samples and of waits: the user stack is copied, user space unwinds it.
 *
 * A wait's stack is taken after the wait, when its length is known, so that short ones cost only a
 * comparison. Blocked time is summed, and whenever the sum exceeds the sampling period of waits,
 * the current wait is sampled: long waits always, short ones in proportion to their length.
 *
 * They have a separate ring: they are large, and must not displace the records of the account.
 */
#pragma once
#include "numbers.h"
#include "wire.h"

struct stack_ring_type { MAP_UINT(type, BPF_MAP_TYPE_RINGBUF); MAP_UINT(max_entries, 4 * 1024 * 1024); } stacks SEC(".maps");

/* Scratch for stacks. Two for each CPU: a sample may interrupt the copying of a wait's stack. */
struct scratch {
	u64 busy;
	struct stack_record record;
};
/* Two for each CPU below `scratch_cpus`, and for all others together: set by user space. */
volatile const u32 scratch_cpus = 1;
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, 2); MAP_TYPE(key, u32); MAP_TYPE(value, struct scratch); } scratches SEC(".maps");

/* By `enum setting`. */
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, SETTINGS); MAP_TYPE(key, u32); MAP_TYPE(value, u64); } settings SEC(".maps");

INLINE u64 *setting(u32 which)
{
	return bpf_map_lookup_elem(&settings, &which);
}

INLINE void lose_stack(void)
{
	u64 *lost = setting(SETTING_LOST_STACKS);
	if (lost)
		__sync_fetch_and_add(lost, 1);
}

/* The end of the thread's stack, if known; beyond it are the environment or the thread's data. */
INLINE u64 top_of_stack(struct task_struct *task, u64 sp)
{
	u64 tls = THREAD_POINTER(task);
	struct mm_struct *mm = READ(task, mm);
	u64 start = READ(mm, start_stack) + 16;
	u64 top = sp + USER_MAX;
	if (start > sp && start < top)
		top = start;
	if (tls > sp && tls < top)
		top = tls;
	return top;
}

#define CHUNK 4096

/*
 * Copies the part of the stack on the page at `len` bytes from the stack pointer, and returns its
 * length. A page that is not present has usually never been touched (part of an array, say): the
 * helper fills it with zeros, and the copy continues. It ends with the last present page.
 *
 * Global, so that the verifier checks it once and not in each iteration.
 */
__attribute__((noinline)) u32 copy_page(struct stack_record *record, u32 len, u32 want)
{
	if (!record || len >= want || len > USER_MAX - CHUNK)
		return 0;
	u64 at = record->regs[1] + len;
	u32 chunk = CHUNK - (at & (CHUNK - 1));
	if (chunk > want - len)
		chunk = want - len;
	barrier_var(chunk); /* or the compiler, which knows it, leaves out what tells the verifier */
	if (chunk > CHUNK)
		return 0;
	if (!bpf_probe_read_user(record->user + (len & (USER_MAX - 1)), chunk, (void *)at))
		record->user_len = len + chunk;
	return chunk;
}

/* `user_len` is the requested length on entry and the copied length on return. */
__attribute__((noinline)) int copy_stack(struct stack_record *record)
{
	if (!record)
		return 0;
	u32 want = record->user_len, len = 0;
	record->user_len = 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i <= USER_MAX / CHUNK; i++) {
		u32 chunk = copy_page(record, len, want);
		if (!chunk)
			break;
		len += chunk;
	}
	return 0;
}

/* `ctx` is that of a perf_event program, or null: then there is no kernel stack. */
INLINE void tell_stack(void *ctx, struct task_struct *task, u32 which, struct head head, u32 call, u64 stands_for_ns)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 at = (cpu < scratch_cpus ? cpu : scratch_cpus) * 2 + which;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &at);
	if (!scratch)
		return;
	if (__sync_fetch_and_add(&scratch->busy, 1) == 0) {
		struct stack_record *record = &scratch->record;
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
		record->head = head;
		record->stands_for_ns = stands_for_ns;
		record->pid = process_of(task);
		record->call = call;
		USER_REGS(regs, record->regs);
		record->user_len = top_of_stack(task, record->regs[1]) - record->regs[1];
		record->scratch_regs = 0;
		if (ctx && head.a == MODE_USER) {
			TAKE_SCRATCH(&((struct bpf_perf_event_data *)ctx)->regs, record->scratch);
			record->scratch_regs = SCRATCH_REGS;
		}
		record->kernel_len = 0;
		if (ctx && head.a != MODE_USER) {
			long got = bpf_get_stack(ctx, record->kernel, sizeof(record->kernel), 0);
			if (got > 0)
				record->kernel_len = got;
		}
		copy_stack(record);
		u32 size = record->user_len & (2 * USER_MAX - 1);
		if (size > USER_MAX)
			size = USER_MAX;
		if (bpf_ringbuf_output(&stacks, record, __builtin_offsetof(struct stack_record, user) + size, BPF_RB_NO_WAKEUP))
			lose_stack();
	} else {
		lose_stack();
	}
	__sync_fetch_and_add(&scratch->busy, -1);
}

/* The stack of a wait: of the running thread, from a program that the sampling clock can interrupt.
 * Global, like all functions here that are not called at each event. */
__attribute__((noinline)) int tell_wait_stack(struct head *head, u32 call, u64 stands_for_ns)
{
	if (head)
		tell_stack(0, bpf_get_current_task_btf(), 1, *head, call, stands_for_ns);
	return 0;
}
