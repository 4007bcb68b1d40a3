/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Names of kernel functions, for a few hundred addresses when the program has ended.
 *
 * Reading all of /proc/kallsyms for that takes 30 to 40 ms. This program is not attached: user
 * space fills the table and runs it once.
 */
#pragma once
#include "kernel.h"

#define ROUNDS 32
#define NAMES (ROUNDS * 16)
struct kernel_name { u64 address; char text[120]; };
struct { MAP_UINT(type, BPF_MAP_TYPE_ARRAY); MAP_UINT(max_entries, NAMES); MAP_TYPE(key, u32); MAP_TYPE(value, struct kernel_name); } names SEC(".maps");

static const char symbol_format[] = "%ps";

/* Global, so that the verifier checks it once and not in each iteration. */
__attribute__((noinline)) int name_one(u32 key)
{
	struct kernel_name *name = bpf_map_lookup_elem(&names, &key);
	if (!name || !name->address)
		return 0;
	u64 address = name->address;
	bpf_snprintf(name->text, sizeof(name->text), symbol_format, &address, sizeof(address));
	return 1;
}

__attribute__((noinline)) int name_some(u32 from)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		if (!name_one(from + i))
			return 0;
	}
	return 1;
}

SEC("raw_tp/name_addresses")
int name_addresses(u64 *ctx)
{
	for (u32 from = 0; from < NAMES; from += ROUNDS) {
		if (!name_some(from))
			break;
	}
	return 0;
}
