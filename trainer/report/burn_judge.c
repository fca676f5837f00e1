/* SPDX-License-Identifier: MIT */
/* See burn_judge.h. */
#include "report/burn_judge.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "nvml_api.h"
#include "report/format.h"
#include "report/summary.h"
#include "report/table.h"

/* --- findings -------------------------------------------------------------------------------- */

static bool are_equal(const struct burn_device *a, const struct burn_device *b)
{
	if (a == b)
		return true;
	if (a->simulated || b->simulated)
		return a->simulated && b->simulated &&
		       strncmp(a->host, b->host, sizeof(a->host)) == 0;
	return *a->name && strncmp(a->name, b->name, sizeof(a->name)) == 0 &&
	       strncmp(a->uuid, "MIG-", 4) != 0 && strncmp(b->uuid, "MIG-", 4) != 0;
}

static int compare_rates(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double burn_median(double *rates, int count)
{
	if (count == 0)
		return 0;
	qsort(rates, (size_t)count, sizeof(*rates), compare_rates);
	return (rates[(count - 1) / 2] + rates[count / 2]) / 2;
}

/* Of the other devices that are equal to devices[index]; 0: there is none. */
static double median_of_equals(const struct burn_device *devices, int count, int index)
{
	CLEANUP_FREE double *rates = xmalloc((size_t)count * sizeof(*rates));
	int n = 0;

	for (int i = 0; i < count; i++)
		if (i != index && are_equal(&devices[i], &devices[index]) &&
		    devices[i].checks >= BURN_SPEED_CHECKS)
			rates[n++] = devices[i].rate;
	return burn_median(rates, n);
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
	if (d->checks >= BURN_SPEED_CHECKS && d->rate < median * (1 - d->behind))
		findings |= BURN_SLOW;
	if (*d->lost)
		findings |= BURN_LOST;
	if (d->failed)
		findings |= BURN_FAILED;
	return findings;
}

/* --- lines and the table --------------------------------------------------------------------- */

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

	*text = '\0';
	for (size_t i = 0; reasons > 0 && i < sizeof(words) / sizeof(*words); i++)
		if (reasons & words[i].bit)
			text_append(text, BURN_REASONS, "%s%s", *text ? ", " : "", words[i].word);
	return reasons >= 0 && !*text ? "none" : text;
}

const char *burn_line(char text[BURN_LINE], const struct burn_device *d, bool host)
{
	int64_t errors =
		(d->corrected > 0 ? d->corrected : 0) + (d->uncorrected > 0 ? d->uncorrected : 0);
	char number[NUMBER_TEXT], reasons[BURN_REASONS];

	*text = '\0';
	text_append(text, BURN_LINE, "GPU %d%s%.64s:", d->physical, host ? " of " : "",
		    host ? d->host : "");
	if (d->checks > 0)
		text_append(text, BURN_LINE, " %s img/s",
			    number_decimals(number, d->rate, d->rate < 100));
	else
		text_append(text, BURN_LINE, " no check yet");
	if (d->wrong > 0)
		text_append(text, BURN_LINE, ", %lld of %lld checks WRONG", (long long)d->wrong,
			    (long long)d->checks);
	if (errors > 0)
		text_append(text, BURN_LINE, ", %lld memory error%s", (long long)errors,
			    errors == 1 ? "" : "s");
	if (*d->lost)
		text_append(text, BURN_LINE, ", NVML: %.64s", d->lost);
	if (d->celsius >= 0)
		text_append(text, BURN_LINE, ", %d C", d->celsius);
	if (d->mhz >= 0)
		text_append(text, BURN_LINE, ", %d MHz", d->mhz);
	if (d->used_bytes >= 0)
		text_append(text, BURN_LINE, ", %s", number_bytes(number, d->used_bytes));
	burn_reasons(reasons, d->now_reasons);
	if (*reasons && strcmp(reasons, "none") != 0)
		text_append(text, BURN_LINE, ", slowed by %s", reasons);
	return text;
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
	table_set(table, 0, "%.64s", hosts ? d->host : "");
	table_set(table, 1, "%d", d->physical);
	if (d->checks > 0)
		table_set(table, 2, "%s", number_decimals(number, d->rate, 1));
	set_number(table, 3, d->checks, "");
	set_number(table, 4, d->wrong, "");
	set_number(table, 5, d->max_celsius, " C");
	set_number(table, 6, d->min_mhz, " MHz");
	if (d->used_bytes >= 0)
		table_set(table, 7, "%s", number_bytes(number, d->used_bytes));
	if (d->corrected > 0)
		table_set(table, 8, "%lld, and %lld corrected", (long long)d->uncorrected,
			  (long long)d->corrected);
	else
		set_number(table, 8, d->uncorrected, "");
	table_set(table, 9, "%s", burn_reasons(reasons, d->reasons));
}

/* --- the lines of findings ------------------------------------------------------------------- */

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
	if (findings & BURN_FAILED)
		fputs("; FAILED, which ended the test", out);
	if (findings & BURN_LOST)
		fprintf(out, "; NVML: %.64s", d->lost);
	if (findings & BURN_MEMORY_ERRORS)
		fprintf(out, "; %lld uncorrected memory error%s", (long long)d->uncorrected,
			d->uncorrected == 1 ? "" : "s");
	if (findings & BURN_CORRECTED)
		fprintf(out, "; %lld corrected memory error%s", (long long)d->corrected,
			d->corrected == 1 ? "" : "s");
	if (findings & BURN_SLOWDOWN)
		fprintf(out, "; slowed down in %lld of %lld samples: %s", (long long)d->slowed,
			(long long)d->samples,
			burn_reasons(reasons, d->reasons & ~(int64_t)NVML_CLOCKS_SW_POWER));
	if (findings & BURN_SLOW)
		fprintf(out, "; SLOW: %.1f %% behind the median of its equals",
			100 * (1 - d->rate / median));
	fputc('\n', out);
}

static void print_verdict(FILE *out, const struct burn_device *devices, int count, int bad,
			  bool failed)
{
	int unchecked = 0, simulated = 0;

	for (int i = 0; i < count; i++) {
		unchecked += devices[i].checks < 2;
		simulated += devices[i].simulated;
	}
	if (failed)
		fputs("Burn test: an error ended it; the table has what was known before\n", out);
	else if (unchecked > 0)
		fprintf(out,
			"Burn test: it ended too early: %d of %d device%s made no second check, so "
			"nothing is known about what they compute\n",
			unchecked, count, count == 1 ? "" : "s");
	else if (bad == 0)
		fprintf(out, "Burn test: nothing wrong was found on %d %sdevice%s\n", count,
			simulated == count ? "simulated " : "", count == 1 ? "" : "s");
}

int burn_report(FILE *out, const struct burn_device *devices, int count, const struct burn_end *end)
{
	static const char *const heads[] = {"host",  "GPU",       "img/s",     "checks",
					    "wrong", "hottest",   "min clock", "memory",
					    "ECC",   "slowed by", NULL};
	bool hosts = several_hosts(devices->host, sizeof(*devices), count);
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
	if (end->infinite > 0) {
		fprintf(out,
			"Burn test: in %lld of %lld steps the sums of gradients were not finite; a "
			"device or a transfer between devices is at fault\n",
			(long long)end->infinite, (long long)end->steps);
		bad++;
	}
	print_verdict(out, devices, count, bad, end->failed);
	return bad;
}
