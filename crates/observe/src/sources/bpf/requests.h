/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Block requests: the queue time and service time of each, recorded with the wake-ups that its
 * completion causes.
 *
 * The completion of a request and its wake-ups are in one context: an interrupt, or a kernel thread
 * that handles it. The state here ends with that context.
 */
#pragma once
#include "threads.h"

/* Issue times of requests, by the request's address. On a collision the older one's time is lost.
 */
#define ISSUED 1024 /* a power of two */
struct issue {
	u64 request;
	u64 at;
};
struct issue issued[ISSUED] = {};

/* The last request that was completed on this CPU. */
struct ended {
	struct request_about about;
	u64 task; /* the running task, outside interrupts */
};
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct ended); } ended_requests SEC(".maps");

INLINE bool in_interrupt(struct cpu *cpu)
{
	return cpu->irq || cpu->softirq || cpu->timer;
}

/* The first argument of a tracepoint as a number: the verifier does not permit arithmetic on the
 * pointer. */
INLINE u64 address_in(u64 *ctx)
{
	u64 address = 0;
	bpf_probe_read_kernel(&address, sizeof(address), ctx);
	return address;
}

INLINE struct issue *issue_of(u64 request)
{
	return &issued[request * 0x9e3779b97f4a7c15ull >> 54 & (ISSUED - 1)];
}

INLINE struct ended *ended_here(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&ended_requests, &zero);
}

__attribute__((noinline)) int tell_request(struct cpu *cpu, u32 tid, u64 now)
{
	struct ended *ended = ended_here();
	if (!cpu || !ended)
		return 0;
	if (!in_interrupt(cpu) && ended->task != (u64)bpf_get_current_task_btf()) {
		cpu->request = 0;
		return 0;
	}
	struct request_record record = { .head = HEAD(K_REQUEST, 0, tid, now), .about = ended->about };
	EMIT(record);
	return 0;
}
