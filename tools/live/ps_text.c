/* SPDX-License-Identifier: MIT */
/*
 * A frame of gpumap ps for people:
 *
 *	2 GPUs of tux1, driver 570.124.06
 *
 *	      PID  USER  AGE    MEMORY  DEVICE  COMMAND
 *	GPU 0  NVIDIA H100 80GB HBM3  1234 of 81559 MiB, 80325 free, load 93 %, 41 C
 *	  leased by process 4700 (jo), at most 3m ago
 *	     4711  jo     3m  1200 MiB  cuda:1  python train.py
 *	           rank 3 of 20261121-193000-4700
 *
 * Columns are as wide as what they hold. Remarks about a process precede its command, or have a
 * line of their own where the width does not allow that.
 */
#include "live/ps.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/text_table.h"
#include "inventory/inventory.h"
#include "live/process.h"
#include "style.h"
#include "text.h"
#include "text_cells.h"

enum column { PID, USER, AGE, MEMORY, DEVICE, ABOUT, COMMAND, COLUMNS };

enum {
	INDENT = 2,
	MAX_USER = 16,
	LEAST_COMMAND = 24, /* cells that a command needs beside what is said about its process */
	NARROW_COMMAND = 8,
	LEAST_WIDTH = 60
};

static const struct text_column columns[] = {
	[PID] = {"PID", true},          [USER] = {"USER", false},     [AGE] = {"AGE", true},
	[MEMORY] = {"MEMORY", true},    [DEVICE] = {"DEVICE", false}, [ABOUT] = {"ABOUT", false},
	[COMMAND] = {"COMMAND", false},
};

struct frame {
	const struct ps *ps;
	const struct ps_view *view;
	struct strbuf *buf;
	struct text_table table; /* of the processes; without ABOUT that has lines of its own */
	size_t gpus, processes;  /* that are shown above */
};

/* --- texts ---------------------------------------------------------------------------- */

const char *ps_age(char ret[16], int64_t seconds)
{
	int s = (int)(seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : seconds);

	if (s < 60)
		snprintf(ret, 16, "%ds", s);
	else if (s < 3600)
		snprintf(ret, 16, "%dm", s / 60);
	else if (s < 86400)
		snprintf(ret, 16, "%dh%02dm", s / 3600, s / 60 % 60);
	else
		snprintf(ret, 16, "%dd%02dh", s / 86400, s / 3600 % 24);
	return ret;
}

static void name_text(struct strbuf *buf, const struct ps_process *p)
{
	static const char *const words[] = {
		[PS_NAME_HIDDEN] = "-",           [PS_NAME_UNREADABLE] = "not readable",
		[PS_NAME_UNKNOWN] = "not known",  [PS_NAME_CONTAINER] = "in container",
		[PS_NAME_UNDECIDABLE] = "cuda:?", [PS_NAME_OUTSIDE] = "outside",
	};

	if (p->name == PS_NAME_KNOWN)
		strbuf_printf(buf, "cuda:%lld", (long long)p->logical);
	else
		strbuf_puts(buf, words[p->name]);
}

static void add_part(struct strbuf *buf, const char *text)
{
	strbuf_puts(buf, buf->length ? ", " : "");
	strbuf_puts(buf, text);
}

static void add_types(struct strbuf *buf, int64_t types)
{
	const char *word, *before = "";
	unsigned type;

	if (types <= 0 || types == GPUMAP_PROCESS_TYPE_COMPUTE)
		return;
	add_part(buf, "");
	for (size_t i = 0; (word = process_type_word(i, &type)); i++) {
		if (!(types & type))
			continue;
		strbuf_printf(buf, "%s%s", before, word);
		before = "+";
	}
}

/* "detached, idle 3m, 2h05m of CPU time" */
static void add_detached(struct strbuf *buf, const struct ps *ps, const struct ps_process *p,
			 int64_t cpu)
{
	int64_t active = gpumap_process_int(p->process, GPUMAP_PROCESS_ACTIVE_TIME);
	long ticks = sysconf(_SC_CLK_TCK);
	char age[16];

	add_part(buf, "detached");
	if (active >= 0)
		add_part(buf, "idle");
	if (active > 0)
		strbuf_printf(buf, " %s", ps_age(age, ps->now - active));
	if (cpu < 0 || ticks <= 0)
		return;
	add_part(buf, ps_age(age, cpu / ticks));
	strbuf_puts(buf, " of CPU time");
}

