/* SPDX-License-Identifier: MIT */
/* The folder of a cgroup, by a line of /proc/self/mountinfo. */
#include "rank_cgroup.h"

/* "36 35 0:31 ROOT POINT OPTIONS [OPTIONAL...] - TYPE SOURCE OPTIONS", as proc_pid_mountinfo(5) has
 * it. */
enum { ROOT = 3, POINT = 4, FIRST_OPTIONAL = 6 };

static bool read_line(struct span line, struct span *root, struct span *point)
{
	struct span field;
	bool dash = false;

	for (int i = 0; span_split(&line, ' ', &field); i++) {
		if (dash)
			return span_is(field, "cgroup2");
		if (i == ROOT)
			*root = field;
		else if (i == POINT)
			*point = field;
		else if (i >= FIRST_OPTIONAL)
			dash = span_is(field, "-");
	}
	return false;
}

/* Whether the path begins above what this process may see: its cgroup namespace is another one. */
static bool is_outside(struct span path)
{
	return span_starts(path, "/..") && (path.length == 3 || path.text[3] == '/');
}

static bool is_octal(const char *digits)
{
	for (int i = 0; i < 3; i++)
		if (digits[i] < '0' || digits[i] > '7')
			return false;
	return true;
}

struct folder {
	char *text;
	size_t length, room;
};

/* Blanks and backslashes of a mount are written as \ooo. */
static bool add(struct folder *folder, struct span s, bool escaped)
{
	for (size_t i = 0; i < s.length; i++) {
		char c = s.text[i];

		if (escaped && c == '\\' && s.length - i > 3 && is_octal(s.text + i + 1)) {
			c = (char)((s.text[i + 1] - '0') * 64 + (s.text[i + 2] - '0') * 8 +
				   (s.text[i + 3] - '0'));
			i += 3;
		}
		if (folder->length + 1 >= folder->room)
			return false;
		folder->text[folder->length++] = c;
		folder->text[folder->length] = '\0';
	}
	return true;
}

/* What is left of `path` below `root`; false: it is not below. */
static bool below(struct span root, struct span *path)
{
	if (span_is(root, "/"))
		return true;
	if (path->length < root.length || memcmp(path->text, root.text, root.length) != 0 ||
	    (path->length > root.length && path->text[root.length] != '/'))
		return false;
	path->text += root.length;
	path->length -= root.length;
	return true;
}

bool cgroup_folder(char *ret, size_t room, struct span line, struct span path)
{
	struct folder folder = {.text = ret, .room = room};
	struct span root = {0}, point = {0};

	if (!read_line(line, &root, &point) || !root.length || !point.length || is_outside(root) ||
	    is_outside(path) || !below(root, &path))
		return false;
	return add(&folder, point, true) && add(&folder, path, false);
}
