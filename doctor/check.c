/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "strbuf.h"

void fine(struct verdict *verdict)
{
	verdict->outcome = OUTCOME_FINE;
}

void unseen(struct verdict *verdict, const struct fact *fact, const char *what)
{
	if (!fact->why)
		return;
	verdict->outcome = OUTCOME_UNSEEN;
	verdict->text = arena_printf(verdict->arena, "%s: %s", what, fact->why);
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

/* The numbers of the GPUs that hold, with `separator` between them. NULL: none. */
static const char *numbers_that(const struct facts *facts, struct verdict *verdict,
				gpu_holds *holds, const char *separator)
{
	struct strbuf list = {0};
	const char *text = NULL;
	char *taken;

	for (size_t i = 0; i < facts->gpu_count; i++)
		if (holds(&facts->gpus[i]))
			strbuf_printf(&list, "%s%u", list.length ? separator : "",
				      facts->gpus[i].index);
	taken = strbuf_take(&list);
	if (!taken)
		verdict->arena->failed = true;
	else if (*taken)
		text = arena_strdup(verdict->arena, taken);
	free(taken);
	return text;
}

const char *gpus_that(const struct facts *facts, struct verdict *verdict, gpu_holds *holds)
{
	const char *list = numbers_that(facts, verdict, holds, ", ");

	return list ? arena_printf(verdict->arena, "GPU%s %s", strchr(list, ',') ? "s" : "", list)
		    : NULL;
}

/* The remedy, whose commands have the numbers of GPUs in place of the N of "-i N". */
static const char *with_numbers(struct verdict *verdict, const char *fix, const char *numbers)
{
	const char *place;
	struct strbuf text = {0};
	char *taken;

	while ((place = fix ? strstr(fix, " -i N ") : NULL)) {
		strbuf_printf(&text, "%.*s -i %s", (int)(place - fix), fix, numbers);
		fix = place + strlen(" -i N");
	}
	strbuf_printf(&text, "%s", fix ? fix : "");
	taken = strbuf_take(&text);
	if (!taken)
		verdict->arena->failed = true;
	fix = arena_strdup(verdict->arena, taken);
	free(taken);
	return fix;
}

/* Without NVML the state of a GPU is not known. */
static bool without_nvml(const struct facts *facts, struct verdict *verdict)
{
	struct fact root = fact_unseen("--root has no NVML");
	struct fact none = fact_unseen("NVML does not answer");

	if (facts->gpu_count)
		return false;
	if (has_gpu(facts) && !facts->nvml_asked)
		unseen(verdict, &root, "the state of the GPUs");
	else if (has_gpu(facts) && facts->nvml != NVML_SUCCESS)
		unseen(verdict, &none, "the state of the GPUs");
	return true;
}

void judge_gpus(const struct facts *facts, struct verdict *verdict, gpu_holds *known,
		gpu_holds *holds, const char *text, const char *fix)
{
	const char *those, *numbers;

	if (without_nvml(facts, verdict))
		return;
	those = gpus_that(facts, verdict, holds);
	numbers = numbers_that(facts, verdict, holds, ",");
	if (those && numbers)
		wrong(verdict, with_numbers(verdict, fix, numbers), "%s: %s", those, text);
	else if (gpus_that(facts, verdict, known))
		fine(verdict);
}

bool has_gpu(const struct facts *facts)
{
	return facts->pci_count || facts->gpu_count || facts->listed_gpus;
}

bool without_links(const struct facts *facts, struct verdict *verdict)
{
	struct fact links = fact_unseen("--root has no links of drivers");

	for (size_t i = 0; i < facts->pci_count; i++)
		if (facts->pci[i].driver)
			return false;
	if (*facts->root && facts->pci_count)
		unseen(verdict, &links, "the drivers of the GPUs");
	return *facts->root && facts->pci_count;
}

bool is_compat(const struct library *library)
{
	return strstr(library->path, "/compat/") || strstr(library->real, "/compat/");
}

const struct library *first_library(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->library_count; i++)
		if (streq(facts->libraries[i].name, name))
			return &facts->libraries[i];
	return NULL;
}
