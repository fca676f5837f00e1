/* SPDX-License-Identifier: MIT */
/* What sbatch and srun are asked for in a rehearsal, and what all of Slurm's commands share: nodes,
 * environment, messages. */
#include "rehearse/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "closing.h"
#include "readfile.h"
#include "report/report.h"
#include "write_all.h"

/* --- options ---------------------------------------------------------------------------- */

/* By which gpumap would have to start something else than the program that follows. */
static const char refused[] =
	"multi-prog het-group pack-group container container-id jobid test-only gpus-per-socket "
	"tres-per-task tres-bind help usage version";

static bool is_count(struct span value, int64_t least)
{
	return span_number(value, INT32_MAX) >= least;
}

/* closest, none, single:1, per_task:2, map_gpu:0,1, mask_gpu:0x3, each perhaps behind verbose, */
static bool is_bind(struct span value)
{
	struct span word, number;
	bool mask, counts;

	if (span_starts(value, "verbose,") || span_starts(value, "v,"))
		span_split(&value, ',', &word);
	if (!span_split(&value, ':', &word) || !value.text)
		return span_is_any(word, "closest none");
	mask = span_is_any(word, "mask_gpu mask");
	counts = span_is_any(word, "single per_task");
	if (!mask && !counts && !span_is_any(word, "map_gpu map"))
		return false;
	while (span_split(&value, ',', &number)) {
		if (mask && span_starts(number, "0x"))
			number = (struct span){number.text + 2, number.length - 2};
		for (size_t i = 0; mask && i < number.length; i++)
			if (!is_hex(number.text[i]) || number.length > 16)
				return false;
		if (mask ? !number.length : !is_count(number, counts))
			return false;
	}
	return true;
}

/* Whether the value is one that Slurm takes. */
static bool is_valid(const struct slurm *slurm, struct span name, struct span value)
{
	struct span least;

	if (span_is_any(name, "ntasks n ntasks-per-node cpus-per-task c ntasks-per-gpu"))
		return is_count(value, 1);
	if (span_is_any(name, "nodes N"))
		return span_split(&value, '-', &least) && is_count(least, 1) &&
		       (!value.text || is_count(value, 1));
	if (span_is_any(name, "relative r"))
		return is_count(value, 0);
	if (span_is(name, "gpus-per-task"))
		return slurm->per_task >= 0;
	if (span_is(name, "gpus-per-node"))
		return slurm->per_node >= 0;
	if (span_is_any(name, "gpus G"))
		return slurm->total >= 0;
	return !span_is(name, "gpu-bind") || is_bind(value);
}

void slurm_wish_take(struct slurm_wish *wish, const struct slurm_option *option)
{
	struct span name = option->name, value = option->value;

	slurm_take(&wish->slurm, option);
	if (span_is(name, "gres") && span_is(value, "none"))
		wish->slurm.per_node = 0;
	if (!is_valid(&wish->slurm, name, value))
		wish->bad = *option;
	if (span_is(name, "cpus-per-task") || span_is(name, "c"))
		wish->cpus_per_task = span_number(value, INT32_MAX);
	else if (span_is(name, "ntasks-per-gpu"))
		wish->tasks_per_gpu = span_number(value, SLURM_TASKS_MAX);
	else if (span_is(name, "job-name") || span_is(name, "J"))
		wish->name = value;
	else if (span_is(name, "chdir") || span_is(name, "D"))
		wish->folder = value;
	else if (span_is(name, "array") || span_is(name, "a"))
		wish->array = value;
	else if (span_is(name, "wrap"))
		wish->wrap = value;
	else if (span_is(name, "export"))
		wish->exports = value;
	else if (span_is(name, "nodelist") || span_is(name, "w"))
		wish->nodes = value;
	else if (span_is(name, "relative") || span_is(name, "r"))
		wish->relative = span_number(value, SLURM_NODES_MAX);
	else if (span_is(name, "overlap"))
		wish->overlap = true;
	else if (span_is(name, "kill-on-bad-exit") || span_is(name, "K"))
		wish->kill = !span_is(value, "0");
	else if (span_is_any(name, refused) || !slurm_knows(name)) {
		wish->other = name;
		wish->unknown = !slurm_knows(name);
	}
}

void slurm_wish_words(struct slurm_wish *wish, char *const *words, bool batch, size_t *end)
{
	size_t i = 1;

	while (words[i] && words[i][0] == '-' && words[i][1]) {
		struct slurm_option option;

		if (streq(words[i], "--")) {
			i++;
			break;
		}
		option = slurm_option(span_of(words[i]),
				      words[i + 1] ? span_of(words[i + 1]) : (struct span){"", 0},
				      batch);
		slurm_wish_take(wish, &option);
		i += option.words == 2 && words[i + 1] ? 2 : 1;
	}
	*end = i;
}

/* "2" or '2' */
static struct span unquoted(struct span value)
{
	if (value.length > 1 && (*value.text == '"' || *value.text == '\'') &&
	    value.text[value.length - 1] == *value.text)
		return (struct span){value.text + 1, value.length - 2};
	return value;
}

void slurm_wish_comments(struct slurm_wish *wish, struct span script)
{
	struct span rest = script, line;

	while (span_split(&rest, '\n', &line)) {
		struct span word, after;

		/* Slurm takes only lines that begin so, up to the first command. */
		if (span_trim(line).length && *span_trim(line).text != '#')
			return;
		if (!span_starts(line, "#SBATCH"))
			continue;
		slurm_word(&line);
		if (span_is(span_trim(line), "hetjob") || span_is(span_trim(line), "packjob"))
			wish->other = span_trim(line);
		while ((word = slurm_word(&line)).length > 1 && *word.text == '-') {
			struct span peek = line;
			struct slurm_option option;

			after = slurm_word(&peek);
			option = slurm_option(word, after, true);
			option.value = unquoted(option.value);
			slurm_wish_take(wish, &option);
			if (option.words == 2)
				line = peek;
		}
	}
}

