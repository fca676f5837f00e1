/* SPDX-License-Identifier: MIT */
/* Tickets: what is written is read again, and what others may write does no harm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lease/lease.h"
#include "unit.h"

static struct lease_folder folder;
static char path[] = "/tmp/t-queue-XXXXXX";

static void begin(void)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	ck_assert(mkdtemp(path));
	ck_assert_int_eq(lease_folder_open(&folder, path, path, true, NULL), GPUMAP_OK);
}

static void end(void)
{
	lease_folder_close(&folder);
	ck_assert_msg(rmdir(path) == 0, "files are left in %s: %s", path, strerror(errno));
}

static int join(uint64_t *number, const struct lease_ticket *wish)
{
	int fd = -1;

	ck_assert_int_eq(lease_queue_join(&fd, number, &folder, wish), GPUMAP_OK);
	return fd;
}

static size_t read_all_tickets(struct lease_ticket **tickets, uint64_t before)
{
	size_t count = 0;

	*tickets = NULL;
	ck_assert_int_eq(lease_queue_read(tickets, &count, &folder, before), GPUMAP_OK);
	return count;
}

START_TEST(trip)
{
	char from[] = "gpu-a gpu-b", prefer[] = "gpu-b", ignore[] = "Xorg, gdm", none[] = "";
	const struct lease_ticket full = {.count = 2,
					  .from = from,
					  .prefer = prefer,
					  .terms = {.ignore = ignore,
						    .max_used = 1 << 30,
						    .min_free = INT64_C(40) << 30,
						    .max_load = 0,
						    .near = true,
						    .slots = 4}},
				  plain = {.count = 1,
					   .from = none,
					   .prefer = none,
					   .terms = DEFAULT_TERMS};
	struct lease_ticket *tickets;
	uint64_t first, second;
	int a = join(&first, &full), b = join(&second, &plain);

	ck_assert_uint_lt(first, second);
	for (int i = 0; i < 3; i++)
		ck_assert(lease_pass(&folder, second));
	ck_assert_uint_eq(read_all_tickets(&tickets, UINT64_MAX), 2);
	ck_assert_uint_eq(tickets[0].number, first);
	ck_assert_uint_eq(tickets[0].count, 2);
	ck_assert_str_eq(tickets[0].from, from);
	ck_assert_str_eq(tickets[0].prefer, prefer);
	ck_assert_str_eq(tickets[0].terms.ignore, ignore);
	ck_assert_int_eq(tickets[0].terms.max_used, 1 << 30);
	ck_assert_int_eq(tickets[0].terms.min_free, INT64_C(40) << 30);
	ck_assert_int_eq(tickets[0].terms.max_load, 0);
	ck_assert(tickets[0].terms.near);
	ck_assert_uint_eq(tickets[0].terms.slots, 4);
	ck_assert_int_eq(tickets[0].passes, 0);
	ck_assert_uint_eq(tickets[1].number, second);
	ck_assert_uint_eq(tickets[1].count, 1);
	ck_assert_str_eq(tickets[1].from, "");
	ck_assert_str_eq(tickets[1].prefer, "");
	ck_assert(!tickets[1].terms.ignore && !tickets[1].terms.near);
	ck_assert_int_eq(tickets[1].terms.max_used, -1);
	ck_assert_int_eq(tickets[1].terms.min_free, -1);
	ck_assert_int_eq(tickets[1].terms.max_load, -1);
	ck_assert_uint_eq(tickets[1].terms.slots, 1);
	ck_assert_int_eq(tickets[1].passes, 3);
	lease_queue_free(tickets, 2);

	ck_assert_uint_eq(read_all_tickets(&tickets, second), 1);
	lease_queue_free(tickets, 1);
	lease_queue_leave(&folder, a, first);
	close(b); /* as a kill does it */
	ck_assert_uint_eq(read_all_tickets(&tickets, UINT64_MAX), 0);
	lease_queue_free(tickets, 0);
}
END_TEST