/* What there is to say about a process; empty for most. */
static void about_text(struct strbuf *buf, const struct ps *ps, const struct ps_process *p)
{
	const struct ps_facts *facts = ps_facts_of(ps, p);
	const char *container = gpumap_process_str(p->process, GPUMAP_PROCESS_CONTAINER);
	int64_t mig = gpumap_process_int(p->process, GPUMAP_PROCESS_MIG);

	if (p->name == PS_NAME_HIDDEN)
		add_part(buf, "not visible here");
	if (p->name == PS_NAME_OUTSIDE)
		add_part(buf, "outside the list it started with");
	if (p->stale)
		add_part(buf, "stale: its run has ended");
	if (mig >= 0)
		add_part(buf, FORMAT("MIG %lld", (long long)mig));
	add_types(buf, gpumap_process_int(p->process, GPUMAP_PROCESS_TYPES));
	if (facts->run) {
		add_part(buf, FORMAT("rank %lld of ", (long long)facts->rank));
		strbuf_puts(buf, facts->run);
	}
	if (container)
		add_part(buf, container);
	if (facts->detached)
		add_detached(buf, ps, p, facts->cpu);
}

void ps_user(struct strbuf *buf, const gpumap_process *p)
{
	const char *user = gpumap_process_str(p, GPUMAP_PROCESS_USER);
	int64_t uid = gpumap_process_int(p, GPUMAP_PROCESS_UID);

	if (!user && uid >= 0)
		strbuf_printf(buf, "%lld", (long long)uid);
	else
		strbuf_puts(buf, user ? user : "-");
}

/* --- widths --------------------------------------------------------------------------- */

size_t ps_width(void)
{
	struct winsize size = {.ws_col = 0};
	const char *text = getenv("COLUMNS");
	int64_t width = -1;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	else if (text)
		width = span_number(span_of(text), INT32_MAX);
	if (width <= 0)
		return SIZE_MAX;
	return width < LEAST_WIDTH ? LEAST_WIDTH : (size_t)width;
}

static bool is_shown(const struct frame *f, const struct ps_process *p)
{
	return !f->view->stale || p->stale;
}

/* All but the command, which is cut by the room that is left. */
static void add_row(struct frame *f, const struct ps_process *p)
{
	int64_t memory = gpumap_process_int(p->process, GPUMAP_PROCESS_MEMORY);
	int64_t start = gpumap_process_int(p->process, GPUMAP_PROCESS_START_TIME);
	struct strbuf *cells = text_table_add(&f->table);
	char age[16];

	strbuf_printf(&cells[PID], "%lld",
		      (long long)gpumap_process_int(p->process, GPUMAP_PROCESS_PID));
	ps_user(&cells[USER], p->process);
	strbuf_puts(&cells[AGE], start < 0 ? "-" : ps_age(age, f->ps->now - start));
	strbuf_printf(&cells[MEMORY], memory < 0 ? "?" : "%lld MiB", (long long)(memory >> 20));
	name_text(&cells[DEVICE], p);
	about_text(&cells[ABOUT], f->ps, p);
}

/* Whether so many cells are left for a command. */
static bool fits(const struct frame *f, size_t command)
{
	return INDENT + text_table_cells(&f->table) + command <= f->view->width;
}

/* Returns the number of processes that are shown. */
static size_t add_rows(struct frame *f)
{
	size_t *widths = f->table.widths, shown = 0;

	for (size_t i = 0; i < f->ps->count; i++)
		for (size_t k = 0; k < f->ps->gpus[i].count; k++) {
			if (!is_shown(f, &f->ps->gpus[i].processes[k]))
				continue;
			add_row(f, &f->ps->gpus[i].processes[k]);
			shown++;
		}
	text_table_fit(&f->table);
	if (widths[USER] > MAX_USER)
		widths[USER] = MAX_USER;
	if (!fits(f, LEAST_COMMAND))
		widths[ABOUT] = 0;
	/* Long numbers leave no room at 60 columns: the user is cut first. */
	while (!fits(f, NARROW_COMMAND) && widths[USER] > strlen(columns[USER].head))
		widths[USER]--;
	return shown;
}

