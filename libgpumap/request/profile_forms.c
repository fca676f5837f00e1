/* SPDX-License-Identifier: MIT */
/*
 * The grammar of values, from the key table's own text: alternatives separated by bars, each a word
 * ("auto"), a form in capitals ("COUNT") or both ("restart:COUNT"). So values are checked by the
 * text that people read.
 */
#include "request/profile_keys.h"

#include <signal.h>

#include "cpuset.h"
#include "quantity.h"
#include "signal_name.h"
#include "text/hostlist.h"
#include "text/inifile.h"

static bool any_text(struct span value, struct span *wrong)
{
	return true;
}

/* The number of a form without functions; a number below `least`: it has none. */
static int64_t whole_number(const struct form *form, struct span value)
{
	bool negative = form->least < 0 && span_skip(&value, "-");
	int64_t number;

	number = span_number(value, INT32_MAX);
	if (number < 0)
		return form->least - 1;
	return negative ? -number : number;
}

bool form_check(const struct form *form, struct span value, struct span *wrong)
{
	int64_t number;

	if (form->check)
		return form->check(value, wrong);
	*wrong = value;
	number = whole_number(form, value);
	return number >= form->least && number <= form->most;
}

int64_t form_number(const struct form *form, struct span value)
{
	if (form->number)
		return form->number(value);
	return form->check ? -1 : whole_number(form, value);
}

static bool duration(struct span value, struct span *wrong)
{
	*wrong = value;
	return span_milliseconds(value) >= 0;
}

/* "3" for all, or "0:3,1:2"; if a rank is named twice, the last wins. */
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

/* A signal that users send to a program. The kernel sends the others for faults of the program. */
static int sent_signal(struct span name)
{
	static const int sent[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2,
				   SIGALRM, SIGTERM,  SIGCONT, SIGSTOP, SIGTSTP, SIGURG,
				   SIGXCPU, SIGWINCH, SIGABRT, SIGPWR,  SIGIO};
	int number = signal_number(name);

	for (size_t i = 0; number && i < ARRAY_SIZE(sent); i++)
		if (number == sent[i])
			return number;
	return 0;
}

static int64_t signal_value(struct span value)
{
	return sent_signal(value);
}

static bool is_signal(struct span value, struct span *wrong)
{
	*wrong = value;
	return sent_signal(value);
}

bool signal_set_has(int64_t set, int signal)
{
	return set > 0 && signal < 63 && (set >> signal & 1);
}

static int64_t signals_value(struct span value)
{
	int64_t set = 0;
	struct span name;

	while (span_split(&value, ',', &name))
		set |= INT64_C(1) << sent_signal(span_trim(name));
	return set;
}

static bool are_signals(struct span value, struct span *wrong)
{
	while (span_split(&value, ',', wrong)) {
		int number = sent_signal(*wrong = span_trim(*wrong));

		if (!number || number == SIGKILL || number == SIGSTOP)
			return false;
	}
	return true;
}

static bool is_name(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (is_space(s.text[i]) || s.text[i] == ',' || s.text[i] == '*')
			return false;
	return s.length;
}

static bool name(struct span value, struct span *wrong)
{
	*wrong = value;
	return is_name(value);
}

bool is_message_id(struct span value)
{
	return value.length == 5 && span_starts(value, "GM") && is_digit(value.text[2]) &&
	       is_digit(value.text[3]) && is_digit(value.text[4]);
}

/* The id of a message is no name of a program. */
static bool names(struct span value, struct span *wrong)
{
	while (inifile_item(&value, wrong))
		if (!is_name(*wrong) || is_message_id(*wrong))
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
		if (is_space(value.text[i]) || value.text[i] == ',' || value.text[i] == '[')
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
		if (is_space(value.text[i]) || value.text[i] == '=')
			return false;
	return value.length > 2 && span_starts(value, "--");
}

static bool gpus(struct span value, struct span *wrong)
{
	struct gpu_entry entry;

	while (inifile_item(&value, wrong))
		if (!gpu_entry_parse(&entry, *wrong))
			return false;
	return true;
}

