/* SPDX-License-Identifier: MIT */
/* gpumap inventory: the GPUs of a machine, and a record of it. */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/color.h"
#include "cli/machine.h"
#include "inventory/inventory.h"
#include "memory.h"
#include "report/report.h"
#include "strbuf.h"
#include "style.h"

struct arguments {
	struct output output;
	const char *what, *save;
	const char *asked, *number; /* --uuid or --pci, and its value; NULL */
	enum gpumap_device_str_attr value;
	bool unknown;   /* that value is not */
	bool mig;       /* only MIG instances are shown */
	unsigned flags; /* of gpumap_inventory_probe */
};

const struct option_row inventory_rows[] = {
	INVENTORY_ROW(0),
	{"--ask-driver", NULL, "measure CUDA's order on this machine", 0},
	{"--usage", NULL, "read how this machine's GPUs are used, and by which processes", 0},
	{"--mig", NULL, "list only the MIG instances, and their GPUs",
	 FLAG_TO(struct arguments, mig)},
	{"--uuid", "N", "print the UUID of GPU N, and nothing else", 0},
	{"--pci", "N", "print its PCI address", 0},
	{"--save", "FILE", "write a snapshot of the machine, for --inventory FILE",
	 TEXT_TO(struct arguments, save)},
	FORMAT_ROWS("text|json", "output format"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap inventory [OPTIONS] [FILE]\n"
	"\n"
	"Lists the GPUs of this machine, or of a recorded one, and the logical number\n"
	"that each has in this environment. FILE may be a snapshot, the output of\n"
	"nvidia-smi (-L, the plain table, --query-gpu, topo -m, nvlink -s),\n"
	"/proc/driver/nvidia information files, an NCCL topology, or several of them one\n"
	"after the other.\n"
	"\n"
	"  gpumap inventory --ask-driver --save node7.ini\n"
	"  gpumap inventory --usage --json\n"
	"  nvidia-smi -L | gpumap inventory -\n"
	"\n" OPTIONS_HERE;

/* A number alone may be meant as a GPU of this machine. */
static bool is_gpu_here(const char *word)
{
	int64_t number = span_number(span_of(word), INT32_MAX);

	return number >= 0 && number < machine_host_gpus();
}

static int refuse_number(const char *word, gpumap_report *report)
{
	return operand_refuse(
		word,
		FORMAT("gpumap uuid %s and gpumap ps --gpus %s are about GPU %s of this machine; "
		       "--inventory %s is a machine of %s GPU%s",
		       word, word, word, word, word, streq(word, "1") ? "" : "s"),
		report);
}

static int read_options(struct arguments *a, int argc, char **argv)
{
	gpumap_report *report = a->output.report;
	struct options options;
	const char *name;

	options_init(&options, "inventory", inventory_rows, a, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &a->output, help))) {
		if (streq(name, "--uuid") || streq(name, "--pci")) {
			a->asked = streq(name, "--uuid") ? "--uuid" : "--pci";
			a->value = streq(name, "--uuid") ? GPUMAP_DEVICE_UUID : GPUMAP_DEVICE_PCI;
			a->number = options.value;
		} else if (streq(name, "--ask-driver"))
			a->flags |= GPUMAP_PROBE_FLAG_ASK_DRIVER;
		else if (streq(name, "--usage"))
			a->flags |= GPUMAP_PROBE_FLAG_USAGE;
		else if (!*name && is_gpu_here(options.operand))
			return refuse_number(options.operand, report);
		else if (!a->what)
			a->what = *name ? options.value : options.operand;
		else
			return report_fail(
				report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				ABOUT(.fix = "join recordings with cat, and read them from -"),
				"one machine at a time: '%s' and '%s'", QUOTE(span_of(a->what)),
				QUOTE(span_of(*name ? options.value : options.operand)));
	}
	if (options.code != GPUMAP_OK)
		return options.code;
	if (a->mig && (a->asked || a->output.format == GPUMAP_FORMAT_JSON))
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = "--mig",
				 .fix = "the list \"mig\" of each GPU has its instances"),
			   "it is only for the table");
	return refuse_picture(&a->output, "an inventory has no picture; gpumap explain draws one");
}

/* The logical numbers in this environment; NULL: they cannot be determined. */
static gpumap_mapping *map_environment(const gpumap_inventory *inventory)
{
	gpumap_mapping *ret = NULL;
	OWNED(request) *request = new_request();

	if (request &&
	    gpumap_request_set_environ(request, (const char *const *)environ, NULL) == GPUMAP_OK)
		gpumap_resolve(&ret, request, inventory, NULL);
	return ret;
}

