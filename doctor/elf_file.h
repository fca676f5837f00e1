/* SPDX-License-Identifier: MIT */
/* What a program or library of ELF needs, read from its file. Nothing is loaded. */
#ifndef GM_ELF_FILE_H
#define GM_ELF_FILE_H

#include "facts.h"

enum { MAX_NEEDED = 256, MAX_ARCHITECTURE = 256 };

struct elf_file {
	const char *path;
	const char *needed[MAX_NEEDED];
	size_t count;
	const char *rpath, *runpath; /* NULL: it has none */
};

/* False: it is not a file of ELF with 64 bits, or it cannot be read. */
bool elf_read(struct facts *facts, const char *path, struct elf_file *ret);

/* On which GPUs code for a compute capability runs: "sm_90" on later ones too, "sm_100f" on later
 * ones of its family, "sm_90a" on this one alone. */
enum code_scope { CODE_PLAIN = 1, CODE_FAMILY = 2, CODE_EXACT = 4 };

/* The code for GPUs in a file: its scopes by compute capability, 90 for 9.0. */
struct gpu_code {
	bool any;
	unsigned int machine[MAX_ARCHITECTURE]; /* machine code */
	unsigned int ptx[MAX_ARCHITECTURE];
};

/* Adds the code in the section that nvcc makes. False: the file cannot be read. */
bool elf_gpu_code(struct facts *facts, const char *path, struct gpu_code *ret);

#endif
