/* SPDX-License-Identifier: MIT */
/* See fact_lines.h. */
#include "fact_lines.h"

#include "check.h"
#include "elf_file.h"
#include "nvml_library.h"
#include "strbuf.h"

struct lines {
	const struct facts *facts;
	struct arena *arena;
	struct seen_line *list;
	size_t count;
};

static void add(struct lines *lines, const char *key, const char *label, struct fact fact)
{
	if (lines->count < MAX_SEEN)
		lines->list[lines->count++] = (struct seen_line){key, label, fact};
}

static void add_text(struct lines *lines, const char *key, const char *label, const char *text)
{
	if (text)
		add(lines, key, label, fact_text(text));
}

/* "12.4" for 12040 */
static const char *cuda_text(struct arena *arena, int64_t version)
{
	return arena_printf(arena, "%lld.%lld", (long long)version / 1000,
			    (long long)version % 1000 / 10);
}

static void add_driver(struct lines *lines)
{
	const struct facts *facts = lines->facts;
	struct fact fact = facts->module;

	if (fact.sight == SEEN && facts->open_module)
		fact.text = arena_printf(lines->arena, "%s (open module)", fact.text);
	if (fact.sight == ABSENT && facts->nvml_driver.sight == SEEN)
		fact = fact_text(arena_printf(
			lines->arena, "%s, %s", facts->nvml_driver.text,
			is_made_up(&facts->nvml_driver) ? "made up by gpumap pretend" : "by NVML"));
	add(lines, "driver", "driver", fact);
	fact = facts->cuda;
	if (fact.sight == SEEN)
		fact.text = cuda_text(lines->arena, fact.number);
	else if (!fact.why)
		fact = fact_absent();
	add(lines, "driver_cuda", "CUDA of the driver", fact);
	fact = facts->toolkit;
	add(lines, "toolkit", "CUDA Toolkit", fact);
}

/* The library with the highest of these names that the loader finds. */
static void add_library(struct lines *lines, const char *key, const char *label,
			const char *const *names)
{
	const struct library *found = NULL;

	for (size_t i = 0; names[i] && !found; i++)
		found = first_library(lines->facts, names[i]);
	if (!found && lines->facts->folders.sight == UNSEEN)
		add(lines, key, label, lines->facts->folders);
	else if (!found)
		add(lines, key, label, fact_absent());
	else if (found->version && strchr(found->version, '.'))
		add_text(lines, key, label,
			 arena_printf(lines->arena, "%s, %s", found->version, found->path));
	else
		add_text(lines, key, label, found->path);
}

