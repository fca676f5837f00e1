/* SPDX-License-Identifier: MIT */
/* Gathers what gpumap leases shows. */
#include "live/leases.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/note.h"
#include "lease/units.h"
#include "memory.h"
#include "pick/find_shell.h"
#include "pick/lease_here.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"

#define GUARD "gpumap-lease "
#define OF "of "

/* --- the processes ------------------------------------------------------------------------ */

/* The process that a guard waits for; 0: this is not the command line of a guard. */
static int64_t guarded(const char *command)
{
	int64_t pid;

	if (!starts_with(command, GUARD))
		return 0;
	command += strlen(GUARD);
	pid = span_number(span_of(starts_with(command, OF) ? command + strlen(OF) : command),
			  INT32_MAX);
	return pid > 0 ? pid : 0;
}

/* Takes what the command line of the process shows that took the lease. Only its first words are
 * read, because it may be very long. */
static void read_kind(struct lease_row *row, int64_t *kept_for)
{
	const char *second;
	int64_t numbers[MAX_PID_SPACES], named;
	char text[PATH_MAX];
	ssize_t n = row->pid > 0 ? read_start(text, sizeof(text), PROCESS_PATH(row->pid, "cmdline"))
				 : 0;

	*kept_for = 0;
	if (n <= 0)
		return;
	named = guarded(text);
	/* In a pid namespace below this one, it is the number of another process here. */
	*kept_for = process_numbers(numbers, (pid_t)row->pid) > 1 ? 0 : named;
	second = text + strlen(text) + 1;
	row->kind = named > 0 ? LEASE_OF_PROCESS
		    : streq(file_name(text), "gpumap") && second < text + n && streq(second, "run")
			    ? LEASE_OF_RUN
			    : LEASE_OF_PROGRAM;
}

static const gpumap_process *find_process(const struct leases *leases, int64_t pid)
{
	for (size_t i = 0; pid > 0 && i < leases->people.count; i++) {
		const gpumap_process *p = &leases->people.processes[i];

		if (p->pid == pid && (p->start >= 0 || p->uid >= 0))
			return p;
	}
	return NULL;
}

/* A shell is a process that a guard waits for, so both have the same title. */
static bool is_shell(const gpumap_process *p)
{
	struct span name = process_program(p);

	span_skip(&name, "-"); /* a login shell */
	return is_shell_name(name.text);
}

static void describe(struct leases *leases)
{
	CLEANUP_FREE int64_t *kept_for = xcalloc(leases->count, sizeof(*kept_for));
	CLEANUP_FREE int64_t *pids = xcalloc(2 * leases->count, sizeof(*pids));
	size_t count = 0;

	for (size_t i = 0; i < leases->count; i++) {
		struct lease_row *row = &leases->rows[i];

		if (!row->ended)
			read_kind(row, &kept_for[i]);
		if (row->pid > 0 && !row->ended)
			pids[count++] = row->pid;
		if (kept_for[i] > 0)
			pids[count++] = kept_for[i];
	}
	lease_people_read(&leases->people, pids, count);
	for (size_t i = 0; i < leases->count; i++) {
		struct lease_row *row = &leases->rows[i];

		row->owner = row->ended ? NULL : find_process(leases, row->pid);
		row->kept_for = find_process(leases, kept_for[i]);
		if (row->kind == LEASE_OF_PROCESS && is_shell(row->kept_for))
			row->kind = LEASE_OF_SHELL;
	}
}

/* --- the GPUs ----------------------------------------------------------------------------- */

