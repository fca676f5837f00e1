/* SPDX-License-Identifier: MIT */
/* What the administrator sets for leases, and how a user's GPUs are counted. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "lease/claim.h"
#include "lease/per_user.h"
#include "strbuf.h"
#include "unit.h"

enum { GPUS = 6, OTHER = 4711, MAX_WAITING = 5 };

static char folder_path[] = "/tmp/t-per-user-XXXXXX";

/* Root has no limit. */
static void begin(void)
{
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	strcpy(folder_path + strlen(folder_path) - 6, "XXXXXX");
	ck_assert(mkdtemp(folder_path));
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder_path);
	ck_assert_int_eq(system(command), 0);
}

/* --- the settings ------------------------------------------------------------------------- */

static void write_file(char path[64], const char *text, mode_t mode)
{
	FILE *file;

	snprintf(path, 64, "%s/settings", folder_path);
	unlink(path);
	file = fopen(path, "w");
	ck_assert(file);
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static int read_settings(struct lease_settings *settings, const char *path, gpumap_report *report)
{
	gpumap_claim *claim = NULL;
	int r = gpumap_claim_new(&claim);

	*settings = (struct lease_settings){0};
	if (r == GPUMAP_OK)
		r = gpumap_claim_set(claim, "settings", path, NULL, report);
	if (r == GPUMAP_OK)
		r = lease_settings_read(settings, claim, report);
	gpumap_claim_free(claim);
	return r;
}

static const struct {
	const char *name, *text, *want; /* the settings; or part of the error */
	int r;
} texts[] = {
	{"empty", "", "0 0 0", GPUMAP_OK},
	{"no such section", "[profile a]\ngpus = 9\n[x_site]\nlog = b\n", "0 0 0", GPUMAP_OK},
	{"all",
	 "[gpumap]\nschema = 1\n[leases]\ngpus_per_user = 3\nlongest = 8h\nslots = 4\n"
	 "x_ours = 1\n",
	 "3 28800000 4", GPUMAP_OK},
	{"values that set nothing", "[leases]\ngpus_per_user =\nlongest = 0s\n", "0 0 0",
	 GPUMAP_OK},
	{"among profiles", "[leases]\nslots = 2\n[profile a]\nslots = 3\n", "0 0 2", GPUMAP_OK},
	{"no number", "[leases]\ngpus_per_user = two\n",
	 "settings:2: gpus_per_user cannot be 'two'; write a number", GPUMAP_EINPUT},
	{"zero", "[leases]\ngpus_per_user = 0\n", "gpus_per_user cannot be '0'", GPUMAP_EINPUT},
	{"a huge number", "[leases]\ngpus_per_user = 99999999999999999999\n",
	 "gpus_per_user cannot be", GPUMAP_EINPUT},
	{"slots", "[leases]\n\nslots = 65\n", "settings:3: slots cannot be '65'", GPUMAP_EINPUT},
	{"a time", "[leases]\nlongest = soon\n", "longest cannot be 'soon'", GPUMAP_EINPUT},
	{"a misspelling", "[leases]\ngpu_per_user = 2\n",
	 "unknown key 'gpu_per_user' in [leases]; did you mean gpus_per_user?", GPUMAP_EINPUT},
	{"twice", "[leases]\nslots = 2\nslots = 2\n", "'slots' was given on line 2 already",
	 GPUMAP_EINPUT},
	{"a second section", "[leases]\n[profile a]\n[leases]\n", "settings:3: a second [leases]",
	 GPUMAP_EINPUT},
	{"no section", "slots = 2\n", "begin with a [section]", GPUMAP_EINPUT},
};

START_TEST(settings_text)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct lease_settings s;
		gpumap_report *report = NULL;
		char path[64], got[256];

		write_file(path, texts[i].text, 0644);
		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		ROW_EQ_INT(texts[i].name, read_settings(&s, path, report), texts[i].r);
		if (texts[i].r == GPUMAP_OK) {
			snprintf(got, sizeof(got), "%zu %lld %zu", s.gpus_per_user,
				 (long long)s.longest_ms, s.slots);
			ROW_EQ_STR(texts[i].name, got, texts[i].want);
			ROW_EQ_INT(texts[i].name, gpumap_report_count(report), 0);
		} else {
			const gpumap_finding *f = gpumap_report_get(report, 0);
			const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX),
				   *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
			char text[512];

			snprintf(text, sizeof(text), "%s:%d: %s; %s", strrchr(origin, '/') + 1,
				 (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
				 gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? fix : "");
			ck_assert_msg(strstr(text, texts[i].want), "%s: '%s' lacks '%s'",
				      texts[i].name, text, texts[i].want);
		}
		lease_settings_free(&s);
		gpumap_report_free(report);
	}
}
END_TEST