/* --- lines ---------------------------------------------------------------------------- */

/* Appends a line's text, as far as it fits after `used` cells, and ends the line. */
static void end_line(struct frame *f, size_t used, enum style style, const char *text)
{
	style_set(f->buf, style);
	text_cells_put(f->buf, text, f->view->width > used ? f->view->width - used : 0);
	if (style != STYLE_PLAIN)
		style_set(f->buf, STYLE_PLAIN);
	while (f->buf->length && f->buf->text[f->buf->length - 1] == ' ')
		f->buf->text[--f->buf->length] = '\0';
	strbuf_puts(f->buf, "\n");
}

static void indented(struct frame *f, size_t cells, enum style style, const char *text)
{
	strbuf_printf(f->buf, "%*s", (int)cells, "");
	end_line(f, cells, style, text);
}

static enum style style_of(const struct ps_process *p)
{
	return p->stale || p->name == PS_NAME_OUTSIDE ? STYLE_WARNING : STYLE_PLAIN;
}

/* The bytes of the parts, which ", " separates, that fit into a line; at least one part. */
static size_t parts_fit(const char *text, size_t cells)
{
	size_t fit = 0;

	for (size_t i = 0; text[i]; i++) {
		if (!starts_with(text + i, ", ") && text[i + 1])
			continue;
		if (fit && text_cells(text, i + 1) > cells)
			break;
		fit = i + 1;
	}
	return fit;
}

/* What is said about a process, below its row. */
static void put_about(struct frame *f, const struct ps_process *p, char *rest)
{
	size_t indent = INDENT + f->table.widths[PID] + TEXT_TABLE_GAP;

	while (rest && *rest) {
		size_t n = parts_fit(rest, f->view->width - indent);
		char next = rest[n];

		rest[n] = '\0';
		indented(f, indent, style_of(p), rest);
		rest[n] = next;
		rest += n + (next == ' ');
	}
}

static void put_process(struct frame *f, const struct ps_process *p)
{
	const char *command = gpumap_process_str(p->process, GPUMAP_PROCESS_COMMAND);
	struct strbuf *cells = &f->table.cells[f->processes * COLUMNS];

	/* The folder of the program tells least. */
	if (command && !fits(f, LEAST_COMMAND))
		command = process_program(p->process).text;
	strbuf_puts(&cells[COMMAND], command ? command : "-");
	text_table_row(f->buf, &f->table, f->processes++, INDENT, f->view->width,
		       style_of(p) == STYLE_PLAIN ? 0 : 1u << DEVICE | 1u << ABOUT);
	if (!f->table.widths[ABOUT])
		put_about(f, p, cells[ABOUT].text);
}

/* "1234 of 81559 MiB, 80325 free, load 93 %, 41 C" */
static void usage_text(struct strbuf *buf, const gpumap_device *d)
{
	int64_t used = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_USED);
	int64_t all = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY);
	int64_t left = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_FREE);
	int64_t load = gpumap_device_int(d, GPUMAP_DEVICE_UTILIZATION);
	int64_t celsius = gpumap_device_int(d, GPUMAP_DEVICE_TEMPERATURE);
	int64_t mode = gpumap_device_int(d, GPUMAP_DEVICE_COMPUTE_MODE);

	if (used < 0)
		strbuf_puts(buf, "memory in use not readable");
	else if (all < 0)
		strbuf_printf(buf, "%lld MiB in use", (long long)(used >> 20));
	else
		strbuf_printf(buf, "%lld of %lld MiB", (long long)(used >> 20),
			      (long long)(all >> 20));
	if (left >= 0)
		strbuf_printf(buf, ", %lld free", (long long)(left >> 20));
	if (load >= 0)
		strbuf_printf(buf, ", load %lld %%", (long long)load);
	if (celsius >= 0 && d == d->gpu)
		strbuf_printf(buf, ", %lld C", (long long)celsius);
	if (mode > GPUMAP_COMPUTE_MODE_DEFAULT && d == d->gpu)
		strbuf_printf(buf, ", %s", compute_mode_word((int)mode));
}

