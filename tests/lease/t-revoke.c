/* SPDX-License-Identifier: MIT */
/* Revoking: whose locks are taken away, of the lease and of what is inside. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "closing.h"
#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "lease/claim.h"
#include "lease/revoke.h"
#include "lease/units.h"
#include "unit.h"

enum { MOST = 8, NAME = 2 * LEASE_NAME_SIZE };

/* GPU 1 has an instance. */
enum { UNIT_GPU, UNIT_OTHER, UNIT_INSTANCE, UNITS };
enum { INSTANCE, LOST = 1000 }; /* instead of a number of slots */

/* A process leases GPU 0, or a slot of it, or the instance, or one of GPU 1 that does not exist any
 * more, and locks files. Then the lease is revoked. */
static const struct {
	const char *name;
	size_t slots;
	const char *files; /* % is the number of its part, & that of the file before */
	bool other;        /* another process has taken the lease that is to be revoked */
	const char *left; /* for each file, and the lease itself at the end: y if it stays locked */
} rows[] = {
	{"whole", 1, "", false, "n"},
	{"whole, of another process", 1, "", true, "y"},
	{"slot", 2, "", false, "n"},
	{"slot, of another process", 2, "", true, "y"},
	{"inside", 1, "sub-1-gpu-0 sub-1-gpu-0-slot-0-of-2 sub-2-gpu-0", false, "nnnn"},
	{"inside, of another process", 1, "sub-1-gpu-0", true, "yy"},
	{"inside a slot inside", 1, "sub-1-gpu-0-slot-1-of-2 sub-2-&-gpu-0", false, "nnn"},
	{"another GPU inside", 1, "sub-1-gpu-1", false, "yn"},
	{"inside a lease of a slot", 1, "sub-1-4711-gpu-0", false, "yn"},
	{"inside its slot", 2, "sub-1-%-gpu-0 sub-2-%-gpu-0", false, "nnn"},
	{"inside its slot, of another process", 2, "sub-1-%-gpu-0", true, "yy"},
	{"inside another slot", 2, "sub-1-4711-gpu-0 sub-1-gpu-0", false, "yyn"},
	{"three deep in slots", 2,
	 "sub-1-%-gpu-0-slot-0-of-2 sub-2-&-gpu-0-slot-1-of-3 sub-3-&-gpu-0", false, "nnnn"},
	{"other files", 1,
	 "sub-1-ticket-1 sub-1-gate sub-0-gpu-0 sub-4294967297-gpu-0 sub--1-gpu-0 xgpu-0", false,
	 "yyyyyyn"},
	{"instance", INSTANCE, "", false, "n"},
	{"instance, of another process", INSTANCE, "", true, "y"},
	{"inside its instance", INSTANCE, "sub-1-%-gpu-1 sub-1-%-gpu-1-mig-MIG-a sub-2-&-gpu-1",
	 false, "nnnn"},
	{"inside another instance", INSTANCE, "sub-1-4711-gpu-1 sub-1-gpu-1", false, "yyn"},
	{"lost instance", LOST, "", false, "n"},
	{"lost instance, of another process", LOST, "", true, "y"},
	{"inside a lost instance", LOST, "sub-1-%-gpu-1 sub-1-%-gpu-1-mig-MIG-lost sub-2-&-gpu-1",
	 false, "nnnn"},
	{"inside another lost instance", LOST, "sub-1-4711-gpu-1-mig-MIG-lost", false, "yn"},
};

static gpumap_inventory *machine, *units;
static gpumap_claim *claim;
static struct lease_folder folder;
static char path[] = "/tmp/t-revoke-XXXXXX";

static void begin(void)
{
	static const char description[] = "[snapshot]\nschema = 1\n[gpu 0]\nname = a\n"
					  "[gpu 1]\nname = a\n[mig 1:0]\nuuid = MIG-a\n";

	strcpy(path + strlen(path) - 6, "XXXXXX");
	ck_assert(mkdtemp(path));
	ck_assert_int_eq(
		gpumap_inventory_parse(&machine, description, strlen(description), NULL, NULL),
		GPUMAP_OK);
	units = units_of(machine);
	ck_assert(units);
	ck_assert_uint_eq(units->count, UNITS);
	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", path, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "sysfs", path, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(lease_folder_open(&folder, path, path, true, NULL), GPUMAP_OK);
}

static void end(void)
{
	char command[64];

	lease_folder_close(&folder);
	gpumap_claim_free(claim);
	units_free(units);
	gpumap_inventory_free(machine);
	snprintf(command, sizeof(command), "rm -r %s", path);
	ck_assert_int_eq(system(command), 0);
}

static int unit_of(int row)
{
	return rows[row].slots == INSTANCE ? UNIT_INSTANCE
	       : rows[row].slots == LOST   ? UNIT_OTHER
					   : UNIT_GPU;
}

/* What the process of a row leases. */
static bool lock_unit(struct lease_locks *locks, int row)
{
	const size_t slots = rows[row].slots;
	gpumap_device lost = units->gpus[UNIT_INSTANCE];
	char uuid[] = "MIG-lost";

	lost.uuid = uuid;
	if (slots == LOST)
		return lease_lock(locks, &folder, &lost, 1);
	return lease_lock(locks, &folder, &units->gpus[unit_of(row)],
			  slots == INSTANCE ? 1 : slots);
}