/* A GPU's position among the logical devices. */
struct place {
	int physical, mig;
	size_t logical;
	bool decided;
};

struct places {
	/* sorted, because a linear search for every GPU would take quadratic time */
	struct place *list;
	size_t count;
};

static int compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->physical != y->physical)
		return x->physical < y->physical ? -1 : 1;
	return (x->mig > y->mig) - (x->mig < y->mig);
}

/* Undecided entries of one view share their candidates. */
static bool same_candidates(const gpumap_entry *a, const gpumap_entry *b)
{
	return a && gpumap_entry_candidate_count(a) == gpumap_entry_candidate_count(b) &&
	       gpumap_entry_candidate(a, 0) == gpumap_entry_candidate(b, 0);
}

/* Adds the candidates of the entries, or only counts them while there is no list yet. */
static void add_places(struct places *places, const gpumap_mapping *mapping)
{
	const gpumap_entry *before = NULL;

	places->count = 0;
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *e = gpumap_mapping_visible(mapping, i);
		size_t count = gpumap_entry_candidate_count(e);
		bool decided =
			gpumap_entry_int(e, GPUMAP_ENTRY_CERTAINTY) != GPUMAP_CERTAINTY_UNDECIDABLE;

		if (same_candidates(before, e))
			continue;
		before = e;
		for (size_t k = 0; k < count; k++) {
			const gpumap_device *d = gpumap_entry_candidate(e, k);

			if (places->list)
				places->list[places->count] =
					(struct place){d->physical, d->mig_position, i, decided};
			places->count++;
		}
	}
}

static void find_places(struct places *places, const gpumap_mapping *mapping)
{
	add_places(places, mapping);
	places->list = xcalloc(places->count, sizeof(*places->list));
	add_places(places, mapping);
	qsort(places->list, places->count, sizeof(*places->list), compare_place);
}

/* "cuda:2", "cuda:?" if it is undecidable, or "-": the logical device that is this GPU or its MIG
 * instance. */
static const char *logical_name(char name[32], const struct places *places,
				const gpumap_device *device)
{
	struct place key = {.physical = device->physical, .mig = device->mig_position};
	const struct place *place =
		bsearch(&key, places->list, places->count, sizeof(*places->list), compare_place);

	if (!place)
		return "-";
	if (!place->decided || key.physical < 0)
		return "cuda:?";
	snprintf(name, 32, "cuda:%zu", place->logical);
	return name;
}

/* "        512 MiB in use, load 93 %, 41 C, 2 processes" */
static void print_usage(struct strbuf *buf, const char *indent, const gpumap_device *d)
{
	int64_t used = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_USED);
	int64_t load = gpumap_device_int(d, GPUMAP_DEVICE_UTILIZATION);
	int64_t celsius = gpumap_device_int(d, GPUMAP_DEVICE_TEMPERATURE);
	int64_t hidden = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_HIDDEN) >> 20;
	int count = gpumap_device_process_count(d);

	strbuf_puts(buf, indent);
	if (used >= 0)
		strbuf_printf(buf, "%lld MiB in use", (long long)(used >> 20));
	else
		strbuf_puts(buf, "memory in use not readable");
	if (hidden > 0)
		strbuf_printf(buf, " (%lld MiB by no listed process)", (long long)hidden);
	if (load >= 0)
		strbuf_printf(buf, ", load %lld %%", (long long)load);
	if (celsius >= 0 && d == d->gpu)
		strbuf_printf(buf, ", %lld C", (long long)celsius);
	if (count < 0)
		strbuf_puts(buf, ", processes not readable");
	else
		strbuf_printf(buf, ", %d process%s%s", count, count == 1 ? "" : "es",
			      gpumap_device_int(d, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1
				      ? ""
				      : ", perhaps more");
	strbuf_puts(buf, "\n");
}

static void print_mig(struct strbuf *buf, const gpumap_device *gpu, const struct places *places,
		      bool usage)
{
	char cuda[32];

	for (size_t i = 0; i < gpumap_device_mig_count(gpu); i++) {
		const gpumap_device *mig = gpumap_device_mig(gpu, i);
		const char *uuid = gpumap_device_str(mig, GPUMAP_DEVICE_UUID);
		const char *profile = gpumap_device_str(mig, GPUMAP_DEVICE_MIG_PROFILE);
		int64_t gi = gpumap_device_int(mig, GPUMAP_DEVICE_MIG_GI);

		strbuf_printf(buf, "    MIG %zu %-10s %-13s %s", i, logical_name(cuda, places, mig),
			      profile ? QUOTE(span_of(profile)) : "-",
			      uuid ? uuid : "UUID not known");
		if (gi >= 0)
			strbuf_printf(buf, "  GPU instance %lld, compute instance %lld",
				      (long long)gi,
				      (long long)gpumap_device_int(mig, GPUMAP_DEVICE_MIG_CI));
		strbuf_puts(buf, "\n");
		if (usage)
			print_usage(buf, "          ", mig);
	}
}

