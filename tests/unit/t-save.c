/* SPDX-License-Identifier: MIT */
/* What can go wrong when an inventory is saved. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "snapshots.h"
#include "text/inifile.h"

static gpumap_inventory *make(int count)
{
	gpumap_inventory *inventory = NULL;

	ck_assert_int_eq(gpumap_inventory_assume(&inventory, count, NULL), GPUMAP_OK);
	return inventory;
}

START_TEST(mode_follows_umask)
{
	gpumap_inventory *inventory = make(8);
	struct stat st;

	umask(027);
	save(inventory, "m.ini");
	ck_assert_int_eq(stat("m.ini", &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	gpumap_inventory_free(inventory);
}
END_TEST

/* --- what can go wrong when saving ---------------------------------------------- */

static const struct {
	const char *path, *want;
} target_rows[] = {
	{"", "the path names no file; write FOLDER/NAME.ini"},
	{"folder/", "the path names no file; write FOLDER/NAME.ini"},
	{"folder", "it is a folder; write FOLDER/NAME.ini"},
	{"link", "it is a symbolic link; name the file that it points to"},
	{"dangling", "it is a symbolic link; name the file that it points to"},
	{"fifo", "it is not a regular file; write to - for standard output"},
	{"/dev/full", "it is not a regular file; write to - for standard output"},
	{"none/m.ini", "No such file or directory; make the folder first"},
	{"file/m.ini", "Not a directory; make the folder first"},
	{".", "it is a folder; write FOLDER/NAME.ini"},
};

