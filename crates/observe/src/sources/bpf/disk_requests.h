/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each process asked of each disk: how large its requests were, how far each lay from the one
 * before, and how many of the tree's were under way when each was issued.
 *
 * A request is of the thread that made it. Since Linux 6.5 the kernel says which that is
 * (`block_io_start`); before, it is the thread that ran when the request was issued to the driver,
 * which of a disk with a scheduler may be another one. Requests of the kernel's own threads, such
 * as those that write back pages later, are nobody's.
 *
 * Requests are known by their address. Of two of the tree whose addresses share an entry the older
 * one no longer counts as under way.
 */
#pragma once
#include "requests.h"
#include "results.h"

struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, DISK_USES_MAX); MAP_TYPE(key, struct disk_key); MAP_TYPE(value, struct disk_counts); } disk_uses SEC(".maps");

#define ASKERS 1024 /* a power of two */
struct asker {
	u64 request;
	u32 pid;   /* 0: nobody of the tree */
	u32 place; /* in `under_way`, plus 1, from its issue to its completion; else 0 */
};
struct asker askers[ASKERS] = {};

/* Requests of the tree that are under way, by a hash of their disk. */
#define DISKS 64 /* a power of two */
u32 under_way[DISKS] = {};

/* The kernel says who makes a request. */
u32 told_by_start = 0;

INLINE struct asker *asker_of(u64 request)
{
	return &askers[request * 0x9e3779b97f4a7c15ull >> 54 & (ASKERS - 1)];
}

INLINE void not_under_way(struct asker *asker)
{
	u32 place = asker->place;
	asker->place = 0;
	if (place)
		__sync_fetch_and_add(&under_way[(place - 1) & (DISKS - 1)], -1);
}

/* The running thread makes this request. */
__attribute__((noinline)) int made_by(u64 request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct asker *asker = asker_of(request);
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	bool ours = !in_interrupt(cpu) && place_of_running(cpu, task);
	if (!ours && asker->request != request)
		return 0;
	not_under_way(asker);
	asker->request = request;
	asker->pid = ours ? process_of(task) : 0;
	return 0;
}

__attribute__((noinline)) int count_request(struct disk_key *key, u64 sector, u32 bytes, u32 depth)
{
	struct cpu *cpu = this_cpu();
	if (!key || !cpu)
		return 0;
	cpu->disk_requests++;
	struct disk_counts *counts = bpf_map_lookup_elem(&disk_uses, key);
	if (!counts) {
		struct disk_counts none = {};
		bpf_map_update_elem(&disk_uses, key, &none, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&disk_uses, key);
		if (!counts)
			return 0;
	}
	u64 end = counts->end;
	counts->end = sector + (bytes >> 9);
	if (end) {
		u64 distance = sector > end ? sector - end : end - sector;
		u32 octave = distance ? octave_of(distance) + 1 : 0;
		barrier_var(octave); /* or the bound is put in terms that the verifier does not follow */
		if (octave >= DISTANCES)
			octave = DISTANCES - 1;
		__sync_fetch_and_add(&counts->distances[octave], 1);
	}
	u32 size = octave_of(bytes);
	barrier_var(size);
	if (size >= SIZES)
		size = SIZES - 1;
	__sync_fetch_and_add(&counts->sizes[size], 1);
	__sync_fetch_and_add(&counts->requests, 1);
	__sync_fetch_and_add(&counts->bytes, (u64)bytes);
	__sync_fetch_and_add(&counts->depths, (u64)depth);
	if (depth == 1)
		__sync_fetch_and_add(&counts->alone, 1);
	if (counts->depth_max < depth)
		counts->depth_max = depth;
	return 0;
}

/* A request is issued to the driver, perhaps once more. */
__attribute__((noinline)) int is_issued(u64 address, u32 dev, u32 op, u64 sector, u32 bytes)
{
	struct asker *asker = asker_of(address);
	bool again = asker->request == address && asker->place;
	if (!told_by_start && !again)
		made_by(address);
	if (asker->request != address || !asker->pid || again)
		return 0;
	/* Of the operations, REQ_OP_READ and REQ_OP_WRITE move bytes. A flush has none. */
	if (op > 1 || !bytes)
		return 0;
	struct disk_key key = { .dev = dev, .pid = asker->pid, .write = op };
	u32 place = dev * 0x9e3779b1u >> 26 & (DISKS - 1);
	u32 before = __sync_fetch_and_add(&under_way[place], 1);
	asker->place = place + 1;
	return count_request(&key, sector, bytes, before + 1);
}

INLINE void is_done(u64 request)
{
	struct asker *asker = asker_of(request);
	if (asker->request == request) {
		not_under_way(asker);
		asker->pid = 0;
	}
}

/* Since 6.5: the running thread makes a request, which may wait before it is issued. */
SEC("tp_btf/block_io_start")
int block_io_start(u64 *ctx)
{
	told_by_start = 1;
	return made_by(address_in(ctx));
}
