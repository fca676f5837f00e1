/* SPDX-License-Identifier: MIT */
/* See summary.h. */
#include "report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "report/table.h"
#include "report/format.h"

enum { FIELD = 96, ROLE = 160 };

bool several_hosts(const char *host, size_t size, int count)
{
	for (int i = 1; i < count; i++)
		if (strncmp(host, host + (size_t)i * size, 64) != 0)
			return true;
	return false;
}

static void role_text(char text[ROLE], const struct summary_device *device)
{
	switch ((enum summary_role)device->role) {
	case SUMMARY_MASTER:
		snprintf(text, ROLE, "master, replica %d", device->index);
		break;
	case SUMMARY_REPLICA:
		snprintf(text, ROLE, "replica %d", device->index);
		break;
	case SUMMARY_STAGE:
		snprintf(text, ROLE, "stage %d%s%.*s", device->index, device->layers[0] ? ": " : "",
			 FIELD, device->layers);
		break;
	default:
		snprintf(text, ROLE, "all");
	}
}

void summary_places(FILE *out, const struct summary_device *devices, int count)
{
	static const char *const heads[] = {"rank", "local", "device", "GPU",  "host",
					    "role", "name",  "PCI",    "UUID", NULL};
	bool hosts = count > 0 && several_hosts(devices->host, sizeof(*devices), count);
	struct table table;
	char role[ROLE];

	table_open(&table, heads);
	for (int i = 0; i < count; i++) {
		const struct summary_device *device = &devices[i];

		table_row(&table);
		table_set(&table, 0, "%d", device->rank);
		table_set(&table, 1, "%d", device->local_rank);
		table_set(&table, 2, "cuda:%d", device->logical);
		table_set(&table, 3, "%d", device->physical);
		table_set(&table, 4, "%.64s", hosts ? device->host : "");
		role_text(role, device);
		table_set(&table, 5, "%s", role);
		table_set(&table, 6, "%.96s", device->name);
		table_set(&table, 7, "%.24s", device->pci);
		table_set(&table, 8, "%.64s", device->uuid);
	}
	table_print(&table, out);
}

/* --- memory ----------------------------------------------------------------------- */

static bool same_device(const struct summary_device *a, const struct summary_device *b)
{
	return a->physical == b->physical && strncmp(a->host, b->host, sizeof(a->host)) == 0;
}

static bool seen_before(const struct summary_device *devices, int i)
{
	for (int k = 0; k < i; k++)
		if (same_device(&devices[k], &devices[i]))
			return true;
	return false;
}

static void add_memory_row(struct table *table, const struct summary_device *devices, int count,
			   int i, bool hosts)
{
	char ranks[FIELD] = "", number[NUMBER_TEXT], role[ROLE];
	int64_t bytes = 0, peak = 0;
	int shares = 0, rank = -1;

	for (int k = i; k < count; k++) {
		if (!same_device(&devices[k], &devices[i]))
			continue;
		bytes += devices[k].bytes;
		peak += devices[k].peak_bytes;
		shares++;
		if (devices[k].rank != rank && strlen(ranks) < FIELD - 16)
			text_append(ranks, FIELD, "%s%d", *ranks ? "," : "", devices[k].rank);
		rank = devices[k].rank;
	}
	table_row(table);
	table_set(table, 0, "%.64s", hosts ? devices[i].host : "");
	table_set(table, 1, "%d", devices[i].physical);
	table_set(table, 2, "%s", ranks);
	role_text(role, &devices[i]);
	if (shares > 1)
		table_set(table, 3, "%d share it", shares);
	else
		table_set(table, 3, "%s", role);
	table_set(table, 4, "%s", number_bytes(number, bytes));
	table_set(table, 5, "%s", number_bytes(number, peak));
}

static void report_surplus(FILE *out, const struct summary_device *devices, int count)
{
	const struct summary_device *master = NULL;
	char surplus[NUMBER_TEXT], mean[NUMBER_TEXT];
	double others = 0;
	int64_t more;

	for (int i = 0; i < count; i++)
		if (devices[i].role == SUMMARY_MASTER)
			master = &devices[i];
		else
			others += (double)devices[i].peak_bytes;
	if (!master || count < 2)
		return;
	others /= count - 1;
	more = master->peak_bytes - (int64_t)others;
	fprintf(out, "The master, GPU %d, used %s %s than the other%s (%s%s)%s\n", master->physical,
		number_bytes(surplus, more < 0 ? -more : more), more < 0 ? "less" : "more",
		count == 2 ? "" : "s", count == 2 ? "" : "on average ",
		number_bytes(mean, (int64_t)others),
		more > 0 ? ", for optimizer state, gathered outputs and sums of gradients" : "");
}

void summary_memory(FILE *out, const struct summary_device *devices, int count)
{
	static const char *const heads[] = {"host",   "GPU",         "ranks", "role",
					    "memory", "peak memory", NULL};
	bool hosts = count > 0 && several_hosts(devices->host, sizeof(*devices), count);
	struct table table;

	table_open(&table, heads);
	for (int i = 0; i < count; i++)
		if (!seen_before(devices, i))
			add_memory_row(&table, devices, count, i, hosts);
	table_print(&table, out);
	report_surplus(out, devices, count);
}

/* --- times ------------------------------------------------------------------------ */

static double per_step(double seconds, int64_t steps)
{
	return steps > 0 ? 1e3 * seconds / (double)steps : 0;
}

static void set_per_step(struct table *table, int column, double seconds, int64_t steps)
{
	if (steps > 0)
		table_set(table, column, "%.2f", per_step(seconds, steps));
	else
		table_set(table, column, "-");
}

static void report_slowest(FILE *out, const struct summary_rank *ranks, int count)
{
	double mean = 0, max = -1;
	int slowest = 0;

	for (int i = 0; i < count; i++) {
		double own = per_step(ranks[i].own_seconds, ranks[i].timed);

		mean += own / count;
		if (own > max) {
			max = own;
			slowest = i;
		}
	}
	if (count < 2 || !(mean > 0))
		return;
	fprintf(out,
		"Rank %d (GPU %d) is the slowest: %.2f ms per step, %.1f %% above the mean of "
		"%.2f ms\n",
		ranks[slowest].rank, ranks[slowest].physical, max, 100 * (max / mean - 1), mean);
}

void summary_times(FILE *out, const struct summary_rank *ranks, int count)
{
	static const char *const heads[] = {
		"rank", "GPU", "host", "steps", "own ms/step", "waiting ms/step", NULL};
	bool hosts = count > 0 && several_hosts(ranks->host, sizeof(*ranks), count);
	struct table table;

	table_open(&table, heads);
	for (int i = 0; i < count; i++) {
		const struct summary_rank *rank = &ranks[i];

		table_row(&table);
		table_set(&table, 0, "%d", rank->rank);
		table_set(&table, 1, "%d", rank->physical);
		table_set(&table, 2, "%.64s", hosts ? rank->host : "");
		table_set(&table, 3, "%lld", (long long)rank->steps);
		set_per_step(&table, 4, rank->own_seconds, rank->timed);
		set_per_step(&table, 5, rank->waited_seconds, rank->timed);
	}
	table_print(&table, out);
	report_slowest(out, ranks, count);
}
