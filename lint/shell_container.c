/* SPDX-License-Identifier: MIT */
/* Containers: the GPUs that docker and podman give them, and lists that count in there (rule L1).
 */
#include "lint/shell_script.h"

enum { MAX_GRANTED = 64 };

/* The value of an option, as --gpus VALUE or --gpus=VALUE at word i; .text NULL: not an option. */
static struct span option_value(const struct command *c, size_t i, const char *name)
{
	struct span s = word_text(c, i);

	if (span_is(s, name))
		return word_text(c, i + 1);
	return span_skip(&s, name) && span_skip(&s, "=") ? s : NO_SPAN;
}

/* How many GPUs a list of them has; -1: it is not known, or has MIG instances. */
static int64_t list_count(struct span list)
{
	struct span entry;
	int64_t count = 0;

	if (!list.length || !span_known(list) || memchr(list.text, ':', list.length))
		return -1;
	while (span_split(&list, ',', &entry)) {
		if (span_is_any(entry, "all none void"))
			return -1;
		count += entry.length > 0;
	}
	return count;
}

/* 2, all, "device=2,3", device=2 */
static int64_t granted_count(struct span value)
{
	if (!span_known(value))
		return -1;
	if (!span_skip_to(&value, "device="))
		return span_number(value, MAX_GRANTED);
	return list_count((struct span){value.text, span_before(value, "\"' ")});
}

/* The value of NAME=VALUE at word i, after -e or --env= if it is an option, else after env; .text
 * NULL: it is something else. */
static struct span variable_value(const struct command *c, size_t i, const char *name, bool option)
{
	struct span s = word_text(c, i);

	if (option && !span_skip(&s, "--env="))
		span_skip(&s, "-e");
	return span_skip(&s, name) && span_skip(&s, "=") ? s : NO_SPAN;
}

/* Whether an option without = takes no value. */
static bool is_flag(struct span s)
{
	return span_is_any(s, "--detach --disable-content-trust --env-host --help --http-proxy "
			      "--init --interactive --no-healthcheck --no-hostname --no-hosts "
			      "--oom-kill-disable --passwd --privileged --publish-all --quiet "
			      "--read-only --read-only-tmpfs --replace --rm --rmi --rootfs "
			      "--sig-proxy --tls-verify --tty --unsetenv-all --use-api-socket");
}

/* Whether the value of an option is the next word: --name NAME, -e A=1, -ite A=1 */
static bool takes_next(struct span s)
{
	if (span_starts(s, "--"))
		return !memchr(s.text, '=', s.length) && !is_flag(s);
	for (size_t i = 1; i < s.length; i++)
		if (!strchr("ditqP", s.text[i]))
			return i + 1 == s.length;
	return false;
}

/* The word that names the image, behind which nothing is an option of the container; the command's
 * count: it is not known. */
static size_t image_word(const struct command *c, size_t first)
{
	for (size_t i = first; i < c->count; i++) {
		struct span s = word_text(c, i), next = word_text(c, i + 1);

		if (span_is(s, "--"))
			return i + 1 < c->count ? i + 1 : c->count;
		if (is_option(s))
			i += takes_next(s);
		else if (!c->words[i].loose || !next.length || *next.text != '-')
			return i;
		/* An expansion of any number of words may be options, if an option follows. */
	}
	return c->count;
}

/* How many GPUs the container gets, by its options [first, past); -1: not known, or all. */
static int64_t container_count(const struct command *c, size_t first, size_t past)
{
	int64_t devices = 0;

	for (size_t i = first; i < past; i++) {
		struct span gpus = option_value(c, i, "--gpus");
		struct span list = variable_value(c, i, "NVIDIA_VISIBLE_DEVICES", true);
		struct span device = option_value(c, i, "--device");

		if (gpus.text)
			return granted_count(gpus);
		if (list.text)
			return list_count(list);
		if (!device.text || !span_skip(&device, "nvidia.com/gpu="))
			continue;
		if (list_count(device) != 1)
			return -1;
		devices++;
	}
	return devices ? devices : -1;
}

/* Whether word i is NAME alone after -e or --env, which passes the host's value. */
static bool passes_name(const struct command *c, size_t i, const char *name)
{
	struct span s = word_text(c, i), before = word_text(c, i - 1);

	if (span_skip(&s, "--env=") || span_skip(&s, "-e"))
		return span_is(s, name);
	return span_is(s, name) && is_option(before) &&
	       (span_is(before, "--env") ||
		(before.text[1] != '-' && before.text[before.length - 1] == 'e'));
}

/* docker reads --gpus as comma-separated values, so device=0,1 is the device 0 and the count 1. */
static void check_commas(struct shell *sh, const struct command *c, size_t i)
{
	struct span value = option_value(c, i, "--gpus"), rest = value, field;
	bool device = false, bare = false;

	if (!value.text || !span_known(value) || memchr(value.text, '"', value.length))
		return;
	while (span_split(&rest, ',', &field)) {
		device |= span_starts(field, "device=");
		bare |= device && !memchr(field.text, '=', field.length);
	}
	if (!bare)
		return;
	shell_report(sh, FINDING_GPUS_COMMA, c->words[i].at, NULL,
		     FORMAT("write --gpus '\"%.*s\"'", value.length < 120 ? (int)value.length : 0,
			    value.text),
		     "docker splits %s at its commas, and takes what follows for a number of GPUs",
		     QUOTE(value));
}

/* The list that word i gives to the container, whose image is word `image`; .text NULL: none. */
static struct span given_list(struct shell *sh, const struct run *run, size_t i, size_t image)
{
	const char *name = tracked_name(TRACKED_LIST);
	struct setting host = run_setting(sh, run, TRACKED_LIST);

	if (i < image && passes_name(run->c, i, name) && is_given(&host))
		return host.value;
	return variable_value(run->c, i, name, i < image);
}

static void check_numbers(struct shell *sh, const struct run *run, size_t image)
{
	const struct command *c = run->c;
	int64_t count = container_count(c, run->first + 2, image);
	bool env = span_is(word_text(c, image + 1), "env");

	for (size_t i = run->first + 2; image < c->count && count > 0 && i < c->count; i++) {
		struct span list = given_list(sh, run, i, image);

		/* Behind the image are the words of a program. */
		if (i > image && !env)
			break;
		if (!list.text || !list.length || !span_known(list) || shell_largest(list) < count)
			continue;
		shell_report(sh, FINDING_CONTAINER_NUMBERS, c->words[i].at, "L1",
			     FORMAT("leave it out, or count from 0: %s=%s",
				    tracked_name(TRACKED_LIST),
				    first_numbers(&(struct quoted){{0}}, count)),
			     "%s has numbers of the host: the container gets %lld GPU%s, and "
			     "numbers %s from 0",
			     SHOW(span_of(tracked_name(TRACKED_LIST)), list), (long long)count,
			     count == 1 ? "" : "s", count == 1 ? "it" : "them");
		return;
	}
}

void shell_container(struct shell *sh, const struct run *run)
{
	struct span s = word_text(run->c, run->first);
	bool docker = is_program(s, "docker");
	size_t image;

	if ((!docker && !is_program(s, "podman")) ||
	    !span_is(word_text(run->c, run->first + 1), "run"))
		return;
	image = image_word(run->c, run->first + 2);
	for (size_t i = run->first + 2; docker && i < image; i++)
		check_commas(sh, run->c, i);
	check_numbers(sh, run, image);
}
