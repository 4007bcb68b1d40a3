/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Paths that processes ask for again: of the calls that open a file or ask for one by its path, how
 * many gave a path that the same process had given to the same call before.
 *
 * To read a path and look for it takes longer than a call may cost, so this is a sample of calls:
 * of each CPU the first ASKED_FIRST, then pieces of ASKED_PIECE, and so many between two that it is
 * one of ASKED_ONE_IN. Each call of a piece stands for as many. A call is one "again" if one before
 * it *in the sample* was the same: what is asked for again at once, or often, is nearly always
 * found, and what is asked for twice, far apart, seldom. So on average there are at least as many.
 *
 * Paths are remembered by a part of their hash. Where there is no more room, half of all hashes are
 * no longer looked at, and each path that still is stands for twice as many.
 *
 * Those that are asked for again most often get an entry with their text: who is asked for again
 * has a chance to get one each time, and is counted from then on.
 */
#pragma once
#include "objects.h"
#include "results.h"

struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, ASKED_MAX); MAP_TYPE(key, u64); MAP_TYPE(value, struct asked_counts); } asked SEC(".maps");

/* The path of a call, one per CPU: too large for the stack. */
#define GIVEN_MAX 256 /* a power of two */
struct given {
	u64 words[(GIVEN_MAX + ASKED_NAME) / 8];
};
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct given); } givens SEC(".maps");

/* What was asked for, in buckets of a cache line: a part of its hash each, 0 for none. */
#define BUCKET 8
#define REMEMBERED 65536 /* a power of two */
u32 remembered[REMEMBERED] = {};
/* Only hashes that end in so many zeros are looked at. */
u32 asked_level = 0;
#define LEVEL_MAX 15

/* Calls between two pieces: so many on average that pieces are one of ASKED_ONE_IN. */
#define BETWEEN (ASKED_PIECE * (ASKED_ONE_IN - 1))

/* The call of this CPU is in the sample. */
INLINE bool is_in_sample(struct cpu *cpu)
{
	if (likely(cpu->asked_pause)) {
		cpu->asked_pause--;
		return 0;
	}
	return 1;
}

/* One more call is in the sample: for how many it stands. */
INLINE u32 weight_of(struct cpu *cpu)
{
	u32 before = cpu->asked;
	cpu->asked = before + 1;
	if (before + 1 == ASKED_FIRST || before + 1 >= ASKED_FIRST + ASKED_PIECE) {
		cpu->asked = ASKED_FIRST;
		/* Drawn, so that no program is in step with it. */
		cpu->asked_pause = BETWEEN / 2 + bpf_get_prandom_u32() % (BETWEEN + 1);
	}
	return before < ASKED_FIRST ? 1 : ASKED_ONE_IN;
}

/* In two loops, which is quicker to check than one. */
#define HASHED_AT_ONCE 8

__attribute__((noinline)) u64 hash_words(struct given *given, u32 from, u32 size, u64 hash)
{
	if (!given)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < HASHED_AT_ONCE; i++) {
		if ((from + i) * 8 >= size)
			break;
		hash = mix(hash ^ given->words[(from + i) & (GIVEN_MAX / 8 - 1)]);
	}
	return hash;
}

__attribute__((noinline)) u64 hash_given(struct given *given, u32 size, u64 hash)
{
	if (!given)
		return 0;
	/* The last word once, and not in the loop, where the verifier looks at both ways each time.
	 */
	u64 *last = &given->words[size / 8 & (GIVEN_MAX / 8 - 1)];
	*last &= (1ull << size % 8 * 8) - 1;
	for (u32 from = 0; from < GIVEN_MAX / 8; from += HASHED_AT_ONCE) {
		if (from * 8 >= size)
			break;
		hash = hash_words(given, from, size, hash);
	}
	return mix(hash);
}

/* A number for the directory that a relative path begins at. */
__attribute__((noinline)) u64 begins_at(s32 dir)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = 0;
	if (dir == AT_FDCWD) {
		struct fs_struct *fs = READ(task, fs);
		struct path *path = __builtin_preserve_access_index(&fs->pwd);
		struct dentry *dentry = READ(path, dentry);
		inode = READ(dentry, d_inode);
	} else {
		struct file *file = own_file(task, dir);
		inode = READ(file, f_inode);
	}
	return READ(inode, i_ino) ^ (u64)READ(inode, i_sb);
}