/* Units that came later, after a pass that another job has noted. */
START_TEST(names)
{
	enum { LENGTH = 65000 };
	char from[] = "gpu-a gpu-b", none[] = "", *many = calloc(1, LENGTH + 1);
	const struct lease_ticket wish = {
		.count = 1, .from = from, .prefer = none, .terms = DEFAULT_TERMS};
	struct lease_ticket *tickets;
	uint64_t number;
	int fd = join(&number, &wish);

	ck_assert(many);
	memset(many, 'x', LENGTH);
	ck_assert(lease_pass(&folder, number));
	ck_assert(lease_queue_add(fd, "gpu-c"));
	ck_assert(lease_pass(&folder, number));
	ck_assert(lease_queue_add(fd, "gpu-d gpu-e"));
	ck_assert_msg(lease_queue_add(fd, many), "what there is room for");
	ck_assert_msg(!lease_queue_add(fd, many), "no ticket that cannot be read");
	ck_assert_uint_eq(read_all_tickets(&tickets, UINT64_MAX), 1);
	ck_assert_int_eq(strncmp(tickets[0].from, "gpu-a gpu-b gpu-c gpu-d gpu-e xx", 32), 0);
	ck_assert_uint_eq(strlen(tickets[0].from), 30 + LENGTH);
	ck_assert_int_eq(tickets[0].passes, 2);
	lease_queue_free(tickets, 1);
	lease_queue_leave(&folder, fd, number);
	free(many);
}
END_TEST

START_TEST(too_long)
{
	enum { LENGTH = 100000 };
	char *from = malloc(LENGTH + 1), none[] = "";
	struct lease_ticket wish = {
		.count = 1, .from = from, .prefer = none, .terms = DEFAULT_TERMS};
	uint64_t number = 7;
	int fd = -7;

	ck_assert(from);
	memset(from, 'x', LENGTH);
	from[LENGTH] = '\0';
	ck_assert_int_eq(lease_queue_join(&fd, &number, &folder, &wish), GPUMAP_EFILE);
	ck_assert_int_eq(errno, EOVERFLOW);
	ck_assert_int_eq(fd, -7);
	ck_assert_uint_eq(number, 7);
	free(from);
}
END_TEST

/* "COUNT from=FROM prefer=PREFER ignore=IGNORE FREE-MEMORY LOAD NEAR PASSES SLOTS", or "none". */
static const struct {
	const char *name, *text, *want;
} rows[] = {
	{"empty", "", "none"},
	{"a number", "want 2\n", "2 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"without a newline", "want 2", "2 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"no GPU", "want 0\n", "none"},
	{"a negative number", "want -1\n", "none"},
	{"a word", "want two\n", "none"},
	{"a huge number", "want 99999999999999999999\n", "none"},
	{"more than there can be", "want 65537\n", "none"},
	{"no number", "want\n", "none"},
	{"a list of nothing", "want 1\nfrom \n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"two lists", "want 1\nfrom a b\nfrom c\nprefer b\nprefer c\n",
	 "1 from=a b c prefer=b ignore=- -1 -1 -1 0 0 1"},
	{"all",
	 "want 3\nfrom a\nprefer a\nfree-memory 5\nmin-free 7\nmax-load 10\nignore x,y\nnear\n",
	 "3 from=a prefer=a ignore=x,y 5 7 10 1 0 1"},
	{"a load of 100", "want 1\nmax-load 100\n", "1 from= prefer= ignore=- -1 -1 100 0 0 1"},
	{"a load of 101", "want 1\nmax-load 101\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"no load", "want 1\nmax-load x\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"no memory", "want 1\nfree-memory -9\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"of another version", "want 1\ncores 2\nfoo\n\n",
	 "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"slots", "want 1\nslots 64\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 64"},
	{"too many slots", "want 1\nslots 65\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"no slots", "want 1\nslots 0\n", "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
	{"of the version before", "want 1\npassed\npassed\n",
	 "1 from= prefer= ignore=- -1 -1 -1 0 0 1"},
};

START_TEST(texts)
{
	const char name[] = "ticket-00000000000000000009";
	int fd = lease_file(&folder, name, O_RDWR, true);
	struct lease_ticket *tickets;
	char got[256] = "none";
	size_t count;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	ck_assert(lease_try(fd, false));
	ck_assert_int_eq(write(fd, rows[_i].text, strlen(rows[_i].text)), strlen(rows[_i].text));
	count = read_all_tickets(&tickets, UINT64_MAX);
	if (count) {
		const struct lease_terms *terms = &tickets->terms;

		snprintf(got, sizeof(got), "%zu from=%s prefer=%s ignore=%s %lld %lld %d %d %d %zu",
			 tickets->count, tickets->from, tickets->prefer,
			 terms->ignore ? terms->ignore : "-", (long long)terms->max_used,
			 (long long)terms->min_free, terms->max_load, terms->near, tickets->passes,
			 terms->slots);
	}
	lease_queue_free(tickets, count);
	lease_queue_leave(&folder, fd, 9);
	ROW_EQ_STR(rows[_i].name, got, rows[_i].want);
}
END_TEST

/* What others leave there neither counts nor keeps a job from the queue. */
START_TEST(left_by_others)
{
	static const struct {
		const char *name, *file;
		mode_t mode; /* 0: a link */
	} left[] = {
		{"the highest number", "ticket-09223372036854775806", 0644},
		{"one that is no number", "ticket-99999999999999999999", 0644},
		{"a ticket that anyone may write", "ticket-00000000000000000001", 0666},
		{"a link", "ticket-00000000000000000002", 0},
		{"a pass of none", "pass-00000000000000000009-1", 0644},
		{"half a pass", "pass-00000000000000000009", 0644},
	};
	char from[] = "gpu-a", none[] = "";
	const struct lease_ticket wish = {
		.count = 1, .from = from, .prefer = none, .terms = DEFAULT_TERMS};
	int fds[ARRAY_SIZE(left)], fd;
	struct lease_ticket *tickets;
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		fds[i] = -1;
		if (!left[i].mode) {
			ck_assert_int_eq(symlinkat("/dev/null", folder.fd, left[i].file), 0);
			continue;
		}
		fds[i] = lease_file(&folder, left[i].file, O_RDWR, true);
		ck_assert_msg(fds[i] >= 0 && fchmod(fds[i], left[i].mode) == 0, "%s", left[i].name);
		ck_assert(i == 0 || lease_try(fds[i], false));
		ck_assert_int_eq(write(fds[i], "want 1\n", 7), 7);
	}
	fd = join(&number, &wish);
	ck_assert_uint_eq(read_all_tickets(&tickets, UINT64_MAX), 1);
	ck_assert_uint_eq(tickets->number, number);
	ck_assert_int_eq(tickets->passes, 0);
	lease_queue_free(tickets, 1);
	lease_queue_leave(&folder, fd, number);
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		unlinkat(folder.fd, left[i].file, 0);
		if (fds[i] >= 0)
			close(fds[i]);
	}
}
END_TEST

