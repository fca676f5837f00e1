/* SPDX-License-Identifier: MIT */
/* See check.h. */
#include "check.h"

#include "strbuf.h"

void fine(struct verdict *verdict)
{
	verdict->outcome = OUTCOME_FINE;
}

void unseen(struct verdict *verdict, const char *why, const char *what)
{
	if (!why)
		return;
	verdict->outcome = OUTCOME_UNSEEN;
	verdict->text = arena_printf(verdict->arena, "%s: %s", what, why);
}

bool is_unseen(struct verdict *verdict, const struct fact *fact, const char *what)
{
	if (fact->sight == UNSEEN)
		unseen(verdict, fact->why, what);
	return fact->sight == UNSEEN;
}

void wrong(struct verdict *verdict, const char *fix, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	verdict->text = arena_vprintf(verdict->arena, format, args);
	va_end(args);
	verdict->outcome = OUTCOME_WRONG;
	verdict->fix = fix;
}

/* The text with its separator before it, unless it is the first. */
static void add_to_list(struct strbuf *list, const char *separator, const char *text)
{
	strbuf_printf(list, "%s%s", list->length ? separator : "", text);
}

/* Whether it holds of a GPU that this process uses. */
static bool applies(const struct gpu *gpu, gpu_holds *holds)
{
	return gpu->visible && holds(gpu);
}

const char *gpus_that(const struct facts *facts, struct verdict *verdict, gpu_holds *holds)
{
	struct strbuf list = {0};
	const char *text;

	for (size_t i = 0; i < facts->gpu_count; i++)
		if (applies(&facts->gpus[i], holds))
			add_to_list(&list, ", ", FORMAT("%u", facts->gpus[i].index));
	if (!list.length)
		return NULL;
	text = strbuf_keep(&list, verdict->arena);
	return arena_printf(verdict->arena, "GPU%s %s", strchr(text, ',') ? "s" : "", text);
}

/* The PCI addresses of the GPUs that hold. Their numbers may be those of a container or a job,
 * where the host has others. NULL: one of them is not known. */
static const char *addresses_that(const struct facts *facts, struct verdict *verdict,
				  gpu_holds *holds)
{
	struct strbuf list = {0};
	bool known = true;
	const char *text;

	for (size_t i = 0; i < facts->gpu_count; i++) {
		const struct gpu *gpu = &facts->gpus[i];

		if (!applies(gpu, holds))
			continue;
		known = known && gpu->pci;
		add_to_list(&list, ",", gpu->pci ? gpu->pci : "");
	}
	text = strbuf_keep(&list, verdict->arena);
	return known ? text : NULL;
}

/* The remedy, whose commands ": nvidia-smi -i N ..." have the addresses of GPUs in place of N.
 * Without addresses they are left out: such a command could change the GPU of another user. */
static const char *with_addresses(struct verdict *verdict, const char *fix, const char *addresses)
{
	static const char command[] = ": nvidia-smi -i ";
	struct strbuf text = {0};
	const char *place;

	while ((place = fix ? strstr(fix, command) : NULL)) {
		strbuf_printf(&text, "%.*s", (int)(place - fix), fix);
		fix = place + strlen(command) + strlen("N");
		if (addresses)
			strbuf_printf(&text, "%s%s", command, addresses);
		else
			fix += strcspn(fix, ";");
	}
	strbuf_printf(&text, "%s", fix ? fix : "");
	return strbuf_keep(&text, verdict->arena);
}

/* Without NVML the state of a GPU is not known. */
static bool without_nvml(const struct facts *facts, struct verdict *verdict)
{
	static const char what[] = "the state of the GPUs";

	if (facts->gpu_count)
		return false;
	if (facts->tegra)
		unseen(verdict, "a Jetson's GPU is not asked", what);
	else if (has_gpu(facts) && !facts->nvml_asked)
		unseen(verdict, "--root has no NVML", what);
	else if (has_gpu(facts) && facts->nvml != NVML_SUCCESS)
		unseen(verdict, "NVML does not answer", what);
	return true;
}

void judge_gpus(const struct facts *facts, struct verdict *verdict, gpu_holds *known,
		gpu_holds *holds, const char *text, const char *fix)
{
	const char *those;

	if (without_nvml(facts, verdict))
		return;
	those = gpus_that(facts, verdict, holds);
	if (those)
		wrong(verdict, with_addresses(verdict, fix, addresses_that(facts, verdict, holds)),
		      "%s: %s", those, text);
	else if (gpus_that(facts, verdict, known))
		fine(verdict);
}

bool has_gpu(const struct facts *facts)
{
	return facts->pci_count || facts->gpu_count || facts->listed_gpus;
}

bool without_links(const struct facts *facts, struct verdict *verdict)
{
	for (size_t i = 0; i < facts->pci_count; i++)
		if (facts->pci[i].driver)
			return false;
	if (*facts->root && facts->pci_count)
		unseen(verdict, "--root has no links of drivers", "the drivers of the GPUs");
	return *facts->root && facts->pci_count;
}

bool is_geforce(const struct gpu *gpu)
{
	return gpu->name && strstr(gpu->name, "GeForce");
}

bool is_compat(const struct library *library)
{
	return strstr(library->path, "/compat/") || strstr(library->real, "/compat/");
}
