/* SPDX-License-Identifier: MIT */
#include "report/burn.h"

#include <stdlib.h>
#include <string.h>

#include "nvml_api.h"
#include "report/format.h"
#include "report/table.h"

/* --- findings ----------------------------------------------------------------------------------
 */

static bool are_equal(const struct burn_device *a, const struct burn_device *b)
{
	return strncmp(a->name, b->name, sizeof(a->name)) == 0;
}

static int compare_rates(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the other devices that are equal to devices[index]; 0: there is none, or no memory. */
static double median_of_equals(const struct burn_device *devices, int count, int index)
{
	double *rates = malloc((size_t)count * sizeof(*rates)), median = 0;
	int n = 0;

	for (int i = 0; rates && i < count; i++)
		if (i != index && are_equal(&devices[i], &devices[index]) && devices[i].checks > 0)
			rates[n++] = devices[i].rate;
	if (n > 0) {
		qsort(rates, (size_t)n, sizeof(*rates), compare_rates);
		median = (rates[(n - 1) / 2] + rates[n / 2]) / 2;
	}
	free(rates);
	return median;
}

/* How many of its equals, with itself, have the same bits, and how many have any. */
static unsigned judge_bits(const struct burn_device *devices, int count, int index)
{
	int same = 0, most = 0, all = 0;

	if (devices[index].wrong > 0)
		return BURN_WRONG_BITS;
	if (devices[index].checks == 0)
		return 0;
	for (int i = 0; i < count; i++) {
		int alike = 0;

		if (!are_equal(&devices[i], &devices[index]) || devices[i].checks == 0 ||
		    devices[i].wrong > 0)
			continue;
		all++;
		same += devices[i].hash == devices[index].hash;
		for (int k = 0; k < count; k++)
			alike += are_equal(&devices[k], &devices[index]) && devices[k].checks > 0 &&
				 devices[k].wrong == 0 && devices[k].hash == devices[i].hash;
		most = alike > most ? alike : most;
	}
	if (same == all || 2 * same > all)
		return 0;
	return 2 * most > all ? BURN_OTHER_BITS : BURN_UNCERTAIN_BITS;
}

unsigned burn_judge(const struct burn_device *devices, int count, int index)
{
	const struct burn_device *d = &devices[index];
	double median = median_of_equals(devices, count, index);
	unsigned findings = judge_bits(devices, count, index);

	if (d->uncorrected > 0)
		findings |= BURN_MEMORY_ERRORS;
	if (d->corrected > 0)
		findings |= BURN_CORRECTED;
	if (d->slowed > 0)
		findings |= BURN_SLOWDOWN;
	if (d->checks > 0 && d->rate < median * (1 - d->behind))
		findings |= BURN_SLOW;
	if (*d->lost)
		findings |= BURN_LOST;
	return findings;
}

/* --- the table ---------------------------------------------------------------------------------
 */

const char *burn_reasons(char text[BURN_REASONS], int64_t reasons)
{
	static const struct {
		int64_t bit;
		const char *word;
	} words[] = {
		{NVML_CLOCKS_SW_POWER, "power limit"},
		{NVML_CLOCKS_SW_THERMAL, "heat"},
		{NVML_CLOCKS_HW_THERMAL, "heat (hardware)"},
		{NVML_CLOCKS_HW_POWER_BRAKE, "power brake"},
		{NVML_CLOCKS_HW_SLOWDOWN, "hardware slowdown"},
	};
	int used = 0;

	*text = '\0';
	for (size_t i = 0; reasons > 0 && i < sizeof(words) / sizeof(*words); i++)
		if (reasons & words[i].bit)
			used += snprintf(text + used, (size_t)(BURN_REASONS - used), "%s%s",
					 used ? ", " : "", words[i].word);
	return reasons >= 0 && !*text ? "none" : text;
}

static void set_number(struct table *table, int column, int64_t value, const char *unit)
{
	if (value >= 0)
		table_set(table, column, "%lld%s", (long long)value, unit);
}

static void add_row(struct table *table, const struct burn_device *d, bool hosts)
{
	char number[NUMBER_TEXT], reasons[BURN_REASONS];

	table_row(table);
	if (hosts)
		table_set(table, 0, "%.64s", d->host);
	table_set(table, 1, "%d", d->physical);
	if (d->checks > 0)
		table_set(table, 2, "%s", number_decimals(number, d->rate, 1));
	set_number(table, 3, d->checks, "");
	set_number(table, 4, d->wrong, "");
	set_number(table, 5, d->max_celsius, " C");
	set_number(table, 6, d->min_mhz, " MHz");
	table_set(table, 7, "%s", burn_reasons(reasons, d->reasons));
	if (d->used_bytes >= 0)
		table_set(table, 8, "%s", number_bytes(number, d->used_bytes));
	if (d->corrected > 0)
		table_set(table, 9, "%lld, and %lld corrected", (long long)d->uncorrected,
			  (long long)d->corrected);
	else
		set_number(table, 9, d->uncorrected, "");
}

/* --- the lines of findings ---------------------------------------------------------------------
 */

static void print_bits(FILE *out, const struct burn_device *d, unsigned findings)
{
	if (findings & BURN_WRONG_BITS)
		fprintf(out, "; WRONG: %lld of %lld checks gave other bits than its first",
			(long long)d->wrong, (long long)d->checks);
	if (findings & BURN_OTHER_BITS)
		fputs("; WRONG: it computes other bits than most of its equals", out);
	if (findings & BURN_UNCERTAIN_BITS)
		fputs("; its equals compute other bits, and it is not known which are right", out);
}

static void print_findings(FILE *out, const struct burn_device *devices, int count, int index,
			   unsigned findings)
{
	const struct burn_device *d = &devices[index];
	double median = median_of_equals(devices, count, index);
	char reasons[BURN_REASONS];

	fprintf(out, "GPU %d%s%.64s%s%.64s", d->physical, *d->host ? " of " : "", d->host,
		*d->uuid ? ", " : "", d->uuid);
	print_bits(out, d, findings);
	if (findings & BURN_LOST)
		fprintf(out, "; NVML: %.64s", d->lost);
	if (findings & BURN_MEMORY_ERRORS)
		fprintf(out, "; %lld memory errors that were not corrected",
			(long long)d->uncorrected);
	if (findings & BURN_CORRECTED)
		fprintf(out, "; %lld corrected memory errors", (long long)d->corrected);
	if (findings & BURN_SLOWDOWN)
		fprintf(out, "; slowed down in %lld of %lld samples: %s", (long long)d->slowed,
			(long long)d->samples, burn_reasons(reasons, d->reasons));
	if (findings & BURN_SLOW)
		fprintf(out, "; SLOW: %.1f %% behind the median of its equals",
			100 * (1 - d->rate / median));
	fputc('\n', out);
}

static bool several_hosts(const struct burn_device *devices, int count)
{
	for (int i = 1; i < count; i++)
		if (strncmp(devices[i].host, devices[0].host, sizeof(devices[0].host)) != 0)
			return true;
	return false;
}

int burn_report(FILE *out, const struct burn_device *devices, int count)
{
	static const char *const heads[] = {
		"host",          "GPU",       "samples/s", "checks",        "wrong", "hottest",
		"slowest clock", "slowed by", "memory",    "memory errors", NULL};
	bool hosts = several_hosts(devices, count);
	struct table table;
	int bad = 0;

	table_open(&table, heads);
	for (int i = 0; i < count; i++)
		add_row(&table, &devices[i], hosts);
	table_print(&table, out);
	for (int i = 0; i < count; i++) {
		unsigned findings = burn_judge(devices, count, i);

		if (findings)
			print_findings(out, devices, count, i, findings);
		bad += findings != 0;
	}
	if (bad == 0)
		fprintf(out, "Burn test: nothing wrong was found on %d device%s\n", count,
			count == 1 ? "" : "s");
	return bad;
}