static void print_place(struct strbuf *buf, const gpumap_device *gpu)
{
	const char *numa = gpumap_device_str(gpu, GPUMAP_DEVICE_NUMA);
	const char *cpus = gpumap_device_str(gpu, GPUMAP_DEVICE_CPUS);
	int links = gpumap_device_nvlink_count(gpu);

	if (!numa && !cpus && links < 0)
		return;
	strbuf_puts(buf, "       ");
	if (numa)
		strbuf_printf(buf, " NUMA %s", numa);
	if (cpus)
		strbuf_printf(buf, " CPUs %s", cpus);
	for (int i = 0; i < links; i++)
		strbuf_printf(buf, "%s%d", i ? "," : " NVLink ",
			      gpumap_device_nvlink(gpu, (size_t)i));
	if (links == 0)
		strbuf_puts(buf, " no NVLink");
	strbuf_puts(buf, "\n");
}

static void print_gpu(struct strbuf *buf, const gpumap_device *gpu, const struct places *places,
		      bool usage)
{
	const char *uuid = gpumap_device_str(gpu, GPUMAP_DEVICE_UUID);
	const char *pci = gpumap_device_str(gpu, GPUMAP_DEVICE_PCI);
	const char *name = gpumap_device_str(gpu, GPUMAP_DEVICE_NAME);
	int64_t index = gpumap_device_int(gpu, GPUMAP_DEVICE_PHYSICAL);
	int64_t memory = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY);
	char left[24] = "?", cuda[32], size[24] = "-";

	if (index >= 0)
		snprintf(left, sizeof(left), "%lld", (long long)index);
	if (memory >= 0)
		snprintf(size, sizeof(size), "%lld MiB", (long long)(memory >> 20));
	strbuf_printf(buf, "  %-9s %-10s %-13s %-11s %-40s %s\n", left,
		      logical_name(cuda, places, gpu), pci ? pci : "-", size, uuid ? uuid : "-",
		      name ? QUOTE(span_of(name)) : "-");
	print_place(buf, gpu);
	if (usage)
		print_usage(buf, "        ", gpu);
	print_mig(buf, gpu, places, usage);
}

static void print_head(struct strbuf *buf)
{
	style_set(buf, STYLE_FAINT);
	strbuf_printf(buf, "  %-9s %-10s %-13s %-11s %-40s %s", "physical", "logical",
		      "PCI address", "memory", "UUID", "name");
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
}

/* 1: MIG is on on a GPU; 0: it is off on every one; -1: not known. */
static int64_t mig_mode(const gpumap_inventory *inventory)
{
	int64_t ret = 0;

	for (size_t i = 0; ret < 1 && i < gpumap_inventory_count(inventory); i++) {
		int64_t enabled = gpumap_device_int(gpumap_inventory_get(inventory, i),
						    GPUMAP_DEVICE_MIG_ENABLED);

		if (enabled)
			ret = enabled;
	}
	return ret;
}

static void print_rows(struct strbuf *buf, const gpumap_inventory *inventory,
		       const struct places *places, bool only_mig)
{
	bool usage = gpumap_inventory_int(inventory, GPUMAP_INVENTORY_USAGE) == 1;
	size_t count = gpumap_inventory_count(inventory), printed = 0;
	int64_t mig = mig_mode(inventory);

	for (size_t i = 0; i < count; i++) {
		const gpumap_device *gpu = gpumap_inventory_get(inventory, i);

		if (only_mig && !gpumap_device_mig_count(gpu))
			continue;
		if (!printed++)
			print_head(buf);
		print_gpu(buf, gpu, places, usage);
	}
	if (count && !printed)
		strbuf_puts(buf, mig < 0 ? "no MIG instance is listed, but whether MIG is on is "
					   "not known\n"
				 : mig   ? "MIG is on, but no GPU has a MIG instance\n"
					 : "MIG is off on every GPU\n");
}

