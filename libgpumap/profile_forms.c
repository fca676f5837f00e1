/* SPDX-License-Identifier: MIT */
/*
 * The grammar of values, from the key table's own text: alternatives between bars, each
 * a word ("auto"), a form in capitals ("COUNT") or both ("restart:COUNT"). What the
 * table shows to people is what is checked.
 */
#include "profile_keys.h"

#include <stdio.h>

#include "hostlist.h"
#include "inifile.h"
#include "pci.h"
#include "suggest.h"

static bool any_text(struct span value, struct span *wrong)
{
	(void)value;
	(void)wrong;
	return true;
}

static int64_t number(struct span value)
{
	return span_number(value, INT32_MAX);
}

static bool count(struct span value, struct span *wrong)
{
	*wrong = value;
	return span_number(value, INT32_MAX) >= 1;
}

static bool port(struct span value, struct span *wrong)
{
	*wrong = value;
	return span_number(value, 65535) >= 1;
}

int64_t duration_parse(struct span s)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}};
	size_t digits = 0;
	int64_t n;

	while (digits < s.length && is_digit(s.text[digits]))
		digits++;
	n = span_number((struct span){s.text, digits}, INT32_MAX);
	s.text += digits;
	s.length -= digits;
	for (size_t i = 0; n >= 0 && i < ARRAY_SIZE(units); i++)
		if (span_is(s, units[i].unit))
			return n * units[i].ms;
	return -1;
}

static bool duration(struct span value, struct span *wrong)
{
	*wrong = value;
	return duration_parse(value) >= 0;
}

/* "3" for all, or "0:3,1:2"; of those that name a rank twice the last holds. */
int streams_parse(struct span s, int64_t local_rank)
{
	int64_t found = span_number(s, STREAM_OUT | STREAM_ERR), rank, streams;
	struct span pair, number;

	if (found >= 0)
		return (int)found;
	found = 0;
	while (span_split(&s, ',', &pair)) {
		if (!span_split(&pair, ':', &number) || !pair.text)
			return -1;
		rank = span_number(number, INT32_MAX);
		streams = span_number(pair, STREAM_OUT | STREAM_ERR);
		if (rank < 0 || streams < 0)
			return -1;
		if (rank == local_rank)
			found = streams;
	}
	return (int)found;
}

static bool streams(struct span value, struct span *wrong)
{
	*wrong = value;
	return streams_parse(value, 0) >= 0;
}

static bool is_signal(struct span name)
{
	static const char *const names[] = {"HUP",  "INT",   "QUIT", "KILL", "USR1", "USR2",
					    "ALRM", "TERM",  "CONT", "STOP", "TSTP", "URG",
					    "XCPU", "WINCH", "ABRT", "PWR",  "IO"};

	if (span_starts(name, "SIG"))
		name = (struct span){name.text + 3, name.length - 3};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_is(name, names[i]))
			return true;
	return false;
}

static bool signal_name(struct span value, struct span *wrong)
{
	*wrong = value;
	return is_signal(value);
}

static bool signal_names(struct span value, struct span *wrong)
{
	while (span_split(&value, ',', wrong)) {
		*wrong = span_trim(*wrong);
		if (!is_signal(*wrong) || span_is(*wrong, "KILL") || span_is(*wrong, "STOP") ||
		    span_is(*wrong, "SIGKILL") || span_is(*wrong, "SIGSTOP"))
			return false;
	}
	return true;
}

static bool is_name(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (is_blank(s.text[i]) || s.text[i] == ',' || s.text[i] == '*')
			return false;
	return s.length;
}

static bool name(struct span value, struct span *wrong)
{
	*wrong = value;
	return is_name(value);
}

static bool names(struct span value, struct span *wrong)
{
	while (inifile_item(&value, wrong))
		if (!is_name(*wrong))
			return false;
	return true;
}

static bool files(struct span value, struct span *wrong)
{
	while (inifile_item(&value, wrong))
		if (!wrong->length || span_is(*wrong, "?"))
			return false;
	return true;
}

/* A host's name or address. */
static bool address(struct span value, struct span *wrong)
{
	*wrong = value;
	for (size_t i = 0; i < value.length; i++)
		if (is_blank(value.text[i]) || value.text[i] == ',' || value.text[i] == '[')
			return false;
	return value.length;
}

static bool hosts(struct span value, struct span *wrong)
{
	return hostlist_check(value, true, wrong);
}