/* The head and the usage, on two lines if they do not fit into one. */
static void put_device(struct frame *f, size_t indent, const char *head, const gpumap_device *d)
{
	CLEANUP(strbuf_free) struct strbuf usage = {0};
	size_t cells = indent + text_cells(head, strlen(head)), width;

	usage_text(&usage, d);
	width = usage.length ? text_cells(usage.text, usage.length) : 0;
	strbuf_printf(f->buf, "%*s", (int)indent, "");
	if (cells + TEXT_TABLE_GAP + width <= f->view->width) {
		style_puts(f->buf, STYLE_HEADING, head);
		strbuf_printf(f->buf, "%*s%s\n", TEXT_TABLE_GAP, "",
			      usage.length ? usage.text : "");
	} else {
		end_line(f, indent, STYLE_HEADING, head);
		indented(f, indent + INDENT, STYLE_PLAIN, usage.length ? usage.text : "");
	}
}

static void put_instances(struct frame *f, const struct ps_gpu *gpu)
{
	for (size_t i = 0; i < gpumap_device_mig_count(gpu->device); i++) {
		const gpumap_device *mig = gpumap_device_mig(gpu->device, i);
		const char *profile = gpumap_device_str(mig, GPUMAP_DEVICE_MIG_PROFILE);
		int64_t pid = gpu->instances ? gpu->instances[i] : GPUMAP_LEASE_NONE;

		put_device(f, INDENT,
			   FORMAT("MIG %zu%s%.48s", i, profile ? "  " : "", profile ? profile : ""),
			   mig);
		if (pid >= 0)
			indented(f, INDENT + INDENT, STYLE_PLAIN,
				 pid ? FORMAT("leased by process %lld", (long long)pid)
				     : "leased by a process that is not visible here");
	}
}

/* Memory without a visible process, and lists that cannot be read. */
static void put_hidden(struct frame *f, const struct ps_gpu *gpu)
{
	const gpumap_device *d = gpu->device;
	bool kept = gpumap_device_int(d, GPUMAP_DEVICE_MEMORY_RESERVED) < 0;

	if (gpu->hidden)
		indented(f, INDENT, STYLE_WARNING,
			 FORMAT("%lld MiB by processes that are not visible here%s%s",
				(long long)(gpu->hidden >> 20),
				kept ? ", or kept by the driver" : "",
				gpu->left && f->view->stale ? ", or left by one that has ended"
							    : ""));
	if (gpumap_device_process_count(d) < 0)
		indented(f, INDENT, STYLE_PLAIN, "its processes are not readable");
	else if (gpumap_device_int(d, GPUMAP_DEVICE_PROCESSES_COMPLETE) != 1)
		indented(f, INDENT, STYLE_PLAIN,
			 "it may have more processes: a list is not readable");
}

/* "process 4711 (anna)" */
static void person_text(struct strbuf *buf, const gpumap_process *p, bool named)
{
	const char *user = gpumap_process_str(p, GPUMAP_PROCESS_USER);
	int64_t uid = gpumap_process_int(p, GPUMAP_PROCESS_UID);

	strbuf_printf(buf, "process %lld", (long long)gpumap_process_int(p, GPUMAP_PROCESS_PID));
	if (named && user)
		strbuf_printf(buf, " (%s)", user);
	else if (named && uid >= 0)
		strbuf_printf(buf, " (user %lld)", (long long)uid);
}

/* "process 4711 (anna), at most 3m ago" */
static void owner_text(struct strbuf *buf, const struct ps *ps, const gpumap_process *owner_process)
{
	int64_t age = ps_lease_age(ps, owner_process);
	bool ended = process_ended((int)owner_process->pid);
	char text[16];

	person_text(buf, owner_process, !ended);
	if (ended) {
		strbuf_puts(buf, ", which has ended: what it started holds it");
		return;
	}
	if (age == 0)
		strbuf_puts(buf, ", less than 1 s ago");
	else if (age > 0)
		strbuf_printf(buf, ", at most %s ago", ps_age(text, age));
}

