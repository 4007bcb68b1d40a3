/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The statistics of each system call, and what calls gave: bytes, nothing, an error, or the same as
 * before. How long they took is up to `dwell.bpf.c`.
 */
#pragma once
#include "threads.h"

/* By call (see `index_of`): the number of its arguments that are compared, and MOVES_BYTES where a
 * result above 0 is a number of bytes that it moved. Set by user space before loading. */
volatile const u8 result_kind[2 * CALLS] = {};
#define COMPARED 3
#define MOVES_BYTES 4
/* It moves bytes from or to the file of its first argument. */
#define READS_FILE 8
#define WRITES_FILE 16
/* It opens a file or asks for one by its path. */
#define ASKS_FOR_PATH 32
/* It makes a thread, which begins with the return from this call: its result there is 0. */
#define MAKES_THREAD 64

/* The index of the highest bit, from the product with a de Bruijn sequence of 64 bits (Leiserson,
 * Prokop and Randall, "Using de Bruijn Sequences to Index a 1 in a Computer Word", 1998). Without
 * branches, since the verifier would follow each of the 64 paths through six of them. */
static const u8 octaves[64] = {
	0, 47, 1, 56, 48, 27, 2, 60, 57, 49, 41, 37, 28, 16, 3, 61,
	54, 58, 35, 52, 50, 42, 21, 44, 38, 32, 29, 23, 17, 11, 4, 62,
	46, 55, 26, 59, 40, 36, 15, 53, 34, 51, 20, 43, 31, 22, 10, 45,
	25, 39, 14, 33, 19, 30, 9, 24, 13, 18, 8, 12, 7, 6, 5, 63,
};

INLINE u32 octave_of(u64 value)
{
	u64 filled = value | value >> 1;
	filled |= filled >> 2;
	filled |= filled >> 4;
	filled |= filled >> 8;
	filled |= filled >> 16;
	filled |= filled >> 32;
	return octaves[(filled * 0x03f79d71b4cb0a89ull) >> 58 & 63];
}

/* The bucket of a duration. */
INLINE u32 log_linear(u64 ns)
{
	if (ns < 8)
		return ns;
	u32 octave = octave_of(ns);
	u32 index = (octave - 2) * 8 + (ns >> ((octave - 3) & 63) & 7);
	return index < BUCKETS ? index : BUCKETS - 1;
}

INLINE struct stats *stats_of(u32 call)
{
	u32 index = index_of(call);
	u32 dense = dense_of[index & (2 * CALLS - 1)];
	if (unlikely(!dense)) {
		dense = __sync_fetch_and_add(&dense_used, 1) + 1;
		if (dense > DENSE)
			dense = DENSE;
		dense_of[index & (2 * CALLS - 1)] = dense;
	}
	struct stats *entry = 0;
	dense -= 1;
	entry = bpf_map_lookup_elem(&stats, &dense);
	if (entry)
		entry->call = dense < DENSE - 1 ? call : OTHER_CALL;
	return entry;
}

/* An error of a call, by its number, which is not the first that the call gave. */
__attribute__((noinline)) int count_error(struct stats *entry, u32 error)
{
	if (!entry)
		return 0;
	for (u32 i = 0; i < ERRORS; i++) {
		struct error_count *one = &entry->by_error[i];
		if (!one->error)
			one->error = error;
		if (one->error == error) {
			one->calls++;
			break;
		}
	}
	return 0;
}

/* A call with its first arguments and its result, as one number. Two of a thread that differ have
 * the same one by chance only; the factors are odd, so that each bit counts. */
INLINE u64 signature_of(u32 call, u8 kind, struct pt_regs *regs, s64 result)
{
	u64 signature = ((u64)result ^ (u64)call << 32) * 0xd6e8feb86659fd93ull;
	bool compat = call & COMPAT;
	(void)compat; /* on arm64 both tables have the same registers */
	/* In the registers of the others is what they happen to hold. */
	u32 compared = kind & COMPARED;
	if (compared > 0)
		signature += ARG0(regs, compat) * 0x9e3779b97f4a7c15ull;
	if (compared > 1)
		signature += ARG1(regs, compat) * 0xc2b2ae3d27d4eb4full;
	if (compared > 2)
		signature += ARG2(regs) * 0x165667b19e3779f9ull;
	return signature;
}

/*
 * What a call gave: bytes, nothing, or an error. Returns what else is to be counted of it while
 * calls are traced: READS_FILE or WRITES_FILE if it moved bytes that may be of a file, or
 * ASKS_FOR_PATH.
 */
INLINE u8 count_result(struct stats *entry, u32 call, s64 result)
{
	u8 kind = result_kind[index_of(call) & (2 * CALLS - 1)];
	if (result > 0 && kind & MOVES_BYTES) {
		u32 size = octave_of(result);
		entry->bytes += result;
		entry->sizes[size < SIZES ? size : SIZES - 1]++;
		return kind & (READS_FILE | WRITES_FILE);
	}
	if (result == 0)
		entry->zeros++;
	else if (unlikely((u64)result >= (u64)-4095)) {
		entry->errors++;
		if (entry->by_error[0].error == (u32)-result)
			entry->by_error[0].calls++;
		else
			count_error(entry, -result);
	}
	return kind & ASKS_FOR_PATH;
}

/*
 * Whether a call of the running thread repeats: it has the arguments and the result of the thread's
 * last call of this number that was traced, as far as that is known: calls whose numbers end in the
 * same four bits share a place. What moved bytes repeats nothing: the bytes are others.
 */
INLINE void count_repeat(struct thread *thread, struct stats *entry, struct pt_regs *regs, u32 call, s64 result)
{
	u64 *last = &thread->last[call & (LAST - 1)];
	u8 kind = result_kind[index_of(call) & (2 * CALLS - 1)];
	if (result > 0 && kind & MOVES_BYTES) {
		*last = 0;
		return;
	}
	u64 signature = signature_of(call, kind, regs, result);
	if (*last == signature)
		entry->repeats++;
	*last = signature;
}
