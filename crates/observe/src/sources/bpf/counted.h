/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where the processor's counters overflow.
 */
#pragma once
#include "threads.h"

/*
 * A counter of the processor has overflowed. On x86_64 that is a non-maskable interrupt: it comes
 * also between two instructions of `reserve`, so this program writes nothing that others write. The
 * ring has a lock that it tries for.
 */
SEC("perf_event")
int counted(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	struct counted_record record = {
		.head = HEAD(K_COUNTED, MODE_CALL, TID(thread, task), bpf_ktime_get_ns()),
		.ip = REGS_IP(&ctx->regs),
		.period = ctx->sample_period,
		.pid = process_of(task),
	};
	if (REGS_USER(&ctx->regs))
		record.head.a = MODE_USER;
	u64 *lost = setting(SETTING_LOST_COUNTED);
	if (bpf_ringbuf_output(&stacks, &record, sizeof(record), BPF_RB_NO_WAKEUP) && lost)
		__sync_fetch_and_add(lost, 1);
	return 0;
}
