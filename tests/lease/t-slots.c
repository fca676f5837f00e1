/* SPDX-License-Identifier: MIT */
/* Slots and MIG instances: which files count, and what the locks of jobs exclude. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "inventory/inventory.h"
#include "lease/claim.h"
#include "lease/units.h"
#include "unit.h"

enum { GPUS = 2, MOST = 4 };

static gpumap_inventory *machine;
static struct lease_folder folder;
static char path[] = "/tmp/t-slots-XXXXXX";

static void in_folder(char ret[64], const char *name)
{
	snprintf(ret, 64, "%s/%s", path, name);
}

/* Their devices are 0000:01:00.0 and 0000:02:00.0; sysfs has only the first. */
static void begin(void)
{
	static const char description[] = "[snapshot]\nschema = 1\n[gpu 0]\npci = 0000:01:00.0\n"
					  "[mig 0:0]\nuuid = MIG-a\n[mig 0:1]\nuuid = MIG-b\n"
					  "[gpu 1]\npci = 0000:02:00.0\n"
					  "[mig 1:0]\nuuid = MIG-c\n[mig 1:1]\nuuid = MIG-d\n";
	static const char *const files[] = {"vendor", "device"};
	char name[64];

	strcpy(path + strlen(path) - 6, "XXXXXX");
	ck_assert(mkdtemp(path));
	ck_assert_int_eq(
		gpumap_inventory_parse(&machine, description, strlen(description), NULL, NULL),
		GPUMAP_OK);
	in_folder(name, "0000:01:00.0");
	ck_assert_int_eq(mkdir(name, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char file[96];

		snprintf(file, sizeof(file), "%s/%s", name, files[i]);
		close(open(file, O_WRONLY | O_CREAT, 0600));
	}
	ck_assert_int_eq(lease_folder_open(&folder, path, path, true, NULL), GPUMAP_OK);
}

static void end(void)
{
	char command[64];

	lease_folder_close(&folder);
	gpumap_inventory_free(machine);
	snprintf(command, sizeof(command), "rm -r %s", path);
	ck_assert_int_eq(system(command), 0);
}

static int locked_file(const char *name, bool shared)
{
	int fd = lease_file(&folder, name, O_RDONLY, true);

	ck_assert_msg(fd >= 0 && lease_try(fd, shared), "%s: %s", name, strerror(errno));
	return fd;
}

/* --- names ---------------------------------------------------------------------------- */

/* Files, separated by blanks, and what is seen of GPU 0: its slots, and of how many they are. A
 * file with ! is not locked. */
static const struct {
	const char *name, *files;
	size_t used, most;
} names[] = {
	{"none", "", 0, MAX_SLOTS},
	{"one", "-slot-0-of-2", 1, 2},
	{"the last", "-slot-1-of-2", 1, 2},
	{"two", "-slot-0-of-4 -slot-3-of-4", 2, 4},
	{"of different numbers", "-slot-0-of-4 -slot-0-of-3 -slot-0-of-64", 3, 3},
	{"not locked", "-slot-0-of-2!", 0, MAX_SLOTS},
	{"one of two is locked", "-slot-0-of-2! -slot-1-of-3", 1, 3},
	{"any number", "-slot-1795878568539368720-of-2", 1, 2},
	{"of none", "-slot-0-of-0", 0, MAX_SLOTS},
	{"of too many", "-slot-0-of-65", 0, MAX_SLOTS},
	{"of a huge number", "-slot-0-of-99999999999999999999", 0, MAX_SLOTS},
	{"without a number", "-slot--of-2 -slot-0-of- -slot- -of-2 -0-of-2", 0, MAX_SLOTS},
	{"negative", "-slot--1-of-2 -slot-0-of--2", 0, MAX_SLOTS},
	{"of another GPU", "9-slot-0-of-2", 0, MAX_SLOTS},
	{"another name", "-slit-0-of-2 -slot-0-if-2 -slot-0-of-2x", 0, MAX_SLOTS},
	{"a MIG instance", "-mig-MIG-a", 0, MAX_SLOTS},
};

static void open_files(int fds[MOST + 1], const char *gpu, const char *files)
{
	struct span rest = span_of(files), word;
	int n = 0;

	while (*files && span_split(&rest, ' ', &word)) {
		bool open = word.length && word.text[word.length - 1] == '!';
		char name[2 * LEASE_NAME_SIZE];

		snprintf(name, sizeof(name), "%s%.*s", gpu, (int)word.length - open, word.text);
		fds[n] = locked_file(name, false);
		if (open)
			ck_assert_int_eq(close(fds[n]), 0);
		n += !open;
	}
	fds[n] = -1;
}

START_TEST(files)
{
	struct lease_sight sights[GPUS];
	const char *gpu = LEASE_NAME(&machine->gpus[0]);
	int shared, fds[MOST + 2];

	shared = locked_file(gpu, true);
	open_files(fds, gpu, names[_i].files);
	ck_assert_int_eq(lease_look(sights, &folder, machine), GPUMAP_OK);
	ROW_EQ_INT(names[_i].name, sights[0].load.used, names[_i].used);
	ROW_EQ_INT(names[_i].name, sights[0].load.most, names[_i].most);
	ROW_EQ_INT(names[_i].name, sights[0].lease, names[_i].used ? LEASE_SHARED : LEASE_HELD);
	ROW_EQ_INT(names[_i].name, sights[1].lease, LEASE_FREE);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	close(shared);
}
END_TEST

/* --- locks ---------------------------------------------------------------------------- */

/* What jobs take of GPU 0 or 1, in turn: "2" is a slot of 2, "1" the whole GPU, "a" and "b" its MIG
 * instances; which job of them ends before that, "-0"; and ! if it is refused. */
static const struct {
	const char *name, *jobs;
} sequences[] = {
	{"whole", "1 1! 2!"},
	{"slots", "2 2 2!"},
	{"no whole GPU beside a slot", "2 1!"},
	{"as many slots as their number", "3 3 3 3! 1!"},
	{"one ends", "2 2 -0 2 2!"},
	{"all end", "2 2 -0 -1 1"},
	{"a whole one ends", "1 -0 2 1!"},
	{"the first ends, and the second stays", "3 3 -0 1! 3 3 3!"},
	{"instances", "a b a! b! 1! 2!"},
	{"an instance ends", "a b -0 a b!"},
	{"all instances end", "a b -0 -1 1 a!"},
	{"no instance beside a slot", "2 a! 2"},
	{"nor beside a whole GPU", "1 a! b!"},
};

static void run_sequence(const char *name, const char *jobs, const gpumap_device *gpu)
{
	struct lease_locks locks[8];
	const gpumap_device *unit;
	int n = 0;

	for (; *jobs; jobs += strcspn(jobs, " "), jobs += *jobs == ' ') {
		bool want = jobs[1] != '!';

		if (*jobs == '-') {
			lease_unlock(&locks[jobs[1] - '0']);
			continue;
		}
		unit = *jobs < 'a' ? gpu : gpumap_device_mig(gpu, (size_t)(*jobs - 'a'));
		locks[n] = NO_LOCKS;
		errno = 0;
		ROW_EQ_INT(name,
			   lease_lock(&locks[n], &folder, unit,
				      *jobs < 'a' ? (size_t)(*jobs - '0') : 1),
			   want);
		ROW_EQ_INT(name, want ? 0 : errno, want ? 0 : EWOULDBLOCK);
		n += want;
	}
	while (n)
		lease_unlock(&locks[--n]);
}

START_TEST(locks)
{
	for (int g = 0; g < GPUS; g++)
		run_sequence(sequences[_i].name, sequences[_i].jobs, &machine->gpus[g]);
}
END_TEST

/* The lock of GPU 0, ' ': none, 's': shared, 'x': exclusive; other files that are locked; what is
 * seen of it and its two instances: free, shared or held. */
static const struct {
	const char *name;
	char lock;
	const char *files, *want;
} instances[] = {
	{"nothing", ' ', "", "fff"},
	{"the whole GPU", 'x', "", "hhh"},
	{"an instance", 's', "-mig-MIG-a", "hhf"},
	{"both", 's', "-mig-MIG-a -mig-MIG-b", "hhh"},
	{"one that does not exist any more", 's', "-mig-MIG-c", "hff"},
	{"another folder", 's', "-mig-MIG-a!", "hhh"},
	{"a slot", 's', "-slot-0-of-2", "shh"},
	{"a slot and an instance", 's', "-slot-0-of-2 -mig-MIG-a", "hhh"},
	{"an instance of another GPU", 's', "9-mig-MIG-a", "hhh"},
	{"another name", 's', "-mog-MIG-a", "hhh"},
	{"only the lock of an instance", ' ', "-mig-MIG-a", "hhf"},
};

START_TEST(look)
{
	gpumap_inventory *units = units_of(machine);
	struct lease_sight sights[3 * GPUS];
	const char *gpu = LEASE_NAME(&machine->gpus[0]);
	char got[4] = "";
	int lock = -1, fds[MOST + 2];

	ck_assert(units);
	ck_assert_uint_eq(units->count, 3 * GPUS);
	if (instances[_i].lock != ' ')
		lock = locked_file(gpu, instances[_i].lock == 's');
	open_files(fds, gpu, instances[_i].files);
	ck_assert_int_eq(lease_look(sights, &folder, units), GPUMAP_OK);
	for (int i = 0; i < 3; i++)
		got[i] = sights[i].lease == LEASE_FREE     ? 'f'
			 : sights[i].lease == LEASE_SHARED ? 's'
							   : 'h';
	ROW_EQ_STR(instances[_i].name, got, instances[_i].want);
	for (int i = 3; i < 3 * GPUS; i++)
		ROW_EQ_INT(instances[_i].name, sights[i].lease, LEASE_FREE);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	if (lock >= 0)
		close(lock);
	units_free(units);
}
END_TEST

static int count_leases(const gpumap_device *device, int64_t slots, int64_t pid, void *data)
{
	int64_t *sums = data;

	ck_assert_ptr_eq(device, &machine->gpus[0]);
	sums[0] += slots;
	sums[1] += pid == getpid();
	return GPUMAP_OK;
}

START_TEST(each)
{
	struct lease_locks first, second;
	int64_t sums[2] = {0}, holders[GPUS] = {7, 7};
	gpumap_claim *claim = NULL;
	int r = GPUMAP_ENOMEM;

	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", path, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "sysfs", path, NULL, NULL), GPUMAP_OK);
	ck_assert(lease_lock(&first, &folder, &machine->gpus[0], 3));
	ck_assert(lease_lock(&second, &folder, &machine->gpus[0], 4));
	for (size_t n = 1; r == GPUMAP_ENOMEM && allocations_can_fail(); n++) {
		allocations_fail_at(n);
		r = gpumap_lease_each(claim, machine, count_leases, sums, NULL);
		allocations_fail_at(0);
		ck_assert_msg(r == GPUMAP_OK || !sums[0], "allocation %zu", n);
	}
	if (r == GPUMAP_ENOMEM)
		r = gpumap_lease_each(claim, machine, count_leases, sums, NULL);
	ck_assert_int_eq(r, GPUMAP_OK);
	ck_assert_int_eq(sums[0], 7);
	ck_assert_int_eq(sums[1], 2);
	ck_assert_int_eq(gpumap_lease_holders(holders, claim, machine, NULL), GPUMAP_OK);
	ck_assert_int_eq(holders[0], getpid());
	ck_assert_int_eq(holders[1], GPUMAP_LEASE_NONE);
	lease_unlock(&first);
	lease_unlock(&second);
	gpumap_claim_free(claim);
}
END_TEST

/* An instance that does not exist any more is still leased, and its GPU with it. */
static int note_lease(const gpumap_device *device, int64_t slots, int64_t pid, void *data)
{
	char *got = data;

	ck_assert_int_eq(slots, 1);
	ck_assert_int_eq(pid, getpid());
	snprintf(got + strlen(got), 64 - strlen(got), " %d:%d", device->physical,
		 device->mig_position);
	return GPUMAP_OK;
}

START_TEST(destroyed)
{
	struct lease_locks of_other, of_destroyed;
	char got[64] = "";
	gpumap_claim *claim = NULL;

	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", path, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "sysfs", path, NULL, NULL), GPUMAP_OK);
	ck_assert(lease_lock(&of_other, &folder, &machine->gpus[1].mig[0], 1));
	ck_assert(lease_lock(&of_destroyed, &folder, &machine->gpus[0].mig[1], 1));
	machine->gpus[0].mig_count = 1;
	ck_assert_int_eq(gpumap_lease_each(claim, machine, note_lease, got, NULL), GPUMAP_OK);
	machine->gpus[0].mig_count = 2;
	ck_assert_str_eq(got, " 0:-1 1:0");
	lease_unlock(&of_other);
	lease_unlock(&of_destroyed);
	gpumap_claim_free(claim);
}
END_TEST

/* Locks the GPU while a job of another folder tests its locks for a moment, with the guard. */
static bool lock_beside_a_test(struct lease_locks *whole)
{
	static const char *const opened[] = {"device", "vendor"};
	int ready[2];
	pid_t pid;
	char byte;
	bool locked;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	for (size_t i = 0; pid == 0 && i < ARRAY_SIZE(opened); i++) {
		char file[96];

		snprintf(file, sizeof(file), "%s/0000:01:00.0/%s", path, opened[i]);
		if (!lease_try(open(file, O_RDONLY), false))
			_exit(1);
	}
	if (pid == 0) {
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		usleep(20000);
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	locked = lease_lock(whole, &folder, &machine->gpus[0], 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return locked;
}

/* On a busy machine the test takes longer than a lock waits: then it is tried again. */
START_TEST(beside_a_test)
{
	struct lease_locks whole;
	bool locked = false;

	for (int i = 0; !locked && i < 20; i++)
		locked = lock_beside_a_test(&whole);
	ck_assert(locked);
	lease_unlock(&whole);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slots");
	TCase *tests = tcase_create("slots");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, files, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(tests, locks, 0, ARRAY_SIZE(sequences));
	tcase_add_loop_test(tests, look, 0, ARRAY_SIZE(instances));
	tcase_add_test(tests, each);
	tcase_add_test(tests, destroyed);
	tcase_add_test(tests, beside_a_test);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
