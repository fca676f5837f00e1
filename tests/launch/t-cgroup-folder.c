/* SPDX-License-Identifier: MIT */
/* Where a mount shows a cgroup, if it does. */
#include "rank_cgroup.h"

#include "unit.h"

#define AT "36 25 0:31 "
#define REST " rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"

static const struct {
	const char *name, *line, *path, *folder; /* NULL: not there */
} rows[] = {
	{"at the root", AT "/ /sys/fs/cgroup" REST, "/", "/sys/fs/cgroup/"},
	{"below it", AT "/ /sys/fs/cgroup" REST, "/a.slice/b.scope",
	 "/sys/fs/cgroup/a.slice/b.scope"},
	{"beside those of version 1", AT "/ /sys/fs/cgroup/unified" REST, "/x",
	 "/sys/fs/cgroup/unified/x"},
	{"no optional field", AT "/ /cg rw - cgroup2 none rw", "/x", "/cg/x"},
	{"several optional fields", AT "/ /cg rw shared:1 master:2 - cgroup2 none rw", "/x",
	 "/cg/x"},
	{"a part of the hierarchy", AT "/docker/1 /sys/fs/cgroup" REST, "/docker/1/x",
	 "/sys/fs/cgroup/x"},
	{"exactly that part", AT "/docker/1 /sys/fs/cgroup" REST, "/docker/1", "/sys/fs/cgroup"},
	{"another part", AT "/docker/1 /sys/fs/cgroup" REST, "/docker/2/x", NULL},
	{"a longer name", AT "/docker/1 /sys/fs/cgroup" REST, "/docker/12", NULL},
	{"a shorter path", AT "/docker/1 /sys/fs/cgroup" REST, "/docker", NULL},
	{"a blank in the mount", AT "/ /my\\040cg" REST, "/x", "/my cg/x"},
	{"a backslash in the mount", AT "/ /a\\134b" REST, "/x", "/a\\b/x"},
	{"a backslash in the path", AT "/ /cg" REST, "/a\\040b", "/cg/a\\040b"},
	{"half an escape", AT "/ /cg\\04" REST, "/x", "/cg\\04/x"},
	{"a path outside of the namespace", AT "/ /cg" REST, "/../x", NULL},
	{"only the way up", AT "/ /cg" REST, "/..", NULL},
	{"a mount outside of the namespace", AT "/.. /cg" REST, "/x", NULL},
	{"a name that begins with dots", AT "/ /cg" REST, "/..x", "/cg/..x"},
	{"version 1", AT "/ /cg rw - cgroup cgroup rw,cpu", "/x", NULL},
	{"another file system", AT "/ / rw shared:1 - ext4 /dev/cgroup2 rw", "/x", NULL},
	{"a type before the dash", AT "/ /cg rw cgroup2", "/x", NULL},
	{"no type", AT "/ /cg rw -", "/x", NULL},
	{"no mount", "36 25 0:31", "/x", NULL},
	{"nothing", "", "/x", NULL},
	{"too long", AT "/ /0123456789012345678901234567890123456789" REST,
	 "/0123456789012345678901234567890", NULL},
	{"as long as there is room", AT "/ /012345678901234567890123456789" REST,
	 "/0123456789012345678901234567890",
	 "/012345678901234567890123456789/0123456789012345678901234567890"},
};

START_TEST(folder)
{
	char ret[64] = "";
	bool found =
		cgroup_folder(ret, sizeof(ret), span_of(rows[_i].line), span_of(rows[_i].path));

	ROW_EQ_STR(rows[_i].name, found ? ret : NULL, rows[_i].folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cgroup-folder");
	TCase *tests = tcase_create("cgroup-folder");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, folder, 0, ARRAY_SIZE(rows));
	return unit_run(suite);
}