static bool plain_hosts(struct span value, struct span *wrong)
{
	return hostlist_check(value, false, wrong);
}

static bool option_name(struct span value, struct span *wrong)
{
	*wrong = value;
	for (size_t i = 2; i < value.length; i++)
		if (is_blank(value.text[i]) || value.text[i] == '=')
			return false;
	return value.length > 2 && span_starts(value, "--");
}

static bool hex_and_dashes(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!is_hex(s.text[i]) && s.text[i] != '-')
			return false;
	return s.length;
}

/* "MIG-GPU-uuid/gi/ci" is how older drivers named an instance. */
static bool mig_name(struct span s)
{
	struct span part;

	if (span_starts(s, "GPU-"))
		s = (struct span){s.text + 4, s.length - 4};
	if (!span_split(&s, '/', &part) || !hex_and_dashes(part))
		return false;
	while (span_split(&s, '/', &part))
		if (span_number(part, INT32_MAX) < 0)
			return false;
	return true;
}

static struct span behind(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return (struct span){s.text + n, s.length - n};
}

static bool is_gpu(struct span s)
{
	char pci[20];

	if (span_starts(s, "GPU-"))
		return hex_and_dashes(behind(s, "GPU-"));
	if (span_starts(s, "MIG-"))
		return mig_name(behind(s, "MIG-"));
	if (span_starts(s, "pci:"))
		return pci_normalise(behind(s, "pci:"), pci);
	if (span_starts(s, "name:"))
		return s.length > 5 && !span_is(s, "name:\"\"") && !span_is(s, "name:''");
	return span_number(s, INT32_MAX) >= 0;
}

static bool gpus(struct span value, struct span *wrong)
{
	while (inifile_item(&value, wrong))
		if (!is_gpu(*wrong))
			return false;
	return true;
}

static bool is_device(struct span s)
{
	static const char *const words[] = {"%l", "%r", "%n", "modulo"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (span_is(s, words[i]))
			return true;
	return span_number(s, INT32_MAX) >= 0;
}

static bool device(struct span value, struct span *wrong)
{
	*wrong = value;
	return is_device(value);
}

static bool devices(struct span value, struct span *wrong)
{
	while (span_split(&value, ',', wrong)) {
		*wrong = span_trim(*wrong);
		if (!is_device(*wrong))
			return false;
	}
	return true;
}

const struct form *form_find(struct span wanted)
{
	static const struct form forms[] = {
		{"TEXT", any_text, NULL, NULL},
		{"FILE", any_text, NULL, NULL},
		{"COMMAND", any_text, NULL, NULL},
		{"COUNT", count, number, "a number, 1 or more"},
		{"PORT", port, number, "a number from 1 to 65535"},
		{"DURATION", duration, duration_parse,
		 "a number with a unit: ms, s, m or h, as in 30s"},
		{"STREAMS", streams, NULL,
		 "0 to 3 (1 output, 2 errors), or that by local rank, as in 0:3,1:2"},
		{"SIGNAL", signal_name, NULL, "a signal's name, as in TERM"},
		{"SIGNAL,...", signal_names, NULL,
		 "names of signals that can be caught, as in USR1,USR2"},
		{"NAME", name, NULL, "one name, without blanks"},
		{"NAME,...", names, NULL, "names, as in a,b"},
		{"FILE,...", files, NULL, "names of files"},
		{"ADDRESS", address, NULL, "one host's name or address"},
		{"HOST,...", plain_hosts, NULL, "names of hosts, as in tux[08-11],gpu1"},
		{"HOST-PATTERN,...", hosts, NULL, "names of hosts, as in tux[00-03],gpu*"},
		{"CPUS", numbers_check, NULL, "numbers of CPUs, as in 0-7,64"},
		{"NUMBERS", numbers_check, NULL, "numbers, as in 0,2-5"},
		{"--OPTION", option_name, NULL, "an option's name, as in --local_rank"},
		{"GPU,...", gpus, NULL,
		 "a GPU is a number, GPU-UUID, MIG-UUID, pci:0000:1b:00.0 or name:\"NVIDIA "
		 "H100*\""},
		{"DEVICE", device, NULL, "a number, %l (the local rank), %r, %n or modulo"},
		{"DEVICE,...", devices, NULL, "numbers, or %l for the local rank"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (span_is(wanted, forms[i].name))
			return &forms[i];
	return NULL;
}