/* "2 of 4 slots leased by processes 4700 and 4711" */
static void put_slots(struct frame *f, const struct ps_gpu *gpu)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};
	size_t hidden = 0, shown = 0;

	while (hidden < gpu->leased && !gpu->pids[hidden])
		hidden++;
	strbuf_printf(&text, "%zu of %lld slots leased", gpu->leased, (long long)gpu->slots);
	for (size_t i = hidden; i < gpu->leased; i++, shown++)
		strbuf_printf(&text, "%s%lld",
			      shown                 ? i + 1 < gpu->leased ? ", " : " and "
			      : gpu->leased > i + 1 ? " by processes "
						    : " by process ",
			      (long long)gpu->pids[i]);
	if (hidden && shown)
		strbuf_printf(&text, ", %zu", hidden);
	if (hidden)
		strbuf_puts(&text, hidden == 1 ? " by a process that is not visible here"
					       : " by processes that are not visible here");
	indented(f, INDENT, STYLE_PLAIN, text.text);
}

/* "process 4720 (jo) holds the lease of process 4700: sleep 300" */
static void put_kept(struct frame *f, const struct ps_ended *ended)
{
	for (size_t i = 0; i < ended->kept.count; i++) {
		const gpumap_process *p = &ended->kept.processes[i];
		const char *command = gpumap_process_str(p, GPUMAP_PROCESS_COMMAND);
		CLEANUP(strbuf_free) struct strbuf text = {0};

		person_text(&text, p, true);
		strbuf_printf(&text, " holds the lease of process %lld: %s",
			      (long long)ended->owner, command ? command : "-");
		indented(f, INDENT + INDENT, STYLE_WARNING, text.text);
	}
	if (!ended->kept.count)
		indented(f, INDENT + INDENT, STYLE_PLAIN, "who holds it is not visible here");
}

static void put_lease(struct frame *f, const struct ps_gpu *gpu)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};

	if (gpu->leased)
		put_slots(f, gpu);
	if (gpu->leased || gpu->owner < 0)
		return;
	strbuf_puts(&text, "leased by ");
	if (gpu->owner_process)
		owner_text(&text, f->ps, gpu->owner_process);
	else
		strbuf_puts(&text, "a process that is not visible here");
	indented(f, INDENT, STYLE_PLAIN, text.text);
}

