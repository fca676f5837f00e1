/* SPDX-License-Identifier: MIT */
/* The words that the value of an option may be. Nothing here waits: NVML is not asked. */
#include "complete.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/machine.h"
#include "cli/output.h"
#include "inventory/inventory.h"
#include "closing.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "request/request.h"
#include "signal_name.h"

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
/* bash inserts words as they are. Others are left out. */
#define SAFE UPPER "abcdefghijklmnopqrstuvwxyz0123456789-_.,:=+@%/[]"

enum { MAX_TEXT = 1 << 20 };

void complete_word(struct completion *c, const char *word, const char *description)
{
	char line[512];
	size_t length;

	if (strncasecmp(word, c->begin, strlen(c->begin)) != 0 ||
	    strspn(word, SAFE) != strlen(word))
		return;
	length = (size_t)snprintf(line, sizeof(line), "%.*s%s", (int)c->ahead.length, c->ahead.text,
				  word);
	if (length >= sizeof(line) || length < c->cut)
		return;
	strbuf_puts(&c->text, line + c->cut);
	strbuf_puts(&c->text, "\t");
	if (description)
		escape_all(&c->text, description);
	strbuf_puts(&c->text, "\n");
}

/* Moves what was typed as far as the last of these characters to what is kept. */
static void keep_through(struct completion *c, const char *separators)
{
	size_t length = strlen(c->begin);

	while (length && !strchr(separators, c->begin[length - 1]))
		length--;
	c->ahead.length += length;
	c->begin += length;
}

/* --- one for each form ------------------------------------------------------------------ */

static void add_open(struct completion *c)
{
	strbuf_puts(&c->text, ":open\n");
}

static void add_files(struct completion *c)
{
	strbuf_printf(&c->text, ":files %zu\n", c->ahead.length);
}

static void add_folders(struct completion *c)
{
	strbuf_printf(&c->text, ":folders %zu\n", c->ahead.length);
}

/* Anything but a file on a disk might wait for a writer, or never end. */
static bool is_small_file(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= MAX_TEXT;
}

/* This host's GPUs are those that the kernel lists: NVML may need seconds to start. */
static int open_machine(gpumap_inventory **ret, const struct completion *c, gpumap_report *report)
{
	const char *what = machine_named(c->inventory, 0);

	if (!what || streq(what, "host"))
		return proc_probe(ret, "", report);
	if (!synthetic_recognise(what) && !is_small_file(what))
		return GPUMAP_EFILE;
	return gpumap_inventory_open(ret, what, report);
}

/* `prefix` stands before the number. UUIDs only where one was begun. */
static void add_gpus(struct completion *c, const char *prefix)
{
	OWNED(report) *report = report_begin();
	OWNED(inventory) *machine = NULL;
	const gpumap_device *gpu;
	int64_t number;

	open_machine(&machine, c, report);
	for (size_t i = 0; machine && (gpu = gpumap_inventory_get(machine, i)); i++) {
		const char *name = gpumap_device_str(gpu, GPUMAP_DEVICE_NAME);
		const char *pci = gpumap_device_str(gpu, GPUMAP_DEVICE_PCI);
		const char *uuid = gpumap_device_str(gpu, GPUMAP_DEVICE_UUID);
		const char *about =
			FORMAT("%s%s%s", name ? name : "", name && pci ? ", " : "", pci ? pci : "");

		/* cuda:0 need not be GPU 0. */
		number = *prefix ? (int64_t)i : gpumap_device_int(gpu, GPUMAP_DEVICE_PHYSICAL);
		if (number >= 0)
			complete_word(c, FORMAT("%s%lld", prefix, (long long)number),
				      *prefix ? NULL : about);
		if (uuid && !*prefix && *c->begin == *uuid)
			complete_word(c, uuid, about);
	}
}

static void add_list(struct completion *c)
{
	keep_through(c, "=,");
	add_gpus(c, "");
	add_open(c);
}