/* Files that have no effect, with a warning. */
START_TEST(settings_file)
{
	static const char text[] = "[leases]\nslots = 2\n";
	char path[64], real[80], command[256];
	static const struct {
		const char *name, *make, *why; /* NULL: it is read, or silently not there */
		size_t slots;
	} rows[] = {
		{"a file", "true", NULL, 2},
		{"no file", "rm $F", NULL, 0},
		{"no folder", "rm $F; F=$F/x", NULL, 0},
		{"a link of the same user", "mv $F $F.real; ln -s $F.real $F", NULL, 2},
		{"for the group to write", "chmod 0664 $F", "others may write", 0},
		{"for all to write", "chmod 0646 $F", "others may write", 0},
		{"not readable", "chmod 0000 $F", "Permission denied", 0},
		{"a pipe", "rm $F; mkfifo $F", "not a regular file", 0},
		{"a folder", "rm $F; mkdir $F", "not a regular file", 0},
		{"a device", "rm $F; ln -s /dev/zero $F", "not a regular file", 0},
		{"huge", "truncate -s 1G $F", "File too large", 0},
		{"a link to itself", "rm $F; ln -s settings $F", "Too many levels", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lease_settings s;
		gpumap_report *report = NULL;

		write_file(path, text, 0644);
		snprintf(real, sizeof(real), "%s.real", path);
		snprintf(command, sizeof(command), "F=%s; %s", path, rows[i].make);
		ck_assert_int_eq(system(command), 0);
		ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
		ROW_EQ_INT(rows[i].name, read_settings(&s, path, report), GPUMAP_OK);
		ROW_EQ_INT(rows[i].name, s.slots, rows[i].slots);
		ROW_EQ_INT(rows[i].name, gpumap_report_count(report), rows[i].why != NULL);
		if (rows[i].why) {
			const char *got = gpumap_finding_str(gpumap_report_get(report, 0),
							     GPUMAP_FINDING_TEXT);

			ck_assert_msg(strstr(got, rows[i].why), "%s: '%s'", rows[i].name, got);
		}
		lease_settings_free(&s);
		gpumap_report_free(report);
		snprintf(command, sizeof(command), "rm -rf %s %s", path, real);
		ck_assert_int_eq(system(command), 0);
	}
	{
		struct lease_settings s;

		ck_assert_int_eq(read_settings(&s, "", NULL), GPUMAP_OK);
		ck_assert(!s.file);
	}
}
END_TEST

START_TEST(settings_nomem)
{
	struct lease_settings s = {0};
	int r = GPUMAP_ENOMEM;
	char path[64];
	size_t n;

	write_file(path, "[leases]\nslots = 2\n", 0644);
	for (n = 1; r == GPUMAP_ENOMEM; n++) {
		allocations_fail_at(n);
		r = read_settings(&s, path, NULL);
		allocations_fail_at(0);
		if (r == GPUMAP_OK)
			ck_assert_uint_eq(s.slots, 2);
		lease_settings_free(&s);
	}
	ck_assert_int_eq(r, GPUMAP_OK);
	ck_assert_msg(!allocations_failed(), "allocation %zu failed, and no one saw it", n);
	ck_assert_uint_gt(n, 5);
}
END_TEST

/* --- counting ----------------------------------------------------------------------------- */

struct machine {
	gpumap_inventory *gpus;
	struct lease_folder folder;
	struct lease_locks locks[GPUS];
	struct lease_sight sights[GPUS];
};

/* Locks the lowest GPUs: some are taken by this process, and then some by one that has ended. */
static void machine_begin(struct machine *m, size_t own, size_t ended)
{
	*m = (struct machine){0};
	ck_assert_int_eq(gpumap_inventory_assume(&m->gpus, GPUS, NULL), GPUMAP_OK);
	ck_assert_int_eq(lease_folder_open(&m->folder, folder_path, folder_path, true, NULL),
			 GPUMAP_OK);
	for (size_t g = 0; g < GPUS; g++)
		m->locks[g] = NO_LOCKS;
	for (size_t g = 0; g < own; g++)
		ck_assert(lease_lock(&m->locks[g], &m->folder, &m->gpus->gpus[g], 1));
	for (size_t g = own; g < own + ended; g++) {
		pid_t pid;
		int status;

		m->locks[g].file =
			lease_file(&m->folder, LEASE_NAME(&m->gpus->gpus[g]), O_RDONLY, true);
		ck_assert_int_ge(m->locks[g].file, 0);
		pid = fork();
		if (pid == 0)
			_exit(flock(m->locks[g].file, LOCK_EX) != 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(lease_look(m->sights, &m->folder, m->gpus), GPUMAP_OK);
}

static void machine_end(struct machine *m)
{
	for (size_t g = 0; g < GPUS; g++)
		lease_unlock(&m->locks[g]);
	lease_folder_close(&m->folder);
	gpumap_inventory_free(m->gpus);
}

/* "me 2 other 1 root 3": the jobs that wait. The own wish comes after them. */
static void make_wishes(struct wishes *w, const struct machine *m, const char *jobs, size_t own)
{
	struct span rest = span_of(jobs), word;

	*w = (struct wishes){0};
	w->tickets = calloc(MAX_WAITING + 1, sizeof(*w->tickets));
	w->list = arena_alloc(&w->arena, MAX_WAITING + 1, sizeof(*w->list));
	w->sights = arena_alloc(&w->arena, GPUS, sizeof(*w->sights));
	ck_assert(w->tickets && w->list && w->sights);
	memcpy(w->sights, m->sights, sizeof(m->sights));
	while (*jobs && span_split(&rest, ' ', &word)) {
		w->tickets[w->count].user = span_is(word, "me")     ? (int64_t)geteuid()
					    : span_is(word, "root") ? 0
								    : OTHER;
		span_split(&rest, ' ', &word);
		w->list[w->count++].count = (size_t)span_number(word, GPUS);
	}
	w->list[w->count].count = own;
	for (size_t i = 0; i <= w->count; i++) {
		w->list[i].usable = arena_alloc(&w->arena, GPUS, sizeof(bool));
		memset(w->list[i].usable, true, GPUS);
	}
}

/* "0 2 1": what each job wishes for now, then "full", and the own GPUs and jobs. */
static void describe(char *ret, size_t size, const struct wishes *w, const struct user_share *share)
{
	size_t n = 0;

	*ret = '\0';
	for (size_t i = 0; i < w->count; i++) {
		ck_assert(w->list[i].usable[0] == (w->list[i].count > 0));
		n += (size_t)snprintf(ret + n, size - n, "%zu ", w->list[i].count);
	}
	snprintf(ret + n, size - n, "%s %zu %zu", share->full ? "full" : "fits", share->held,
		 share->waiting);
}

static const struct {
	const char *name;
	size_t limit, own, ended; /* GPUs that the user has leased */
	const char *jobs;         /* that wait */
	size_t count;             /* what the job asks for */
	const char *want;
} rows[] = {
	{"no limit", 0, 4, 0, "me 3", 2, "3 fits 0 0"},
	{"nothing leased", 2, 0, 0, "", 2, "fits 0 0"},
	{"all of it", 2, 2, 0, "", 1, "full 2 0"},
	{"one left", 2, 1, 0, "", 1, "fits 1 0"},
	{"one left of two", 2, 1, 0, "", 2, "full 1 0"},
	{"more than the limit, which was lowered", 2, 4, 0, "", 1, "full 4 0"},
	{"of a process that has ended", 2, 0, 2, "", 1, "full 2 0"},
	{"of both", 3, 2, 1, "", 1, "full 3 0"},
	{"another user waits", 2, 2, 0, "other 2", 1, "2 full 2 0"},
	{"another user in his order", 2, 0, 0, "other 1 other 2 other 1", 1, "1 0 0 fits 0 0"},
	{"one's own job waits for GPUs", 2, 0, 0, "me 2", 1, "2 full 0 1"},
	{"and leaves one", 3, 0, 0, "me 2", 1, "2 fits 0 1"},
	{"one's own job is held back", 2, 1, 0, "me 2 me 1 other 2", 1, "0 0 2 full 1 2"},
	{"root has no limit", 1, 0, 0, "root 4 root 4", 1, "4 4 fits 0 0"},
};

START_TEST(counting)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lease_settings settings = {.gpus_per_user = rows[i].limit};
		struct user_share share, alone;
		struct machine m;
		struct wishes w;
		char got[128];

		machine_begin(&m, rows[i].own, rows[i].ended);
		make_wishes(&w, &m, rows[i].jobs, rows[i].count);
		ROW_EQ_INT(rows[i].name,
			   per_user_look(&share, &w, w.list[w.count].count, &settings, &m.folder,
					 m.gpus, w.sights),
			   GPUMAP_OK);
		describe(got, sizeof(got), &w, &share);
		ROW_EQ_STR(rows[i].name, got, rows[i].want);
		ROW_EQ_INT(rows[i].name, w.list[w.count].count, rows[i].count);
		/* Without the queue. */
		ROW_EQ_INT(rows[i].name,
			   per_user_look(&alone, NULL, rows[i].count, &settings, &m.folder, m.gpus,
					 m.sights),
			   GPUMAP_OK);
		ROW_EQ_INT(rows[i].name, alone.held, share.held);
		ROW_EQ_INT(rows[i].name, alone.full,
			   rows[i].limit && share.held + rows[i].count > rows[i].limit);
		wishes_free(&w);
		machine_end(&m);
	}
}
END_TEST

enum { ME = 65534, THEM = 65533 };

/* A process that took the lock of GPU 0, and one that has it from this, if that gave it away. */
static const struct {
	const char *name;
	uid_t real, effective; /* of the one that took it */
	uid_t other;           /* to which it gave it away; 0: it did not */
	size_t want;           /* GPUs of ME */
} owners[] = {
	{"one's own", ME, ME, 0, 1},
	{"another user's", THEM, THEM, 0, 0},
	{"given to another process", ME, ME, ME, 1},
	/* As if its number were that of a later process. */
	{"of another user, by a process that has not the lock", ME, ME, THEM, 0},
	{"of a program that runs as another user", ME, THEM, 0, 0},
	{"of another user, by a program that runs as this one", THEM, ME, 0, 1},
};

/* Begins a process of these users, which locks the file if `takes`, and closes it if not `keeps`.
 */
static pid_t begin_process(uid_t real, uid_t effective, int fd, bool takes, bool keeps)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(real, effective, effective) || prctl(PR_SET_DUMPABLE, 1) ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) || (takes && flock(fd, LOCK_EX)) ||
		    (!keeps && close(fd)) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