static int64_t number_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? lease_number(st.st_ino) : 0;
}

/* The names of a row's files, with numbers. Returns how many. In the process of the lease they are
 * made and locked, and their descriptors stay open. */
static size_t read_files(char names[MOST][NAME], const char *files, int64_t slot, bool lock)
{
	struct span rest = span_of(files), word;
	int64_t before = 0;
	size_t n = 0;

	for (; *files && span_split(&rest, ' ', &word); n++) {
		const char *at = memchr(word.text, '%', word.length);
		int fd;

		at = at ? at : memchr(word.text, '&', word.length);
		if (at)
			snprintf(names[n], NAME, "%.*s%lld%.*s", (int)(at - word.text), word.text,
				 (long long)(*at == '%' ? slot : before),
				 (int)(word.text + word.length - at - 1), at + 1);
		else
			snprintf(names[n], NAME, "%.*s", (int)word.length, word.text);
		fd = lease_file(&folder, names[n], O_RDONLY, lock);
		before = number_of(fd);
		if (!lock)
			close(fd);
		else if (fd < 0 || !lease_try(fd, false))
			_exit(2);
	}
	return n;
}

/* Holds the lease until it is killed. */
static void hold(int row, int ready)
{
	struct lease_locks locks = NO_LOCKS;
	char names[MOST][NAME];
	int64_t slot;

	if (!lock_unit(&locks, row))
		_exit(1);
	slot = number_of(locks.part ? locks.own : -1);
	read_files(names, rows[row].files, slot, true);
	if (write(ready, &slot, sizeof(slot)) != sizeof(slot))
		_exit(3);
	for (;;)
		pause();
}

/* The name of the file of a part; that of GPU 0 without one. */
static void name_of(char ret[NAME], int64_t number)
{
	DIR *dir = number ? entries_of(folder.fd) : NULL;
	struct dirent *entry;
	struct stat st;

	strcpy(ret, "gpu-0");
	while (dir && (entry = readdir(dir)))
		if (fstatat(folder.fd, entry->d_name, &st, 0) == 0 &&
		    lease_number(st.st_ino) == number)
			snprintf(ret, NAME, "%.*s", NAME - 1, entry->d_name);
	if (dir)
		closedir(dir);
}

static char is_locked(const char *name)
{
	int fd = lease_file(&folder, name, O_RDONLY, false);
	bool locked = fd >= 0 && !lease_try(fd, true);

	close(fd);
	return locked ? 'y' : 'n';
}

/* Starts the process of a row. */
static pid_t start(int row, int64_t *slot)
{
	int ready[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		hold(row, ready[1]);
	close(ready[1]);
	ROW_EQ_INT(rows[row].name, read(ready[0], slot, sizeof(*slot)), sizeof(*slot));
	close(ready[0]);
	return pid;
}

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static int revoke_row(enum revoke_failure *ret, int row, pid_t pid)
{
	bool gpus[UNITS] = {false};

	gpus[unit_of(row)] = true;
	return lease_revoke(ret, claim, units, gpus, pid, NULL);
}

START_TEST(locks)
{
	const char *name = rows[_i].name;
	enum revoke_failure results[UNITS];
	char names[MOST][NAME], left[MOST + 2] = "";
	int64_t slot;
	pid_t pid = start(_i, &slot);
	size_t count = read_files(names, rows[_i].files, slot, false);

	ROW_EQ_INT(name, revoke_row(results, _i, pid + rows[_i].other), GPUMAP_OK);
	for (int i = 0; i < UNITS; i++)
		ROW_EQ_INT(name, results[i],
			   i == unit_of(_i) && !rows[_i].other ? REVOKE_DONE : REVOKE_NOT_LEASED);
	name_of(names[count], slot);
	for (size_t i = 0; i <= count; i++)
		left[i] = is_locked(names[i]);
	ROW_EQ_STR(name, left, rows[_i].left);
	finish(pid);
}
END_TEST

START_TEST(nomem)
{
	enum revoke_failure results[UNITS] = {REVOKE_DONE};
	bool failed = allocations_can_fail();

	/* It has allocations for each process of the machine, which are alike. */
	for (size_t n = 1; failed; n += 1 + n / 8) {
		int64_t slot;
		pid_t pid = start(_i, &slot);
		int r;

		allocations_fail_at(n);
		r = revoke_row(results, _i, pid);
		failed = allocations_failed();
		allocations_fail_at(0);
		ck_assert_msg(r == GPUMAP_OK || (failed && r == GPUMAP_ENOMEM),
			      "allocation %zu: %d", n, r);
		finish(pid);
	}
	ck_assert_int_eq(results[0], REVOKE_DONE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("revoke");
	TCase *tests = tcase_create("revoke");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, locks, 0, ARRAY_SIZE(rows));
	/* A whole GPU, and a slot with files inside. */
	tcase_add_loop_test(tests, nomem, 0, 1);
	tcase_add_loop_test(tests, nomem, 9, 10);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
