/* SPDX-License-Identifier: MIT */
/* From a file's path, or what a user writes after --inventory, to an inventory. */
#include "inventory/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, const char *why, const char *fix, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.origin = path, .fix = fix), "cannot read the inventory: %s", why);
}

/* Reads all of fd; the number of bytes, or a negative code. */
static int read_all(int fd, const char *path, char **text, size_t *size, gpumap_report *report)
{
	size_t room = 1 << 16;
	ssize_t n;

	*size = 0;
	*text = malloc(room);
	if (!*text)
		return report_nomem(report);
	for (;;) {
		if (*size == room) {
			char *grown;

			if (room > GPUMAP_MAX_FILE)
				return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT,
						   ABOUT(.origin = path,
							 .fix = "give the output of one machine"),
						   "larger than %u MiB", GPUMAP_MAX_FILE >> 20);
			/* One byte more than may be there tells that there is more. */
			room = room * 2 < GPUMAP_MAX_FILE ? room * 2 : GPUMAP_MAX_FILE + 1;
			grown = realloc(*text, room);
			if (!grown)
				return report_nomem(report);
			*text = grown;
		}
		n = read(fd, *text + *size, room - *size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(path, strerror(errno), NULL, report);
		if (n == 0)
			return GPUMAP_OK;
		*size += (size_t)n;
	}
}

EXPORT int gpumap_inventory_read(gpumap_inventory **ret, const char *path, gpumap_report *report)
{
	bool standard_input = streq(path, "-");
	const char *name = standard_input ? "standard input" : path;
	int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t size = 0;
	int r;

	if (fd < 0)
		return fail(path, strerror(errno),
			    errno == ENOENT ? "give a file, a number such as 8, a machine such as "
					      "8xH100, host, or - for standard input"
					    : NULL,
			    report);
	r = read_all(fd, name, &text, &size, report);
	if (!standard_input)
		close(fd);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_parse(ret, text, size, name, report);
	free(text);
	return r;
}

EXPORT int gpumap_inventory_parse(gpumap_inventory **ret, const char *text, size_t size,
				  const char *origin, gpumap_report *report)
{
	struct span all = {text, size};

	if (size > GPUMAP_MAX_FILE)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "larger than %u MiB", GPUMAP_MAX_FILE >> 20);
	if (snapshot_recognise(all))
		return snapshot_parse(ret, all, origin, report);
	return recorded_parse(ret, all, origin, report);
}

/* "8", "8xH100": digits first, so that a file of that name needs a "./". */
bool synthetic_recognise(const char *what)
{
	size_t digits = strspn(what, "0123456789");

	return digits && (what[digits] == '\0' || what[digits] == 'x') && !strchr(what, '/');
}

EXPORT int gpumap_inventory_open(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	if (streq(what, "host"))
		return gpumap_inventory_probe(ret, 0, NULL, report);
	if (synthetic_recognise(what))
		return synthetic_parse(ret, span_of(what), report);
	return gpumap_inventory_read(ret, what, report);
}