/* A load that is not known counts only if there is a process, as for gpumap pick --max-load. */
static void read_use(struct lease_row *row, const gpumap_inventory *inventory)
{
	row->load = -1;
	row->memory = 0;
	row->idle = true;
	for (size_t i = 0; i < row->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[row->gpus[i]];
		int64_t load = gpumap_device_int(gpu, GPUMAP_DEVICE_UTILIZATION);
		int64_t used = gpumap_device_int(gpu, GPUMAP_DEVICE_MEMORY_USED);

		row->load = load > row->load ? load : row->load;
		row->memory = used < 0 || row->memory < 0 ? -1 : row->memory + used;
		row->idle = row->idle && load <= 0 && gpumap_device_process_count(gpu) == 0 &&
			    gpumap_device_int(gpu, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1;
	}
}

struct gathering {
	struct leases *leases;
	size_t room;
};

static bool has_gpu(const struct lease_row *row, size_t gpu)
{
	for (size_t i = 0; i < row->count; i++)
		if (row->gpus[i] == gpu)
			return true;
	return false;
}

/* Of several MIG instances of a lease that do not exist any more their GPU is left, once. */
static bool is_listed(const struct leases *leases, size_t gpu, int64_t pid)
{
	for (size_t i = 0; pid > 0 && i < leases->count; i++)
		if (leases->rows[i].pid == pid && has_gpu(&leases->rows[i], gpu))
			return true;
	return false;
}

/* The row of the process; a lease of one that is not visible has a row for each GPU. */
static struct lease_row *row_of(struct gathering *g, size_t gpu, int64_t slots, int64_t pid)
{
	struct leases *leases = g->leases;
	bool instances = is_instance(&leases->inventory->gpus[gpu]);
	struct lease_row *row;

	for (size_t i = 0; pid > 0 && i < leases->count; i++) {
		row = &leases->rows[i];
		if (row->pid == pid && row->slots == slots && row->instances == instances &&
		    !has_gpu(row, gpu))
			return row;
	}
	row = ARRAY_NEXT(leases->rows, leases->count, g->room);
	*row = (struct lease_row){
		.pid = pid, .slots = slots, .instances = instances, .left_ms = -1, .idle_ms = -1};
	row->gpus = xcalloc(leases->inventory->count, sizeof(*row->gpus));
	return row;
}

static int add_lease(const gpumap_device *device, int64_t slots, int64_t pid, void *data)
{
	struct gathering *g = data;
	const gpumap_inventory *units = g->leases->inventory;
	bool ended = pid < 0;
	struct lease_row *row;
	size_t gpu = 0;

	pid = ended ? -pid : pid;
	while (unit_device(&units->gpus[gpu]) != device)
		gpu++;
	if (slots == 1 && is_listed(g->leases, gpu, pid))
		return GPUMAP_OK;
	row = row_of(g, gpu, slots, pid);
	row->gpus[row->count++] = gpu;
	row->ended = ended;
	return GPUMAP_OK;
}

static void read_notes(const struct leases *leases, const gpumap_claim *claim)
{
	int64_t now = lease_note_now();

	for (size_t i = 0; i < leases->count; i++) {
		struct lease_row *row = &leases->rows[i];
		struct lease_note note;

		if (row->pid <= 0 || !lease_note_read(&note, claim, row->pid))
			continue;
		if (note.end_ms >= 0)
			row->left_ms = note.end_ms > now ? note.end_ms - now : 0;
		row->idle_ms = note.idle_ms;
	}
}

static void read_kept(const struct leases *leases, const gpumap_claim *claim)
{
	for (size_t i = 0; i < leases->count; i++)
		if (!lease_owner_is_there(&leases->rows[i]))
			lease_kept_read(&leases->rows[i].kept, claim, leases->rows[i].pid);
}

static int read_leases(struct leases *leases, gpumap_report *report)
{
	struct gathering gathering = {leases, 0};
	OWNED(claim) *claim = NULL;
	int r = gpumap_claim_new(&claim);

	if (r == GPUMAP_OK)
		r = lease_folders_here(claim, report);
	if (r == GPUMAP_OK)
		r = gpumap_lease_each(claim, leases->machine, add_lease, &gathering, report);
	leases->known = r == GPUMAP_OK;
	r = r == GPUMAP_EBUSY || r == GPUMAP_EFILE ? GPUMAP_OK : r;
	for (size_t i = 0; r == GPUMAP_OK && i < leases->count; i++)
		read_use(&leases->rows[i], leases->inventory);
	if (r == GPUMAP_OK) {
		describe(leases);
		read_notes(leases, claim);
		read_kept(leases, claim);
	}
	return r;
}

int leases_read(struct leases *ret, gpumap_report *report)
{
	struct leases leases = {.now = time(NULL)};
	int r = gpumap_inventory_probe(&leases.machine, GPUMAP_PROBE_FLAG_USAGE, NULL, report);

	if (r == GPUMAP_OK) {
		leases.inventory = units_of(leases.machine);
		r = read_leases(&leases, report);
	}
	if (r == GPUMAP_OK)
		*ret = leases;
	else
		leases_free(&leases);
	return r;
}

void leases_free(struct leases *leases)
{
	for (size_t i = 0; i < leases->count; i++) {
		lease_kept_free(&leases->rows[i].kept);
		free(leases->rows[i].gpus);
	}
	free(leases->rows);
	lease_kept_free(&leases->people);
	units_free(leases->inventory);
	gpumap_inventory_free(leases->machine);
	*leases = (struct leases){0};
}