bool slurm_asks_for_gpus(const struct slurm *slurm)
{
	return slurm->per_node >= 0 || slurm->per_task >= 0 || slurm->total >= 0;
}

int slurm_wish_check(const char *command, const struct slurm_wish *wish)
{
	if (wish->other.text)
		return slurm_refuse(command, wish->unknown ? "correct its name" : "leave it out",
				    wish->unknown ? "Slurm has no option '%s'" : "%s",
				    QUOTE(wish->other));
	if (wish->bad.name.text)
		return slurm_refuse(command, "write a value that Slurm takes",
				    "'%s' is no value of %s%s", QUOTE(wish->bad.value),
				    wish->bad.name.length > 1 ? "--" : "-", QUOTE(wish->bad.name));
	return STATUS_ANSWERED;
}

/* --- sizes ------------------------------------------------------------------------------ */

int64_t slurm_tasks_of(const struct slurm_size *size, int64_t node)
{
	int64_t left = size->tasks, here = 0;

	for (int64_t i = 0; i <= node; i++) {
		here = left - (size->nodes - 1 - i);
		if (size->room[i] > 0 && here > size->room[i])
			here = size->room[i];
		left -= here;
	}
	return here;
}

void slurm_counts(char *ret, size_t room, const struct slurm_size *size, int64_t each)
{
	size_t n = 0;

	for (int64_t node = 0, next; node < size->nodes && n < room; node = next) {
		long long count = slurm_tasks_of(size, node) * each;

		next = node + 1;
		while (next < size->nodes &&
		       slurm_tasks_of(size, next) == slurm_tasks_of(size, node))
			next++;
		n += (size_t)snprintf(ret + n, room - n,
				      next - node > 1 ? "%s%lld(x%lld)" : "%s%lld", n ? "," : "",
				      count, (long long)(next - node));
	}
}

/* --- the environment -------------------------------------------------------------------- */

void slurm_set_number(const char *name, int64_t value)
{
	setenv(name, FORMAT("%lld", (long long)value), 1);
}

int64_t slurm_number(const char *name)
{
	const char *value = getenv(name);

	return value ? span_number(span_of(value), INT32_MAX) : -1;
}

void slurm_list(char *ret, size_t room, const int *gpus, int64_t count)
{
	size_t n = 0;

	*ret = '\0';
	for (int64_t i = 0; i < count && n < room; i++)
		n += (size_t)snprintf(ret + n, room - n, "%s%d", i ? "," : "", gpus[i]);
}

int slurm_enter(const char *command, const struct slurm_wish *wish)
{
	CLEANUP_FREE char *folder =
		wish->folder.text ? strndup(wish->folder.text, wish->folder.length) : NULL;
	int status = STATUS_ANSWERED;

	if (folder && chdir(folder) < 0)
		status = slurm_refuse(command, "make it, or name another --chdir", "%s: %s",
				      QUOTE(span_of(folder)), strerror(errno));
	return status;
}

void slurm_export(struct span exports)
{
	struct span piece, name;
	bool all = !exports.text;

	for (struct span rest = exports; rest.text && span_split(&rest, ',', &piece);)
		all = all || span_is(piece, "ALL");
	if (!all)
		slurm_not_rehearsed("--export=%.*s: variables that are not named, such as PATH, "
				    "are there all the same",
				    (int)exports.length, exports.text);

	while (exports.text && span_split(&exports, ',', &piece)) {
		struct span value = piece;
		CLEANUP_FREE char *variable = NULL, *text = NULL;

		if (!memchr(piece.text, '=', piece.length) || !span_split(&value, '=', &name))
			continue;
		variable = strndup(name.text, name.length);
		text = strndup(value.text ? value.text : "", value.length);
		if (variable && text && *variable)
			setenv(variable, text, 1);
	}
}

/* --- messages --------------------------------------------------------------------------- */

static bool has_line(struct span text, const char *wanted)
{
	struct span line;

	while (text.text && span_split(&text, '\n', &line))
		if (span_is(line, wanted))
			return true;
	return false;
}

void slurm_not_rehearsed(const char *format, ...)
{
	const char *folder = getenv(REHEARSE_FOLDER);
	CLEANUP_FREE char *line = NULL, *text = NULL;
	CLEANUP_CLOSE int fd = -1;
	char path[PATH_MAX];
	size_t size = 0;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	snprintf(path, sizeof(path), "%s/" REHEARSE_NOT, folder ? folder : "");
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (line && fd >= 0 && flock(fd, LOCK_EX) == 0 &&
	    read_all(fd, 1 << 20, &text, &size) == 0 &&
	    !has_line((struct span){text, size}, line)) {
		write_all(fd, line, strlen(line));
		write_all(fd, "\n", 1);
	}
}

int slurm_refuse(const char *command, const char *fix, const char *format, ...)
{
	struct output output = {0};
	CLEANUP_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	output.report = text ? report_begin() : NULL;
	if (output.report) {
		report_add(output.report, FINDING_REHEARSE, ABOUT(.origin = command, .fix = fix),
			   "cannot rehearse: %s", text);
		print_report(&output, 0);
		gpumap_report_free(output.report);
	}
	if (!output.report)
		out_of_memory_say();
	return STATUS_NO;
}
