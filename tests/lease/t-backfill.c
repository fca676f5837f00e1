/* SPDX-License-Identifier: MIT */
/* When jobs that wait can be served at the earliest, by the notes of those that hold GPUs. */
#include "lease/lease.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "lease/claim.h"
#include "lease/note.h"
#include "unit.h"

enum { GPUS = 4 };

/* --- ready ------------------------------------------------------------------------------ */

/* "COUNT[*SLOTS] GPUS": how many, of how many slots, of which. Of each GPU when its lease ends,
 * with s: there are slots of it, or f: it is free. */
static const struct {
	const char *name, *wish, *gpus;
	int64_t want;
} rows[] = {
	{"one that is free", "1 0123", "f 5 5 5", 0},
	{"the first that ends", "1 0123", "5 4 6 7", 4},
	{"the second", "2 0123", "5 4 6 7", 5},
	{"all", "4 0123", "5 4 6 7", 7},
	{"a free one, and the first that ends", "2 0123", "5 f 6 7", 5},
	{"one that may end at any moment", "1 0123", "5 0 6 7", 0},
	{"it is not enough", "2 0123", "5 0 6 7", 5},
	{"of some", "1 23", "f 1 6 7", 6},
	{"both of two", "2 23", "f 1 6 7", 7},
	{"at the same time", "2 0123", "5 5 5 5", 5},
	{"more than there are", "3 23", "f 1 6 7", 0},
	{"a whole GPU of slots", "1 0", "5s f f f", 5},
	{"a slot of these", "1*2 0", "5s f f f", 0},
	{"a slot of a whole GPU", "1*2 0", "5 f f f", 5},
};

START_TEST(ready)
{
	const char *text = rows[_i].wish, *slots = strchr(text, '*'), *gpus = rows[_i].gpus;
	bool usable[GPUS] = {false}, free_gpus[GPUS] = {false};
	struct lease_sight sights[GPUS] = {0};
	int64_t ends[GPUS] = {0};
	const struct lease_wish wish = {.count = (size_t)(*text - '0'),
					.usable = usable,
					.free_gpus = free_gpus,
					.slots = slots ? (size_t)(slots[1] - '0') : 1};

	for (const char *g = strchr(text, ' ') + 1; *g; g++)
		usable[*g - '0'] = true;
	for (int g = 0; g < GPUS; g++, gpus += strcspn(gpus, " "), gpus += *gpus == ' ') {
		free_gpus[g] = *gpus == 'f';
		ends[g] = *gpus == 'f' ? 0 : *gpus - '0';
		sights[g].lease = *gpus == 'f'     ? LEASE_FREE
				  : gpus[1] == 's' ? LEASE_SHARED
						   : LEASE_HELD;
	}
	ROW_EQ_INT(rows[_i].name, backfill_ready(&wish, sights, ends, GPUS), rows[_i].want);
}
END_TEST

/* --- ends ------------------------------------------------------------------------------- */

static gpumap_inventory *machine;
static struct lease_folder folder;
static gpumap_claim *claim;
static char path[] = "/tmp/t-backfill-XXXXXX";