START_TEST(of_users)
{
	struct lease_settings settings = {.gpus_per_user = GPUS};
	uid_t other = owners[_i].other;
	struct user_share share;
	struct machine m;
	pid_t owner;
	int fd;

	ck_assert(mkdtemp(folder_path));
	ck_assert_int_eq(chown(folder_path, ME, ME), 0);
	ck_assert_int_eq(chmod(folder_path, 01777), 0);
	machine_begin(&m, 0, 0);
	fd = lease_file(&m.folder, "gpu-0", O_RDONLY, true);
	if (other)
		begin_process(other, other, fd, false, true);
	owner = begin_process(owners[_i].real, owners[_i].effective, fd, true, !other);
	close(fd);
	ck_assert_int_eq(setresuid(ME, ME, ME), 0);
	ck_assert_int_eq(lease_look(m.sights, &m.folder, m.gpus), GPUMAP_OK);
	ROW_EQ_INT(owners[_i].name, m.sights[0].owner, owner);
	ck_assert_int_eq(per_user_look(&share, NULL, 1, &settings, &m.folder, m.gpus, m.sights),
			 GPUMAP_OK);
	ROW_EQ_INT(owners[_i].name, share.held, owners[_i].want);
	machine_end(&m);
	end();
}
END_TEST

/* Inside a lease, which was counted when it was taken. */
START_TEST(inside)
{
	struct lease_settings settings = {.gpus_per_user = 1};
	struct user_share share;
	struct machine m;
	struct wishes w;

	machine_begin(&m, 2, 0);
	make_wishes(&w, &m, "me 1", 1);
	m.folder.inside = strdup("gpu-0 gpu-1");
	ck_assert_int_eq(per_user_look(&share, &w, w.list[w.count].count, &settings, &m.folder,
				       m.gpus, w.sights),
			 GPUMAP_OK);
	ck_assert(!share.full && w.list[0].count == 1);
	ck_assert_int_eq(per_user_look(&share, NULL, 2, &settings, &m.folder, m.gpus, m.sights),
			 GPUMAP_OK);
	ck_assert(!share.full);
	wishes_free(&w);
	machine_end(&m);
}
END_TEST