static void add_libraries(struct lines *lines)
{
	static const char *const cuda[] = {"libcuda.so.1", NULL};
	static const char *const cudart[] = {"libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0", NULL};
	static const char *const cudnn[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
	static const char *const nccl[] = {"libnccl.so.2", NULL};

	add_library(lines, "libcuda", "libcuda", cuda);
	add_library(lines, "cudart", "CUDA Runtime", cudart);
	add_library(lines, "cudnn", "cuDNN", cudnn);
	add_library(lines, "nccl", "NCCL", nccl);
}

static void add_limit(struct lines *lines, const char *key, const char *label,
		      const struct fact *limit, int shift, const char *unit)
{
	struct fact fact = *limit;

	if (fact.sight == SEEN)
		fact.text = fact.number < 0 ? "unlimited"
					    : arena_printf(lines->arena, "%lld%s",
							   (long long)fact.number >> shift, unit);
	add(lines, key, label, fact);
}

static void add_gpus(struct lines *lines)
{
	const struct facts *facts = lines->facts;
	struct arena *arena = lines->arena;
	size_t on_bus = facts->pci_count;
	const char *text, *left_out = "";

	if (facts->excluded_gpus)
		left_out = arena_printf(
			arena,
			"; the driver leaves out %zu, as it is configured (NVreg_ExcludedGpus)",
			facts->excluded_gpus);
	if (!facts->nvml_asked)
		text = arena_printf(arena, "%zu on the PCI bus", on_bus);
	else if (facts->nvml != NVML_SUCCESS)
		text = arena_printf(arena, "%zu on the PCI bus; NVML: %s", on_bus,
				    nvml_text(facts->nvml));
	else
		text = arena_printf(arena, "%zu", facts->gpu_count);
	add_text(lines, "gpu_count", "GPUs", arena_printf(arena, "%s%s", text, left_out));
}

/* "sm_80 sm_90 sm_90a" */
static void put_code(struct strbuf *text, const char *kind,
		     const unsigned int scopes[MAX_ARCHITECTURE])
{
	static const struct {
		enum code_scope scope;
		const char *suffix;
	} names[] = {{CODE_PLAIN, ""}, {CODE_FAMILY, "f"}, {CODE_EXACT, "a"}};

	for (int i = 0; i < MAX_ARCHITECTURE; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (scopes[i] & names[k].scope)
				strbuf_printf(text, "%s%s_%d%s", text->length ? " " : "", kind, i,
					      names[k].suffix);
}

/* "sm_80 sm_90 compute_90"; NULL: there is no code. */
static const char *code_text(const struct gpu_code *code, struct arena *arena)
{
	struct strbuf text = {0};

	if (!code)
		return NULL;
	put_code(&text, "sm", code->machine);
	put_code(&text, "compute", code->ptx);
	return strbuf_keep(&text, arena);
}

static void add_program(struct lines *lines)
{
	const struct program_facts *program = &lines->facts->program;
	const struct python *python = lines->facts->python_count ? lines->facts->pythons : NULL;
	struct fact torch = fact_absent(), cuda = program->cuda;

	if (!program->name)
		return;
	add(lines, "program", "program", program->kind);
	if (python) {
		const struct package *package = &python->packages[PACKAGE_TORCH];

		if (package->site) {
			torch = fact_text(version_text(package));
			cuda = package->cuda;
		}
		add_text(lines, "interpreter", "interpreter", python->path);
		add_text(lines, "prefix", "its prefix", python->prefix);
		add(lines, "torch", "PyTorch", torch);
	}
	if (torch.sight == SEEN || cuda.sight == SEEN)
		add(lines, "program_cuda", "built for CUDA", cuda);
	add_text(lines, "code", "code for", code_text(program->code, lines->arena));
}

const char *seen_needed(const struct needed *needed, struct arena *arena)
{
	if (!needed->path)
		return "not found";
	if (needed->version && strchr(needed->version, '.'))
		return arena_printf(arena, "%s, %s", needed->version, needed->path);
	return needed->path;
}

size_t seen_lines(const struct facts *facts, struct arena *arena, struct seen_line ret[MAX_SEEN])
{
	struct lines lines = {facts, arena, ret, 0};

	add(&lines, "system", "system", facts->os);
	add(&lines, "kernel", "Linux", facts->kernel);
	add(&lines, "container", "container", facts->container);
	add_driver(&lines);
	add_libraries(&lines);
	add_gpus(&lines);
	if (facts->environ && environ_find(facts->environ, "CUDA_VISIBLE_DEVICES"))
		add_text(&lines, "visible", "visible list",
			 environ_find(facts->environ, "CUDA_VISIBLE_DEVICES"));
	add_limit(&lines, "shm", "/dev/shm", &facts->shm, 20, " MiB");
	add_limit(&lines, "memlock", "locked memory", &facts->memlock, 10, " KiB");
	add_limit(&lines, "open_files", "open files", &facts->open_files, 0, "");
	add(&lines, "cpus", "CPUs", facts->cpus);
	add_program(&lines);
	return lines.count;
}

const char *seen_gpu(const struct gpu *gpu, struct arena *arena)
{
	const char *name = gpu->name ? gpu->name : "GPU", *use = "", *mode = "";

	if (gpu->state != NVML_SUCCESS)
		return arena_printf(arena, "%s: %s", name, nvml_text(gpu->state));
	if (gpu->processes > 0)
		use = arena_printf(arena, ", %lld process%s", (long long)gpu->processes,
				   gpu->processes == 1 ? "" : "es");
	else if (gpu->processes == 0)
		use = ", no process";
	if (gpu->compute == NVML_COMPUTE_EXCLUSIVE_PROCESS ||
	    gpu->compute == NVML_COMPUTE_EXCLUSIVE_THREAD)
		mode = ", exclusive: only one process can use it (with MPS: the MPS server)";
	if (gpu->memory < 0)
		return arena_printf(arena, "%s%s%s", name, use, mode);
	return arena_printf(arena, "%s, %lld MiB, %lld MiB used%s%s", name,
			    (long long)gpu->memory >> 20, (long long)gpu->used >> 20, use, mode);
}