static void begin(void)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	ck_assert(mkdtemp(path));
	ck_assert_int_eq(gpumap_inventory_assume(&machine, GPUS, NULL), GPUMAP_OK);
	ck_assert_int_eq(lease_folder_open(&folder, path, path, true, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", path, NULL, NULL), GPUMAP_OK);
}

static void end(void)
{
	char command[64];

	gpumap_claim_free(claim);
	lease_folder_close(&folder);
	gpumap_inventory_free(machine);
	snprintf(command, sizeof(command), "rm -r %s", path);
	ck_assert_int_eq(system(command), 0);
}

/* Begins a process that sleeps, with a note if `end_ms`, and with a slot of GPU 0 if `slot`. */
static pid_t begin_sleeper(int64_t end_ms, bool slot)
{
	struct lease_note_file note = {.fd = -1};
	int begun[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(begun), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (end_ms)
			lease_note_write(&note, claim, getpid(), &(struct lease_note){end_ms, -1});
		if ((note.fd < 0) == (end_ms > 0) ||
		    (slot && lease_own_file(&folder, &machine->gpus[0], 3) < 0) ||
		    write(begun[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(begun[1]);
	ck_assert_int_eq(read(begun[0], &byte, 1), 1);
	close(begun[0]);
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

START_TEST(of_whole_gpus)
{
	pid_t timed = begin_sleeper(5000, false), endless = begin_sleeper(0, false);
	struct lease_sight sights[GPUS] = {
		{.lease = LEASE_HELD, .owner = timed},
		{.lease = LEASE_HELD, .owner = endless},
		{.lease = LEASE_HELD},                /* not visible */
		{.lease = LEASE_FREE, .owner = timed} /* it has none */
	};
	static const char *const names[GPUS] = {"a note", "no note", "not visible", "no lease"};
	int64_t ends[GPUS] = {-1, -1, -1, -1};
	char command[96];

	ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
	for (int g = 0; g < GPUS; g++)
		ROW_EQ_INT(names[g], ends[g], g ? 0 : 5000);
	if (geteuid() == 0) {
		snprintf(command, sizeof(command), "chown 65534 %s/note-*", path);
		ck_assert_int_eq(system(command), 0);
		ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
		ROW_EQ_INT("a note that another user wrote", ends[0], 0);
		snprintf(command, sizeof(command), "chown 0 %s/note-*", path);
		ck_assert_int_eq(system(command), 0);
	}
	end_sleeper(timed);
	end_sleeper(endless);
	ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
	ROW_EQ_INT("a note of a process that has ended", ends[0], 0);
}
END_TEST

/* Another process writes the note, and sees to the end of the lease. */
START_TEST(of_a_guard)
{
	pid_t owner = begin_sleeper(0, false), later = begin_sleeper(0, false);
	struct lease_sight sights[GPUS] = {{.lease = LEASE_HELD, .owner = owner}};
	struct lease_note_file note, other;
	int64_t ends[GPUS];

	lease_note_write(&note, claim, owner, &(struct lease_note){5000, -1});
	ck_assert_int_ge(note.fd, 0);
	ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
	ROW_EQ_INT("a note that is locked", ends[0], 5000);
	close(note.fd);
	ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
	ROW_EQ_INT("a guard that was killed ends nothing", ends[0], 0);
	/* It could be a note that its guard has made, and not locked yet. */
	lease_note_write(&other, claim, later, &(struct lease_note){5000, -1});
	ROW_EQ_INT("the note of a process that goes on stays", access(note.path, F_OK), 0);
	lease_note_remove(&other);
	end_sleeper(owner);
	lease_note_write(&other, claim, later, &(struct lease_note){5000, -1});
	ROW_EQ_INT("that of one that has ended is removed", access(note.path, F_OK), -1);
	lease_note_remove(&other);
	end_sleeper(later);
	free(note.path);
}
END_TEST

START_TEST(of_slots)
{
	struct lease_sight sights[GPUS] = {{.lease = LEASE_SHARED}};
	int64_t ends[GPUS];
	pid_t sleepers[3];
	static const struct {
		const char *name;
		int64_t end_ms, want;
	} steps[] = {{"a slot without a note", 0, 0},
		     {"beside one with a note", 7000, 7000},
		     {"beside one that ends first", 6000, 7000}};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		sleepers[i] = begin_sleeper(steps[i].end_ms, true);
		ck_assert_int_eq(backfill_ends(ends, &folder, machine, sights), GPUMAP_OK);
		ROW_EQ_INT(steps[i].name, ends[0], steps[i].want);
		ROW_EQ_INT("another GPU", ends[1], 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		end_sleeper(sleepers[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backfill");
	TCase *pure = tcase_create("ready"), *files = tcase_create("ends");

	tcase_add_loop_test(pure, ready, 0, ARRAY_SIZE(rows));
	tcase_add_checked_fixture(files, begin, end);
	tcase_add_test(files, of_whole_gpus);
	tcase_add_test(files, of_a_guard);
	tcase_add_test(files, of_slots);
	suite_add_tcase(suite, pure);
	suite_add_tcase(suite, files);
	return unit_run(suite);
}
