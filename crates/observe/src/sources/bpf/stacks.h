/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stacks of samples and of waits, as they stand: the user stack is copied, user space unwinds it.
 *
 * A wait's stack is taken when the wait is over and its length known, so that short ones cost a comparison. What is
 * blocked adds up, and each time the sum passes the period of waits the wait that it passed in is taken: long
 * waits always, short ones as often as their time is worth.
 *
 * They have a ring of their own: being large, they must not crowd out what the account is made of.
 */
#pragma once
#include "numbers.h"
#include "wire.h"

struct stack_ring_type { MAP_UINT(type, BPF_MAP_TYPE_RINGBUF); MAP_UINT(max_entries, 4 * 1024 * 1024); } stacks SEC(".maps");

/* Put together here. Two for each CPU: a sample may strike while a wait's stack is being taken. */
struct scratch {
	u64 busy;
	struct stack_record record;
};
/* As many as there are CPUs, twice: set by user space. */
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

/* Where the thread's stack ends, as far as that shows; beyond lie the environment or the thread's own data. */
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
 * Copies what of the stack is on the page at `len` bytes from its pointer, and returns how much that is. One that is not
 * there has hardly ever been touched (room in an array, say): the helper leaves zeros in its place, and the copy goes
 * on. It ends with the last page that is there.
 *
 * Global, so that the verifier looks at it once and not in each round.
 */
__attribute__((noinline)) u32 copy_page(struct stack_record *record, u32 len, u32 want)
{
	if (!record || len >= want || len > USER_MAX - CHUNK)
		return 0;
	u64 at = record->regs[1] + len;
	u32 chunk = CHUNK - (at & (CHUNK - 1));
	if (chunk > want - len)
		chunk = want - len;
	if (chunk > CHUNK)
		return 0;
	if (!bpf_probe_read_user(record->user + (len & (USER_MAX - 1)), chunk, (void *)at))
		record->user_len = len + chunk;
	return chunk;
}

/* `user_len` comes as what is wanted and goes as what was had. */
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

/* `ctx` is that of a perf_event program, or none: then there is no kernel part. */
INLINE void tell_stack(void *ctx, struct task_struct *task, u32 which, struct head head, u32 call, u64 stands_for_ns)
{
	u32 at = bpf_get_smp_processor_id() * 2 + which;
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

/* The stack of a wait: of the running thread, from a program that the sampling clock can interrupt. Global, like
 * everything here that is not done at each event. */
__attribute__((noinline)) int tell_wait_stack(struct head *head, u32 call, u64 stands_for_ns)
{
	if (head)
		tell_stack(0, bpf_get_current_task_btf(), 1, *head, call, stands_for_ns);
	return 0;
}
