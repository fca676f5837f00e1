/* SPDX-License-Identifier: MIT */
/* What other processes notice of a rank that is killed while it writes why it fails. The reason's
 * text lies on a page that cannot be read, so that the writer gets a signal in the middle of it. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collective/shm_segment.h"
#include "rank-threads.h"

#define KILLED "another rank failed and was killed before it gave the reason"

static unsigned char *pages;
static size_t page;

static void be_killed(int number)
{
	kill(getpid(), SIGKILL);
}

/* Delays the writer. The others ask meanwhile, and wait. */
static void be_slow(int number)
{
	const struct timespec time = {.tv_nsec = 300000000};

	nanosleep(&time, NULL);
	mprotect(pages + page, page, PROT_READ);
}

/* A reason that no rank can read: its status is on the first page, its text, but for letters that
 * alignment leaves on the first, on the second. */
static struct train_error *hidden_reason(void)
{
	struct train_error *why;
	size_t at;

	page = (size_t)sysconf(_SC_PAGESIZE);
	at = page - offsetof(struct train_error, text);
	at -= at % _Alignof(struct train_error);
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(pages != MAP_FAILED);
	why = (void *)(pages + at);
	why->status = TRAIN_FAILED;
	strcpy(why->text, "tired");
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	return why;
}

static struct rendezvous *met(int rank)
{
	struct rendezvous_options options = {
		.world = 2, .ranks = 1, .rank = rank, .timeout_ms = 200000};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous;
	char name[64];

	snprintf(name, sizeof(name), "t-collective-killed-%d",
		 rank ? (int)getppid() : (int)getpid());
	options.name = name;
	ck_assert_msg(shm->meet(&rendezvous, &options, &error), "%s", error.text);
	return rendezvous;
}

enum moment { BEFORE_IT_OPENS, WHILE_OTHERS_WAIT, BEFORE_OTHERS_CALL };

struct row {
	const char *name;
	enum moment moment;
	void (*at_text)(int number);
	int signal; /* that ends the writer, or 0 */
	const char *want, * or ;
};

_Noreturn static void fail_as_rank_1(const struct row *row)
{
	const struct train_error *why = hidden_reason();
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous = met(1);
	struct communicator *comm;

	signal(SIGSEGV, row->at_text);
	if (row->moment == BEFORE_IT_OPENS)
		shm->cancel(rendezvous, 1, why);
	else if (shm->open(&comm, rendezvous, 1, NULL, &error))
		shm->abort(comm, why);
	_exit(0);
}

static void receive_as_rank_0(const struct row *row, struct rendezvous *rendezvous, pid_t writer,
			      struct train_error *error)
{
	struct communicator *comm;
	float values[4] = {1, 2, 3, 4};
	int status;

	if (row->moment == BEFORE_IT_OPENS)
		waitpid(writer, &status, 0);
	if (shm->open(&comm, rendezvous, 0, NULL, error)) {
		if (row->moment == BEFORE_OTHERS_CALL)
			waitpid(writer, &status, 0);
		shm->all_reduce(comm, values, 4, "gradients", error);
		shm->close(comm);
	}
	if (row->moment == WHILE_OTHERS_WAIT)
		waitpid(writer, &status, 0);
	ck_assert_msg(row->signal ? WIFSIGNALED(status) && WTERMSIG(status) == row->signal
				  : WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "%s: the writer ended with %#x", row->name, (unsigned)status);
}

START_TEST(the_writer_of_a_reason)
{
	static const struct row rows[] = {
		{"killed before it opens", BEFORE_IT_OPENS, be_killed, SIGKILL, KILLED, NULL},
		{"killed while others wait", WHILE_OTHERS_WAIT, be_killed, SIGKILL, KILLED,
		 ") is gone while rank 0 waits for it in "},
		{"killed before others call", BEFORE_OTHERS_CALL, be_killed, SIGKILL, KILLED, NULL},
		{"slow while others wait", WHILE_OTHERS_WAIT, be_slow, 0, "rank 1: tired", NULL},
	};
	const struct row *row = &rows[_i];
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous = met(0);
	pid_t writer = fork();

	ck_assert_int_ge(writer, 0);
	if (writer == 0)
		fail_as_rank_1(row);
	receive_as_rank_0(row, rendezvous, writer, &error);
	ck_assert_msg(strcmp(error.text, row->want) == 0 || (row->or &&strstr(error.text, row->or)),
		      "%s: '%s'", row->name, error.text);
	shm->leave(rendezvous);
}
END_TEST

/* Takes the lock by another open file of the segment, as a writer that is stopped between its lock
 * and its first word. */
static int hold_reason(const struct rendezvous *rendezvous)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", rendezvous->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert(shm_try_lock(fd, F_WRLCK, SHM_LOCK_REASON));
	return fd;
}

START_TEST(a_writer_that_is_stopped)
{
	static const char want[] =
		"another rank failed and gave no reason within 10 s: end stopped processes";
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous = met(0);
	int writer = hold_reason(rendezvous), status;
	float values[4] = {1, 2, 3, 4};
	struct communicator *comm;
	pid_t killed = fork();

	ck_assert_int_ge(killed, 0);
	if (killed == 0) {
		rendezvous = met(1);
		shm->open(&comm, rendezvous, 1, NULL, &error);
		raise(SIGKILL);
	}
	ck_assert_msg(shm->open(&comm, rendezvous, 0, NULL, &error), "%s", error.text);
	waitpid(killed, &status, 0);
	ck_assert_msg(!shm->all_reduce(comm, values, 4, "gradients", &error),
		      "a sum with a rank that was killed");
	ck_assert_str_eq(error.text, want);
	shm->close(comm);
	close(writer);
	shm->leave(rendezvous);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collective-killed");
	TCase *killed = tcase_create("killed");

	tcase_add_loop_test(killed, the_writer_of_a_reason, 0, 4);
	tcase_add_test(killed, a_writer_that_is_stopped);
	suite_add_tcase(suite, killed);
	return unit_run(suite);
}