/* The last place of a bucket with room for this part; BUCKET where there is none, and ITS_PLACE
 * where it is known. Global, or the verifier would follow each place through what is done with it.
 */
#define ITS_PLACE (BUCKET + 1)
__attribute__((noinline)) u32 place_in(u32 bucket, u32 part, u32 level)
{
	u32 room = BUCKET;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < BUCKET; i++) {
		u32 known = remembered[(bucket + i) & (REMEMBERED - 1)];
		if (known == part)
			return ITS_PLACE;
		/* Of a hash that is no longer looked at. */
		if (!known || known & ((1u << (level & LEVEL_MAX)) - 1))
			room = i;
	}
	return room;
}

/* Whether this hash was asked for before; from now on it was. */
__attribute__((noinline)) u32 is_again(u64 hash, u32 part)
{
	u32 bucket = (u32)hash * BUCKET & (REMEMBERED - 1);
	u32 level = asked_level & LEVEL_MAX;
	u32 room = place_in(bucket, part, level);
	if (room == ITS_PLACE)
		return 1;
	if (room == BUCKET) {
		if (level < LEVEL_MAX)
			asked_level = level + 1;
		room = 0;
	}
	remembered[(bucket + room) & (REMEMBERED - 1)] = part;
	return 0;
}

/* It was asked for again: counts it by its path. `stands_for`: calls; `failed`: so was this one. */
__attribute__((noinline)) int count_path(u64 hash, u32 call, u32 size, u32 stands_for, bool failed)
{
	u32 zero = 0;
	struct asked_counts *known = bpf_map_lookup_elem(&asked, &hash);
	if (!known) {
		/* Where each stands for several, of four one gets an entry. */
		if (stands_for > 1 && bpf_get_prandom_u32() & 3)
			return 0;
		struct given *given = bpf_map_lookup_elem(&givens, &zero);
		struct asked_counts counts = { .call = call, .pid = process_of(bpf_get_current_task_btf()) };
		if (!given || size > GIVEN_MAX)
			return 0;
		/* Its end tells more. */
		u32 from = size > ASKED_NAME ? size - ASKED_NAME : 0;
		counts.cut = from > 0;
		from &= GIVEN_MAX - 1;
		bpf_probe_read_kernel(counts.text, ASKED_NAME, (char *)given->words + from);
		bpf_map_update_elem(&asked, &hash, &counts, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&asked, &hash);
		if (!known)
			return 0;
	}
	__sync_fetch_and_add(&known->again, (u64)stands_for);
	if (failed)
		__sync_fetch_and_add(&known->failed, (u64)stands_for);
	return 0;
}

/* The running thread's call, which is in the sample, was about a path. */
__attribute__((noinline)) int count_asked(struct stats *entry, u32 call, s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool compat __attribute__((unused)) = call & COMPAT;
	u32 zero = 0;
	struct given *given = bpf_map_lookup_elem(&givens, &zero);
	struct cpu *cpu = this_cpu();
	if (!entry || !given || !cpu)
		return 0;
	bool at = arg_kind[index_of(call) & (2 * CALLS - 1)] == ARG_PATH_AT;
	u64 from = at ? ARG1(regs, compat) : ARG0(regs, compat);
	u32 stands_for = weight_of(cpu);
	long size = bpf_probe_read_user_str(given->words, GIVEN_MAX, (void *)from);
	/* An empty one stands for the file of the descriptor; a longer one is not known whole. */
	if (size <= 1 || size >= GIVEN_MAX)
		return 0;
	u64 hash = (u64)call << 32 | task->tgid;
	if ((char)given->words[0] != '/')
		hash ^= mix(begins_at(at ? (s32)ARG0(regs, compat) : AT_FDCWD));
	hash = hash_given(given, size, mix(hash));
	u32 level = asked_level & LEVEL_MAX;
	u32 part = hash >> 32;
	/* 0 is no entry. */
	if (!part)
		part = 1u << 31;
	if (part & ((1u << level) - 1))
		return 0;
	stands_for <<= level;
	bool failed = (u64)result >= (u64)-4095;
	entry->asked_sample++;
	entry->asked += stands_for;
	if (!is_again(hash, part))
		return 0;
	entry->asked_again += stands_for;
	if (failed)
		entry->asked_again_failed += stands_for;
	return count_path(hash, call, size, stands_for, failed);
}