/* A folder that cannot be used, here a file, leaves the caller's descriptors open. */
START_TEST(descriptors_stay_open)
{
	gpumap_claim *claim = NULL;
	gpumap_lease *lease = NULL;
	char file[64];
	int fd, standard = dup(STDERR_FILENO);

	snprintf(file, sizeof(file), "%s/file", path);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(dup2(standard, STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "count", "1", NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", file, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_lease_preview(&lease, claim, NULL), GPUMAP_EFILE);
	ck_assert_msg(fcntl(STDIN_FILENO, F_GETFD) >= 0, "preview closes standard input");
	ck_assert_int_eq(gpumap_lease_take(&lease, claim, NULL, NULL, NULL), GPUMAP_EFILE);
	ck_assert_msg(fcntl(STDIN_FILENO, F_GETFD) >= 0, "take closes standard input");
	ck_assert_ptr_null(lease);
	gpumap_claim_free(claim);
	unlink(file);
	close(standard);
}
END_TEST

/* Neither does a claim that has no number of GPUs. */
START_TEST(count_is_missing)
{
	gpumap_claim *claim = NULL;
	gpumap_lease *lease = NULL;
	gpumap_report *report = NULL;

	ck_assert_int_eq(dup2(STDERR_FILENO, STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(gpumap_claim_new(&claim), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_claim_set(claim, "folder", path, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_lease_preview(&lease, claim, report), GPUMAP_EINPUT);
	ck_assert_msg(fcntl(STDIN_FILENO, F_GETFD) >= 0, "preview closes standard input");
	ck_assert_int_eq(gpumap_lease_take(&lease, claim, NULL, NULL, report), GPUMAP_EINPUT);
	ck_assert_msg(fcntl(STDIN_FILENO, F_GETFD) >= 0, "take closes standard input");
	ck_assert_str_eq(gpumap_finding_str(gpumap_report_get(report, 0), GPUMAP_FINDING_TEXT),
			 "the number of GPUs is missing");
	gpumap_report_free(report);
	gpumap_claim_free(claim);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("queue");
	TCase *tests = tcase_create("queue");

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, trip);
	tcase_add_test(tests, names);
	tcase_add_test(tests, too_long);
	tcase_add_test(tests, left_by_others);
	tcase_add_test(tests, descriptors_stay_open);
	tcase_add_test(tests, count_is_missing);
	tcase_add_loop_test(tests, texts, 0, ARRAY_SIZE(rows));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
