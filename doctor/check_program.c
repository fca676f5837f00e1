/* SPDX-License-Identifier: MIT */
/* The program against the driver and the GPUs. */
#include "check.h"
#include "elf_file.h"

static bool is_python(const struct facts *facts)
{
	return facts->program.torch != NULL;
}

void check_cpu_build(const struct facts *facts, struct verdict *verdict)
{
	if (!is_python(facts) || !has_gpu(facts) || facts->program.cuda.sight == UNSEEN)
		return;
	fine(verdict);
	if (facts->program.cuda.sight == ABSENT)
		wrong(verdict,
		      "install the wheel for CUDA in this environment, as PyTorch's page Get "
		      "Started "
		      "shows",
		      "PyTorch %s in %s is built for %s", facts->program.torch,
		      facts->program.prefix,
		      facts->program.rocm ? "ROCm, not for CUDA" : "the CPU only");
}

/* Whether both versions of CUDA are known. */
static bool comparable(const struct facts *facts, struct verdict *verdict)
{
	if (facts->program.cuda.sight != SEEN)
		return false;
	if (facts->cuda.sight == SEEN)
		return true;
	if (has_gpu(facts) && facts->cuda.why)
		unseen(verdict, &facts->cuda, "the driver's CUDA");
	return false;
}

static bool has_compat(const struct facts *facts)
{
	const struct library *library = first_library(facts, "libcuda.so.1");

	return library && is_compat(library);
}

void check_program_cuda(const struct facts *facts, struct verdict *verdict)
{
	int64_t program = facts->program.cuda.number, driver = facts->cuda.number;

	if (!comparable(facts, verdict))
		return;
	fine(verdict);
	if (program / 1000 > driver / 1000 && !has_compat(facts))
		wrong(verdict,
		      arena_printf(verdict->arena,
				   "install a build of the program for CUDA %lld, or " ON_HOST
				   "a newer driver",
				   (long long)driver / 1000),
		      "the program is built with CUDA %lld.%lld, and the driver supports CUDA up "
		      "to "
		      "%lld.%lld (error 35)",
		      (long long)program / 1000, (long long)program % 1000 / 10,
		      (long long)driver / 1000, (long long)driver % 1000 / 10);
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
			      "and "
			      "new builds leave out old GPUs",
			      "GPU %u has compute capability %lld.%lld, for which the program has "
			      "no "
			      "code",
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
	const char *text = version ? arena_printf(verdict->arena, " (%s)", version) : "";

	return text ? text : "";
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