static bool device(struct span value, struct span *wrong)
{
	*wrong = value;
	return device_index(value).kind != USE_NOTHING;
}

static bool devices(struct span value, struct span *wrong)
{
	while (span_split(&value, ',', wrong)) {
		*wrong = span_trim(*wrong);
		if (device_index(*wrong).kind == USE_NOTHING)
			return false;
	}
	return true;
}

/* "1g.10gb", "1c.3g.40gb", "1g.10gb+me" */
static bool mig_profile(struct span value, struct span *wrong)
{
	bool slices = false;

	*wrong = value;
	for (size_t i = 0; i < value.length; i++) {
		char c = value.text[i], next = i + 1 < value.length ? value.text[i + 1] : '.';

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !strchr(".+-", c))
			return false;
		slices = slices || (i && c == 'g' && is_digit(value.text[i - 1]) && next == '.');
	}
	return slices && is_digit(*value.text);
}

static bool cpus(struct span value, struct span *wrong)
{
	return numbers_check(value, CPUSET_MAX_CPUS - 1, wrong);
}

static bool numbers(struct span value, struct span *wrong)
{
	return numbers_check(value, INT32_MAX, wrong);
}

const struct form *form_find(struct span wanted)
{
	static const struct form forms[] = {
#define PROFILE_KEY(section, name, option, environment, kind, scope, value, initial, use, help)
#define KEY_NUMBER(name_, least_, most_, fix_) \
	{.name = #name_, .least = (least_), .most = (most_), .fix = (fix_)},
#include "request/profile_keys.def"
#undef PROFILE_KEY
#define FORM(name_, check_, number_, fix_) \
	{.name = (name_), .check = (check_), .number = (number_), .fix = (fix_)}
		FORM("MACHINE", any_text, NULL, NULL),
		FORM("DIR", any_text, NULL, NULL),
		FORM("[VAR=]LIST", any_text, NULL, NULL),
		FORM("FILE", any_text, NULL, NULL),
		FORM("COMMAND", any_text, NULL, NULL),
		FORM("DURATION", duration, span_milliseconds,
		     "a time such as 10 (seconds), 500ms, 30s, 5m or 2h"),
		FORM("STREAMS", streams, NULL,
		     "0 to 3 (1 output, 2 errors), or that by local rank, as in 0:3,1:2"),
		FORM("SIGNAL", is_signal, signal_value, "a signal's name, as in TERM"),
		FORM("SIGNAL,...", are_signals, signals_value,
		     "names of signals that can be caught, as in USR1,USR2"),
		FORM("PROFILE", mig_profile, NULL, "a profile of MIG instances, as in 1g.10gb"),
		FORM("NAME", name, NULL, "one name, without blanks"),
		FORM("NAME,...", names, NULL, "names, as in a,b"),
		FORM("FILE,...", files, NULL, "names of files"),
		FORM("ADDRESS", address, NULL, "one host's name or address"),
		FORM("HOST,...", plain_hosts, NULL, "names of hosts, as in tux[08-11],gpu1"),
		FORM("HOST-PATTERN,...", hosts, NULL, "names of hosts, as in tux[00-03],gpu*"),
		FORM("CPUS", cpus, NULL, "numbers of CPUs, as in 0-7,64"),
		FORM("NUMBERS", numbers, NULL, "numbers, as in 0,2-5"),
		FORM("--OPTION", option_name, NULL, "an option's name, as in --local_rank"),
		FORM("GPU,...", gpus, NULL,
		     "GPUs: numbers, GPU-UUID, MIG-UUID, pci:0000:1b:00.0 or name:\"NVIDIA "
		     "H100*\""),
		FORM("N", device, NULL,
		     "a number, %l (the local rank), %r, %n, modulo or local-modulo"),
		FORM("N,...", devices, NULL, "numbers, or %l for the local rank"),
#undef FORM
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (span_is(wanted, forms[i].name))
			return &forms[i];
	return NULL;
}