START_TEST(bad_targets)
{
	gpumap_inventory *inventory = make(8);
	struct strbuf want = {0};
	gpumap_report *report;
	char *got, *text;

	ck_assert_int_eq(mkdir("folder", 0777), 0);
	ck_assert_int_eq(mkfifo("fifo", 0666), 0);
	ck_assert_int_eq(close(open("file", O_CREAT | O_WRONLY, 0666)), 0);
	ck_assert_int_eq(symlink("file", "link"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ROW_EQ_INT(target_rows[_i].path,
		   gpumap_inventory_save(inventory, target_rows[_i].path, report), GPUMAP_EFILE);
	got = messages(report);
	strbuf_printf(&want, "-1:-1 cannot write the inventory: %s|", target_rows[_i].want);
	text = strbuf_take(&want);
	ROW_EQ_STR(target_rows[_i].path, got, text);
	ROW_EQ_INT(target_rows[_i].path, empty_folder(), 5);
	free(got);
	free(text);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

/* Root may write everywhere, so this needs another user. */
START_TEST(unwritable_folder)
{
	gpumap_inventory *inventory = make(8);

	ck_assert_int_eq(chmod(".", 0555), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(gpumap_inventory_save(inventory, "m.ini", NULL), GPUMAP_EFILE);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	ck_assert_int_eq(empty_folder(), 0);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(full_disk)
{
	gpumap_inventory *inventory = make(8), *large = make(GPUMAP_MAX_DEVICES);
	const struct rlimit small = {4096, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	gpumap_report *report;
	char *before, *after, *got;

	save(inventory, "m.ini");
	before = slurp("m.ini");
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_save(large, "m.ini", report), GPUMAP_EFILE);
	ck_assert_int_eq(gpumap_inventory_save(large, "new.ini", NULL), GPUMAP_EFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	got = messages(report);
	ck_assert_str_eq(got,
			 "-1:-1 cannot write the inventory: File too large; raise the limit of "
			 "the size of files: ulimit -f unlimited|");
	after = slurp("m.ini");
	ck_assert_str_eq(after, before);
	ck_assert_int_eq(empty_folder(), 1);
	free(got);
	free(before);
	free(after);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
	gpumap_inventory_free(large);
}
END_TEST

static char *long_name(gpumap_inventory *inventory, size_t length)
{
	char *name = malloc(length + 1);

	ck_assert_ptr_nonnull(name);
	memset(name, '"', length); /* which is two bytes in the file */
	name[length] = '\0';
	inventory->gpus[0].name = name;
	return name;
}

START_TEST(too_long_name)
{
	gpumap_inventory *inventory = make(1);
	gpumap_report *report;
	char *got;

	long_name(inventory, INIFILE_MAX_VALUE + 1);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_save(inventory, "m.ini", report), GPUMAP_ELIMIT);
	got = messages(report);
	ck_assert_str_eq(got,
			 "-1:-1 cannot save the inventory: 'name' is longer than 131072 bytes|");
	ck_assert_int_eq(empty_folder(), 0);
	free(got);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

START_TEST(longest_name)
{
	gpumap_inventory *inventory = make(1), *again = NULL;
	const char *name = long_name(inventory, INIFILE_MAX_VALUE);

	save(inventory, "m.ini");
	ck_assert_int_eq(gpumap_inventory_open(&again, "m.ini", NULL), GPUMAP_OK);
	ck_assert_str_eq(again->gpus[0].name, name);
	ck_assert_int_eq(empty_folder(), 1);
	gpumap_inventory_free(again);
	gpumap_inventory_free(inventory);
}
END_TEST

/* A name as long as the one that is not saved is not read either. */
START_TEST(too_long_to_read)
{
	FILE *file = fopen("m.ini", "w");
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	char *got;

	ck_assert_ptr_nonnull(file);
	fprintf(file, "[snapshot]\nschema = 1\n[gpu 0]\nname = %0*d\n", INIFILE_MAX_VALUE + 1, 7);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_open(&inventory, "m.ini", report), GPUMAP_EINPUT);
	got = messages(report);
	ck_assert_ptr_nonnull(strstr(got, "'name' is not at most 131072 bytes: '000"));
	ck_assert_int_eq(empty_folder(), 1);
	free(got);
	gpumap_report_free(report);
}
END_TEST

/* A file that a killed process with our pid left does not keep us from saving. */
START_TEST(stale_temporary)
{
	gpumap_inventory *inventory = make(8);
	char name[64];

	snprintf(name, sizeof(name), ".gpumap-%ld-0.tmp", (long)getpid());
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0666)), 0);
	save(inventory, "m.ini");
	ck_assert_int_eq(empty_folder(), 2);
	gpumap_inventory_free(inventory);
}
END_TEST

/* Whenever a process is killed, the file is whole: the old one or the new one. */
START_TEST(interrupted)
{
	gpumap_inventory *inventories[] = {make(8), make(20000)}, *back;
	size_t seen[2] = {0}; /* old and new */

	save(inventories[0], "m.ini");
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		char *text;

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			for (int k = 0;; k++)
				gpumap_inventory_save(inventories[k % 2], "m.ini", NULL);
		usleep((useconds_t)(i * 500));
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		text = slurp("m.ini");
		back = parse(text);
		seen[gpumap_inventory_count(back) == 8 ? 0 : 1]++;
		ck_assert(gpumap_inventory_count(back) == 8 ||
			  gpumap_inventory_count(back) == 20000);
		gpumap_inventory_free(back);
		free(text);
	}
	ck_assert_uint_eq(seen[0] + seen[1], 40);
	gpumap_inventory_free(inventories[0]);
	gpumap_inventory_free(inventories[1]);
}
END_TEST

START_TEST(standard_output)
{
	gpumap_inventory *inventory = make(8), *back;
	int fd = open("out", O_CREAT | O_RDWR, 0666), saved = dup(STDOUT_FILENO);
	char *text;

	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	save(inventory, "-");
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	text = slurp("out");
	back = parse(text);
	ck_assert_uint_eq(gpumap_inventory_count(back), 8);
	free(text);
	gpumap_inventory_free(inventory);
	gpumap_inventory_free(back);
}
END_TEST

START_TEST(bad_standard_output)
{
	gpumap_inventory *inventory = make(8);
	int saved = dup(STDOUT_FILENO), ends[2], fd, r;
	gpumap_report *report;
	char *got;

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	fd = _i ? open("/dev/full", O_WRONLY) : ends[1];
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	r = gpumap_inventory_save(inventory, "-", report);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	ck_assert_int_eq(r, GPUMAP_EFILE);
	got = messages(report);
	ck_assert_str_eq(got, _i ? "-1:-1 cannot write the inventory: No space left on device; "
				   "free some space, or write to another folder|"
				 : "-1:-1 cannot write the inventory: Broken pipe|");
	free(got);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("save");
	TCase *tests = tcase_create("save");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_test(tests, mode_follows_umask);
	tcase_add_loop_test(tests, bad_targets, 0, ARRAY_SIZE(target_rows));
	tcase_add_test(tests, unwritable_folder);
	tcase_add_test(tests, full_disk);
	tcase_add_test(tests, too_long_name);
	tcase_add_test(tests, longest_name);
	tcase_add_test(tests, too_long_to_read);
	tcase_add_test(tests, stale_temporary);
	tcase_add_test(tests, interrupted);
	tcase_add_test(tests, standard_output);
	tcase_add_loop_test(tests, bad_standard_output, 0, 2);
	return unit_run(suite);
}