/* Of a GPU without a process: whether gpumap pick would take it. */
static bool is_free(const struct ps_gpu *gpu)
{
	return gpu->owner == GPUMAP_LEASE_NONE && !gpu->leased &&
	       !gpumap_device_mig_count(gpu->device) &&
	       gpumap_device_int(gpu->device, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1;
}

/* Of a GPU without a process and without hidden memory. */
static void put_unused(struct frame *f, const struct ps_gpu *gpu)
{
	if (gpu->run)
		indented(f, INDENT, STYLE_PLAIN,
			 FORMAT("planned for run %.64s (process %d): no process yet%s", gpu->run,
				gpu->launcher, is_free(gpu) ? ", no lease" : ""));
	else
		indented(f, INDENT, STYLE_FAINT,
			 is_free(gpu) ? "free: no process, no lease" : "no process");
}

static void put_gpu(struct frame *f, const struct ps_gpu *gpu)
{
	const char *name = gpumap_device_str(gpu->device, GPUMAP_DEVICE_NAME);
	CLEANUP(strbuf_free) struct strbuf head = {0};
	const struct ps_ended *ended;
	size_t shown = 0, next = 0;
	bool kept = ps_next_ended(f->ps, gpu, &next);

	for (size_t i = 0; i < gpu->count; i++)
		shown += is_shown(f, &gpu->processes[i]);
	if (f->view->stale && !shown && !gpu->left && !kept)
		return;
	if (f->gpus++)
		strbuf_puts(f->buf, "\n");
	strbuf_printf(&head, "GPU %d%s%s", gpu->device->physical, name ? "  " : "",
		      name ? name : "");
	put_device(f, 0, head.text, gpu->device);
	if (!f->view->stale || kept) {
		put_lease(f, gpu);
		put_instances(f, gpu);
	}
	for (next = 0; (ended = ps_next_ended(f->ps, gpu, &next));)
		put_kept(f, ended);
	for (size_t i = 0; i < gpu->count; i++)
		if (is_shown(f, &gpu->processes[i]))
			put_process(f, &gpu->processes[i]);
	if (!f->view->stale || gpu->left)
		put_hidden(f, gpu);
	if (!shown && !gpu->hidden && gpumap_device_process_count(gpu->device) == 0)
		put_unused(f, gpu);
}

/* The leases of ended processes, on the GPUs that are shown. */
static size_t count_ended(const struct ps *ps)
{
	size_t count = 0;

	for (size_t i = 0; i < ps->ended_count; i++) {
		bool shown = false;

		for (size_t k = 0; k < ps->count; k++)
			shown = shown ||
				ps->ended[i].gpus[ps->gpus[k].device - ps->inventory->gpus];
		count += shown;
	}
	return count;
}

static void put_title(struct frame *f, size_t shown)
{
	const char *host = gpumap_inventory_str(f->ps->inventory, GPUMAP_INVENTORY_HOST);
	const char *driver = gpumap_inventory_str(f->ps->inventory, GPUMAP_INVENTORY_DRIVER);
	size_t count = f->ps->count, all = gpumap_inventory_count(f->ps->inventory);
	size_t ended = f->view->stale ? count_ended(f->ps) : 0;
	CLEANUP(strbuf_free) struct strbuf text = {0};
	time_t now = (time_t)f->ps->now;
	struct tm local;
	char date[32];

	if (f->view->stale)
		strbuf_printf(&text, "%zu stale rank%s", shown, shown == 1 ? "" : "s");
	else
		strbuf_printf(&text,
			      count < all ? "%zu of %zu GPUs"
			      : all == 1  ? "%zu GPU"
					  : "%zu GPUs",
			      count, all);
	if (host)
		strbuf_printf(&text, " of %s", host);
	if (ended)
		strbuf_printf(&text, ", %zu lease%s", ended,
			      ended == 1 ? " of an ended process" : "s of ended processes");
	if (driver)
		strbuf_printf(&text, ", driver %s", driver);
	if (f->view->dated && localtime_r(&now, &local) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local))
		strbuf_printf(&text, ", %s", date);
	if (f->view->quits)
		strbuf_puts(&text, ", q quits");
	end_line(f, 0, STYLE_ANSWER, text.text);
}

/* The commands that end this user's stale ranks: each line is whole. */
static void put_kill(struct frame *f)
{
	static const char begin[] = "  kill";
	size_t count, used = 0;
	CLEANUP_FREE int64_t *pids = ps_own_stale(f->ps, &count);

	if (count)
		strbuf_puts(f->buf, "\nThis ends your stale ranks:\n");
	for (size_t i = 0; i < count; i++) {
		char pid[24];
		size_t n = (size_t)snprintf(pid, sizeof(pid), " %lld", (long long)pids[i]);

		if (used && used + n > f->view->width) {
			strbuf_puts(f->buf, "\n");
			used = 0;
		}
		if (!used) {
			strbuf_puts(f->buf, begin);
			used = strlen(begin);
		}
		strbuf_puts(f->buf, pid);
		used += n;
	}
	if (count)
		strbuf_puts(f->buf, "\n");
}

void ps_text(struct strbuf *buf, const struct ps *ps, const struct ps_view *view)
{
	struct frame f = {.ps = ps,
			  .view = view,
			  .buf = buf,
			  .table = {.columns = columns, .count = COLUMNS}};
	size_t shown = add_rows(&f);

	buf->styled = view->styled;
	put_title(&f, shown);
	strbuf_puts(buf, ps->count ? "\n" : "");
	if (shown)
		text_table_heads(buf, &f.table, INDENT);
	for (size_t i = 0; i < ps->count; i++)
		put_gpu(&f, &ps->gpus[i]);
	put_kill(&f);
	text_table_free(&f.table);
}
