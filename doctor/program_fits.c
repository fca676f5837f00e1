/* SPDX-License-Identifier: MIT */
/* The program against the driver and the GPUs. */
#include "check.h"
#include "elf_file.h"

/* A base environment may have one for the CPU. */
const struct python *first_with_torch(const struct facts *facts)
{
	const struct python *python = facts->pythons;

	for (size_t i = 1; i < facts->python_count && !python->packages[PACKAGE_TORCH].site; i++)
		python++;
	return python;
}

void check_cpu_build(const struct facts *facts, struct verdict *verdict)
{
	const struct python *python = first_with_torch(facts);
	const struct package *torch = &python->packages[PACKAGE_TORCH];

	if (!torch->site || !has_gpu(facts) || torch->cuda.sight == UNSEEN)
		return;
	fine(verdict);
	if (torch->cuda.sight == ABSENT)
		wrong(verdict,
		      "install the wheel for CUDA in this environment, as PyTorch's page Get "
		      "Started shows",
		      "PyTorch %s in %s is built for %s", version_text(torch), python->prefix,
		      torch->rocm ? "ROCm, not for CUDA" : "the CPU only");
}

static bool has_compat(const struct facts *facts)
{
	const struct library *library = first_library(facts, "libcuda.so.1");

	return library && is_compat(library);
}

bool needs_newer_driver(const struct facts *facts, int64_t cuda)
{
	return facts->cuda.sight == SEEN && cuda / 1000 > facts->cuda.number / 1000 &&
	       !has_compat(facts);
}

const char *version_text(const struct package *package)
{
	return package->version ? package->version : "of an unknown version";
}

/* Compares what `name` is built with. False: nothing more is to be said. */
static bool compare_cuda(const struct facts *facts, struct verdict *verdict,
			 const struct fact *cuda, const char *name, const char *place)
{
	int64_t driver = facts->cuda.number;

	if (cuda->sight != SEEN || !name)
		return true;
	if (facts->cuda.sight != SEEN) {
		if (has_gpu(facts))
			unseen(verdict, facts->cuda.why, "the driver's CUDA");
		return false;
	}
	fine(verdict);
	if (!needs_newer_driver(facts, cuda->number))
		return true;
	wrong(verdict,
	      arena_printf(verdict->arena,
			   "install a build of %s for CUDA %lld%s, or " ON_HOST "a newer driver",
			   name, (long long)driver / 1000, place),
	      "%s%s is built with CUDA %s, and the driver supports CUDA up to %lld.%lld (error 35)",
	      name, place, cuda->text, (long long)driver / 1000, (long long)driver % 1000 / 10);
	return false;
}

void check_program_cuda(const struct facts *facts, struct verdict *verdict)
{
	if (!compare_cuda(facts, verdict, &facts->program.cuda, "the program", ""))
		return;
	for (size_t i = 0; i < facts->python_count; i++)
		for (enum package_kind k = 0; k < PACKAGE_KINDS; k++) {
			const struct python *python = &facts->pythons[i];
			const struct package *package = &python->packages[k];
			const char *place = package->site ? arena_printf(verdict->arena, " in %s",
									 python->prefix)
							  : NULL;

			if (place &&
			    !compare_cuda(facts, verdict, &package->cuda, package_name(k), place))
				return;
		}
}

/* Machine code runs on its own and higher minor versions; PTX is compiled for what is newer. Code
 * that uses what only a family has stays in the major version, and code for one compute capability
 * runs on no other. */
static bool runs_on(const struct gpu_code *code, const struct gpu *gpu)
{
	int64_t capability = gpu->major * 10 + gpu->minor;

	for (int64_t i = 0; i <= capability && i < MAX_ARCHITECTURE; i++) {
		unsigned int both = code->machine[i] | code->ptx[i];

		if ((i == capability && both) || code->ptx[i] & CODE_PLAIN)
			return true;
		if (i / 10 == gpu->major && both & (CODE_PLAIN | CODE_FAMILY))
			return true;
	}
	return false;
}

void check_architectures(const struct facts *facts, struct verdict *verdict)
{
	const struct gpu_code *code = facts->program.code;

	if (!code)
		return;
	for (size_t i = 0; i < facts->gpu_count; i++) {
		const struct gpu *gpu = &facts->gpus[i];

		if (gpu->major < 0 || !gpu->visible)
			continue;
		if (!runs_on(code, gpu)) {
			wrong(verdict,
			      "install a build that supports this GPU; new GPUs need new builds, "
			      "and new builds leave out old GPUs",
			      "GPU %u has compute capability %lld.%lld, for which the program has "
			      "no code",
			      gpu->index, (long long)gpu->major, (long long)gpu->minor);
			return;
		}
		fine(verdict);
	}
}

void check_needed(const struct facts *facts, struct verdict *verdict)
{
	const struct program_facts *program = &facts->program;

	for (size_t i = 0; i < program->needed_count; i++) {
		const struct needed *n = &program->needed[i];

		if (!n->path) {
			wrong(verdict,
			      starts_with(n->name, "libcuda.so.")
				      ? "install the driver's library for CUDA"
				      : "install it, in the program's environment or the system's "
					"folders; if it is elsewhere, set LD_LIBRARY_PATH",
			      "%s needs %s, which is not found", n->by, n->name);
			return;
		}
		fine(verdict);
	}
}

/* " (9.1.0)"; "" for a version that is not known. */
static const char *in_brackets(struct verdict *verdict, const char *version)
{
	return version ? arena_printf(verdict->arena, " (%s)", version) : "";
}

void check_hidden(const struct facts *facts, struct verdict *verdict)
{
	const struct program_facts *program = &facts->program;

	for (size_t i = 0; i < program->needed_count; i++) {
		const struct needed *n = &program->needed[i];

		if (n->wheel) {
			wrong(verdict,
			      "unset LD_LIBRARY_PATH for the program, or remove the folder",
			      "LD_LIBRARY_PATH makes the program load %s%s, and not its own copy "
			      "%s%s",
			      n->path, in_brackets(verdict, n->version), n->wheel,
			      in_brackets(verdict, n->wheel_version));
			return;
		}
		fine(verdict);
	}
}

const char *program_unchecked(const struct facts *facts, struct arena *arena)
{
	const struct program_facts *program = &facts->program;

	if (program->kind.why)
		return arena_printf(arena, "the program: %s", program->kind.why);
	if (!program->name || has_packages(facts->pythons) || program->needed_count ||
	    program->code)
		return NULL;
	return arena_printf(arena,
			    "the program: %s has " NO_PACKAGE
			    ", and no library of CUDA; name the program that uses the GPU",
			    program->name);
}