static void add_statement(struct completion *c)
{
	if (!strpbrk(c->begin, "=,")) {
		complete_word(c, "CUDA_VISIBLE_DEVICES=", NULL);
		complete_word(c, "CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL);
	}
	add_list(c);
}

static void add_device(struct completion *c)
{
	add_gpus(c, "cuda:");
}

/* The processes of this user; root's are too many to mean one. */
static void add_processes(struct completion *c)
{
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	char name[64];
	struct stat about;
	pid_t pid;

	while ((pid = process_next(proc))) {
		if (stat(PROCESS_FOLDER(pid), &about) != 0 || about.st_uid != getuid())
			continue;
		read_start(name, sizeof(name), PROCESS_PATH(pid, "comm"));
		name[strcspn(name, "\n")] = '\0';
		complete_word(c, FORMAT("%d", (int)pid), name);
	}
}

static void add_signals(struct completion *c)
{
	keep_through(c, ",");
	for (int i = 1; i < 64; i++)
		if (signal_name(i))
			complete_word(c, signal_name(i), NULL);
}

static int add_key(const gpumap_key *key, void *data)
{
	complete_word(data, gpumap_key_str(key, GPUMAP_KEY_NAME),
		      gpumap_key_str(key, GPUMAP_KEY_HELP));
	return 0;
}

static void add_keys(struct completion *c)
{
	gpumap_profile_key_each(add_key, c);
}

static void add_ids(struct completion *c)
{
	const gpumap_rule *rule;
	const gpumap_finding *finding;

	for (size_t i = 0; (rule = gpumap_rule_get(i)); i++)
		complete_word(c, gpumap_rule_str(rule, GPUMAP_RULE_ID),
			      gpumap_rule_str(rule, GPUMAP_RULE_LINE));
	for (size_t i = 0; (finding = gpumap_finding_get(i)); i++)
		complete_word(c, gpumap_finding_str(finding, GPUMAP_FINDING_ID),
			      gpumap_finding_str(finding, GPUMAP_FINDING_MEANING));
}

static void add_targets(struct completion *c)
{
	const gpumap_target *target;

	for (size_t i = 0; (target = gpumap_target_get(i)); i++)
		complete_word(c, gpumap_target_str(target, GPUMAP_TARGET_NAME),
			      gpumap_target_str(target, GPUMAP_TARGET_SUMMARY));
}

static void add_launchers(struct completion *c)
{
	complete_values(c, span_of(LAUNCHER_WORDS), NULL, NULL);
}

/* The sections [profile NAME], [sweep NAME] or [program NAME] of the profile file. */
static void add_sections(struct completion *c, const char *kind)
{
	const char *const *envp = (const char *const *)environ;
	const char *file = c->config ? c->config : environ_nonempty(envp, "GPUMAP_CONFIG");
	OWNED(report) *report = NULL;
	OWNED(profile) *profile = NULL;
	const gpumap_section *s;

	if (file && !is_small_file(file))
		return;
	report = report_begin();
	gpumap_profile_open(&profile, c->config, NULL, envp, 0, report);
	for (size_t i = 0; profile && (s = gpumap_profile_section(profile, kind, i)); i++)
		complete_word(c, gpumap_section_str(s, GPUMAP_SECTION_NAME),
			      gpumap_section_str(s, GPUMAP_SECTION_ORIGIN));
}

/* Forms that values have; others are for people. */
static const struct {
	const char *form;
	void (*add)(struct completion *c);
} forms[] = {
	{"[VAR=]LIST", add_statement},
	{"cuda:N", add_device},
	{"DIR", add_folders},
	{"FILE", add_files},
	{"GPU", add_list},
	{"GPU,...", add_list},
	{"ID", add_ids},
	{"KEY", add_keys},
	{"LAUNCHER", add_targets},
	{"LIST", add_list},
	{"MACHINE", add_files},
	{"NAME[:LIST]", add_launchers},
	{"PID", add_processes},
	{"SIGNAL", add_signals},
	{"SIGNAL,...", add_signals},
};

/* --- values --------------------------------------------------------------------------- */

/* What the help says of a word: "one device" for single, in "single: one device; dp: ...". */
static void about_word(char *ret, size_t size, struct span word, const char *help)
{
	struct span rest = span_of(help ? help : ""), piece;

	*ret = '\0';
	while (span_split(&rest, ';', &piece)) {
		piece = span_trim(piece);
		if (piece.length > word.length + 2 && piece.text[word.length] == ':' &&
		    strncmp(piece.text, word.text, word.length) == 0)
			snprintf(ret, size, "%.*s", (int)(piece.length - word.length - 2),
				 piece.text + word.length + 2);
	}
}

/* Whether it stands for something else: N, free:COUNT, --OPTION. */
static bool is_form(struct span word)
{
	const char *colon = memchr(word.text, ':', word.length);
	size_t start = colon ? (size_t)(colon + 1 - word.text) : 0;

	while (start < word.length && strchr("-[", word.text[start]))
		start++;
	return start < word.length && memchr(UPPER, word.text[start], strlen(UPPER)) &&
	       strspn(word.text + start, UPPER) > 0;
}

static bool complete_form(struct completion *c, struct span form)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (span_is(form, forms[i].form)) {
			forms[i].add(c);
			return true;
		}
	return false;
}

/* "free:COUNT" begins with a word; "file:FILE" continues with files. */
static void complete_prefixed(struct completion *c, struct span form, const char *help)
{
	size_t length = (size_t)((const char *)memchr(form.text, ':', form.length) - form.text) + 1;
	char prefix[32], about[256];

	snprintf(prefix, sizeof(prefix), "%.*s", (int)length, form.text);
	if (starts_with(c->begin, prefix)) {
		keep_through(c, ":");
		complete_form(c, (struct span){form.text + length, form.length - length});
		return;
	}
	about_word(about, sizeof(about), form, help);
	complete_word(c, prefix, about);
	add_open(c);
}

void complete_values(struct completion *c, struct span grammar, const char *option,
		     const char *help)
{
	struct span word;
	char text[64], about[256];

	while (span_split(&grammar, '|', &word)) {
		struct completion one = *c;

		snprintf(text, sizeof(text), "%.*s", (int)word.length, word.text);
		about_word(about, sizeof(about), word, help);
		if (option && streq(text, "NAME"))
			add_sections(&one, option + strlen("--"));
		else if (!is_form(word))
			complete_word(&one, text, about);
		else if (!complete_form(&one, word) && memchr(word.text, ':', word.length))
			complete_prefixed(&one, word, help);
		c->text = one.text;
	}
}