static int print_table(const gpumap_inventory *inventory, bool only_mig, gpumap_report *report)
{
	const char *origin = gpumap_inventory_str(inventory, GPUMAP_INVENTORY_ORIGIN);
	const char *driver = gpumap_inventory_str(inventory, GPUMAP_INVENTORY_DRIVER);
	size_t count = gpumap_inventory_count(inventory);
	OWNED(mapping) *mapping = map_environment(inventory);
	struct strbuf buf = {.styled = color_on(STDOUT_FILENO)};
	struct places places = {0};

	find_places(&places, mapping);
	style_set(&buf, STYLE_ANSWER);
	strbuf_printf(&buf, "%zu GPU%s, from %s", count, count == 1 ? "" : "s",
		      QUOTE(span_of(gpumap_inventory_str(inventory, GPUMAP_INVENTORY_SOURCE))));
	if (origin)
		strbuf_printf(&buf, " (%s)", QUOTE(span_of(origin)));
	if (driver)
		strbuf_printf(&buf, ", driver %s", QUOTE(span_of(driver)));
	style_set(&buf, STYLE_PLAIN);
	strbuf_puts(&buf, count ? "\n\n" : "\n");
	print_rows(&buf, inventory, &places, only_mig);
	free(places.list);
	return print_buffer(&buf, report);
}

/* "0 to 7"; unlike numbers or none are not a range. */
static const char *numbers(char ret[64], const gpumap_inventory *inventory)
{
	size_t count = gpumap_inventory_count(inventory);

	if (!count)
		return "it has none";
	for (size_t i = 0; i < count; i++)
		if (gpumap_device_int(gpumap_inventory_get(inventory, i), GPUMAP_DEVICE_PHYSICAL) !=
		    (int64_t)i)
			return "gpumap inventory lists them";
	snprintf(ret, 64, count > 1 ? "write 0 to %zu" : "write 0", count - 1);
	return ret;
}

/* --uuid N: of the GPU itself, also if it has MIG instances. */
static int print_value(struct arguments *a, const gpumap_inventory *inventory)
{
	const gpumap_device *found = NULL;
	const char *value;
	char fix[64];
	struct strbuf line = {0};
	int64_t number;
	int r = option_number(a->asked, a->number, "the number of a GPU", 0, INT32_MAX, &number,
			      a->output.report);

	if (r != GPUMAP_OK)
		return r;
	for (size_t i = 0; i < gpumap_inventory_count(inventory); i++)
		if (gpumap_device_int(gpumap_inventory_get(inventory, i), GPUMAP_DEVICE_PHYSICAL) ==
		    number)
			found = gpumap_inventory_get(inventory, i);
	value = found ? gpumap_device_str(found, a->value) : NULL;
	a->unknown = !value;
	if (a->unknown) {
		report_add(a->output.report, FINDING_VALUE_UNKNOWN,
			   ABOUT(.origin = a->asked,
				 .fix = found ? "name a recording, as of nvidia-smi -L or gpumap "
						"inventory --save"
					      : numbers(fix, inventory)),
			   !found               ? "this machine has no GPU %lld"
			   : inventory->assumed ? "a synthetic machine has none, as for GPU %lld"
						: "it is not known of GPU %lld",
			   (long long)number);
		return GPUMAP_OK;
	}
	strbuf_printf(&line, "%s\n", value);
	return print_buffer(&line, a->output.report);
}

static int print_inventory(struct arguments *a, const gpumap_inventory *inventory)
{
	CLEANUP_FREE char *text = NULL;
	int r;

	if (a->asked)
		return print_value(a, inventory);
	if (a->output.format != GPUMAP_FORMAT_JSON)
		return print_table(inventory, a->mig, a->output.report);
	r = gpumap_inventory_format(&text, inventory, GPUMAP_FORMAT_JSON, 0, a->output.report);
	return r == GPUMAP_OK ? print_text(text, a->output.report) : r;
}

int cmd_inventory(int argc, char **argv)
{
	struct arguments a = {.output.format = wanted_format(argc, argv)};
	OWNED(inventory) *inventory = NULL;
	bool any = false;
	int r;

	a.output.report = report_begin();
	r = read_options(&a, argc, argv);
	if (r == GPUMAP_OK)
		r = machine_open(&inventory, machine_named(a.what, a.flags), a.flags,
				 a.output.report);
	if (r == GPUMAP_OK && a.save)
		r = gpumap_inventory_save(inventory, a.save, a.output.report);
	/* A snapshot on standard output is the whole answer. */
	if (r == GPUMAP_OK && !(a.save && streq(a.save, "-")))
		r = print_inventory(&a, inventory);
	if (r == GPUMAP_OK)
		any = gpumap_inventory_count(inventory) > 0 && !a.unknown;
	return finish(&a.output, r, any);
}