START_TEST(too_many)
{
	struct lease_settings settings = {.gpus_per_user = 2, .file = NULL};

	ck_assert_int_eq(per_user_check(&settings, 2, "", NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(per_user_check(&settings, 3, "", NULL, NULL), GPUMAP_EINPUT);
	settings.gpus_per_user = 0;
	ck_assert_int_eq(per_user_check(&settings, 1000, "", NULL, NULL), GPUMAP_OK);
}
END_TEST

START_TEST(counting_nomem)
{
	struct lease_settings settings = {.gpus_per_user = 2};
	bool failed = true;
	struct machine m;
	size_t n;

	machine_begin(&m, 1, 0);
	for (n = 1; failed; n++) {
		struct user_share share;
		struct wishes w;
		int r;

		make_wishes(&w, &m, "other 1 me 2", 1);
		allocations_fail_at(n);
		r = per_user_look(&share, &w, w.list[w.count].count, &settings, &m.folder, m.gpus,
				  w.sights);
		allocations_fail_at(0);
		failed = allocations_failed();
		/* The process need not be known where the file has the user. */
		ck_assert_msg(r == GPUMAP_OK || (failed && r == GPUMAP_ENOMEM),
			      "allocation %zu: %d", n, r);
		wishes_free(&w);
	}
	ck_assert_uint_ge(n, 2);
	machine_end(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("per-user");
	TCase *tests = tcase_create("per-user"), *users = tcase_create("users");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, settings_text);
	tcase_add_test(tests, settings_file);
	tcase_add_test(tests, counting);
	tcase_add_test(tests, inside);
	tcase_add_test(tests, too_many);
	if (allocations_can_fail()) {
		tcase_add_test(tests, settings_nomem);
		tcase_add_test(tests, counting_nomem);
	}
	suite_add_tcase(suite, tests);
	if (geteuid() == 0) {
		tcase_add_loop_test(users, of_users, 0, ARRAY_SIZE(owners));
		suite_add_tcase(suite, users);
	}
	return unit_run(suite);
}
