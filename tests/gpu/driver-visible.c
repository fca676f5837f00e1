/* SPDX-License-Identifier: MIT */
/*
 * driver-visible [--values N] [--seed S] [--jobs J] [--record FILE]
 *
 * Compares the driver dialect of libgpumap with the driver: N values of
 * CUDA_VISIBLE_DEVICES, each in a fresh process that initialises the driver and lists
 * its devices. Prints TAP and writes the record, which has for each value the devices of
 * the driver, those of the dialect, and whether they agree. It creates no context.
 * For GPUs that are not in MIG mode.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda-driver.h"
#include "driver-record.h"
#include "text.h"

extern char **environ;

enum { ANSWER = 16384, PATIENCE = 60 };

struct job {
	pid_t pid;
	int fd;
	size_t value;
	time_t start;
	char text[ANSWER];
	size_t length;
};

/* --- the child: one process, one answer ---------------------------------------- */

/* Changes the list at some moment of its own start (rule S1), and initialises. */
static int initialise(const struct cuda_driver *driver, const char *moment)
{
	int code;

	if (strcmp(moment, "before") == 0 || strcmp(moment, "failed") == 0)
		setenv("CUDA_VISIBLE_DEVICES", "", 1);
	code = driver->init(0);
	if (strcmp(moment, "after") == 0) {
		setenv("CUDA_VISIBLE_DEVICES", "", 1);
		code = driver->init(0);
	} else if (strcmp(moment, "failed") == 0) {
		unsetenv("CUDA_VISIBLE_DEVICES");
		code = driver->init(0);
	}
	return code;
}

static int child(const char *moment)
{
	struct cuda_driver driver;
	const char *why = cuda_load(&driver);
	int code, version = 0, count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (why)
		return printf("missing\t%.*s\n", (int)strcspn(why, "\n"), why) < 0;
	code = initialise(&driver, moment);
	if (!code)
		code = driver.version(&version);
	if (!code)
		code = driver.count(&count);
	printf("driver\t%d\n", version);
	for (int i = 0; !code && i < count; i++) {
		struct cuda_uuid uuid;
		char text[37], pci[32] = "", name[128] = "";
		int device;

		code = driver.get(&device, i);
		if (!code)
			code = driver.uuid(&uuid, device);
		if (!code)
			code = driver.pci(pci, sizeof(pci), device);
		if (!code)
			code = driver.name(name, sizeof(name), device);
		if (code)
			break;
		cuda_uuid_text(text, &uuid);
		printf("gpu\tGPU-%s\t%s\t%s\n", text, pci, name);
	}
	printf("end\t%d\n", code);
	if (fflush(stdout) != 0)
		return 1;
	while (strcmp(moment, "hold") == 0)
		pause();
	return 0;
}

/* --- the parent: several children at a time -------------------------------------- */

/* The environment with this list; NULL: unset. Freed by the caller, first string too. */
static char **environment(const char *list)
{
	size_t n = 0, kept = 1;
	char **env, *own = NULL;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (list && (own = malloc(strlen(list) + 22)))
		sprintf(own, "CUDA_VISIBLE_DEVICES=%s", list);
	if (!env || (list && !own)) {
		perror("driver-visible");
		exit(99);
	}
	env[0] = own ? own : strdup("GPUMAP_TEST=1");
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "CUDA_VISIBLE_DEVICES=", 21) != 0)
			env[kept++] = environ[i];
	return env;
}

static void start(const struct run *run, struct job *job, const char *list, const char *moment)
{
	char *argv[] = {(char *)run->self, (char *)"--child", (char *)moment, NULL},
	     **env = environment(list);
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
	    posix_spawn(&job->pid, run->self, &actions, NULL, argv, env)) {
		perror("driver-visible: cannot start a process");
		exit(99);
	}
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	free(env[0]);
	free(env);
	job->fd = ends[0];
	job->start = time(NULL);
	job->length = 0;
}

static int gpu_number(const struct run *run, struct span uuid)
{
	for (int i = 0; i < run->gpu_count; i++)
		if (span_is(uuid, run->uuids[i]))
			return i;
	return -1;
}

static void read_answer(const struct run *run, const struct job *job, struct answer *answer)
{
	struct span rest = {job->text, job->length}, line, word;

	*answer = (struct answer){.code = -1};
	while (span_split(&rest, '\n', &line)) {
		struct span fields = line, uuid;

		span_split(&fields, '\t', &word);
		if (span_is(word, "gpu") && answer->count < MAX_GPUS &&
		    span_split(&fields, '\t', &uuid))
			answer->gpus[answer->count++] = gpu_number(run, uuid);
		if (span_is(word, "end"))
			answer->code = (int)span_number(fields, INT32_MAX);
	}
}

/* Reads what a job printed; 1 when it is over. */
static int advance(struct job *job)
{
	ssize_t n = read(job->fd, job->text + job->length, sizeof(job->text) - job->length);

	if (n > 0) {
		job->length += (size_t)n;
		if (job->length < sizeof(job->text))
			return 0;
	}
	if (n < 0 && errno == EINTR)
		return 0;
	kill(job->pid, SIGKILL);
	close(job->fd);
	waitpid(job->pid, NULL, 0);
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How many were asked: all, unless the time was over. */
static size_t ask_all(struct run *run, const struct options *options)
{
	int jobs = options->jobs;
	struct job *running = calloc((size_t)jobs, sizeof(*running));
	struct pollfd fds[MAX_JOBS];
	size_t next = 0, done = 0, end = run->values.count;
	int64_t last = now_ms() + (int64_t)options->seconds * 1000;

	if (!running) {
		perror("driver-visible");
		exit(99);
	}
	for (int i = 0; i < jobs; i++)
		running[i].fd = -1;
	while (done < end) {
		if (next > 0 && now_ms() >= last)
			end = next;
		for (int i = 0; i < jobs; i++) {
			if (running[i].fd < 0 && next < end) {
				start(run, &running[i], run->values.texts[next], "never");
				running[i].value = next++;
			}
			fds[i] = (struct pollfd){.fd = running[i].fd, .events = POLLIN};
		}
		poll(fds, (nfds_t)jobs, 1000);
		for (int i = 0; i < jobs; i++) {
			struct job *job = &running[i];

			if (job->fd >= 0 && time(NULL) - job->start > PATIENCE)
				kill(job->pid, SIGKILL);
			if (job->fd < 0 || !fds[i].revents || !advance(job))
				continue;
			read_answer(run, job, &run->answers[job->value]);
			job->fd = -1;
			done++;
		}
	}
	free(running);
	return end;
}

/* Finds the GPUs that there are without a list. Returns why there are none, or NULL. */
static const char *look(struct run *run)
{
	static struct job job;
	struct span rest, line, word;
	static char why[256];

	start(run, &job, NULL, "never");
	while (!advance(&job))
		;
	rest = (struct span){job.text, job.length};
	snprintf(why, sizeof(why), "the driver does not answer");
	while (span_split(&rest, '\n', &line)) {
		struct span fields = line, uuid;

		span_split(&fields, '\t', &word);
		if (span_is(word, "missing"))
			return "no NVIDIA driver (libcuda.so.1)";
		if (span_is(word, "driver"))
			run->version = (int)span_number(fields, INT32_MAX);
		if (span_is(word, "gpu") && run->gpu_count < MAX_GPUS) {
			run->lines[run->gpu_count] = strndup(fields.text, fields.length);
			span_split(&fields, '\t', &uuid);
			run->uuids[run->gpu_count++] = strndup(uuid.text, uuid.length);
		}
		if (span_is(word, "end")) {
			snprintf(why, sizeof(why), "the driver has no device (code %.*s)",
				 (int)fields.length, fields.text);
			return run->gpu_count ? NULL : why;
		}
	}
	return why;
}

/* Rule S1: the list is read when the driver is initialised. Whether a process whose
 * cuInit failed can still be helped is only recorded. */
static int check_moments(struct run *run)
{
	static const struct {
		const char *moment, *text;
		int hidden; /* -1: not documented */
	} moments[] = {
		{"before", "hidden between dlopen and cuInit", 1},
		{"after", "hidden after cuInit", 0},
		{"failed", "shown after cuInit failed", -1},
	};
	static struct job job;
	int good = 1;

	for (size_t i = 0; i < sizeof(moments) / sizeof(*moments); i++) {
		struct answer answer;

		start(run, &job, NULL, moments[i].moment);
		while (!advance(&job))
			;
		read_answer(run, &job, &answer);
		fprintf(run->record, "# %s\t%d devices, code %d\n", moments[i].text, answer.count,
			answer.code);
		if (moments[i].hidden >= 0 &&
		    answer.count != (moments[i].hidden ? 0 : run->gpu_count))
			good = 0;
	}
	return good;
}

/* One process keeps the GPUs awake, which without persistence mode take seconds to
 * wake up for each of the others. */
static size_t ask_awake(struct run *run, const struct options *options)
{
	static struct job holder;
	size_t asked;

	start(run, &holder, NULL, "hold");
	asked = ask_all(run, options);
	kill(holder.pid, SIGKILL);
	close(holder.fd);
	waitpid(holder.pid, NULL, 0);
	return asked;
}

static size_t report(struct run *run, int number, size_t count, const char *kind)
{
	size_t bad = run->differing + run->unanswered;

	if (count == 0) {
		printf("ok %d - %s values # SKIP none was asked\n", number, kind);
		return 0;
	}
	printf("%sok %d - %zu %s values: %zu differ, %zu without an answer\n", bad ? "not " : "",
	       number, count, kind, run->differing, run->unanswered);
	run->differing = run->unanswered = 0;
	return bad;
}

static int compare(struct run *run, const struct options *options)
{
	size_t listed, asked, bad;
	int good;

	make_values(&run->values, run->uuids, run->gpu_count, options);
	listed = run->values.listed;
	run->answers = calloc(run->values.count, sizeof(*run->answers));
	run->record = fopen(options->record, "w");
	if (!run->answers || !run->record) {
		perror(options->record);
		return 99;
	}
	asked = ask_awake(run, options);
	if (listed > asked)
		listed = asked;
	write_head(run, options);
	good = check_moments(run);
	printf("1..3\n%sok 1 - the list is read at cuInit and not again\n", good ? "" : "not ");
	write_record(run, 0, listed);
	bad = report(run, 2, listed, "listed");
	write_record(run, listed, asked);
	bad += report(run, 3, asked - listed, "random");
	if (asked < run->values.count)
		printf("# %zu of %zu values were asked in %d s: for all give a longer --seconds\n",
		       asked, run->values.count, options->seconds);
	printf("# %zu values on which the dialect was unsure; the record is %s\n", run->unsure,
	       options->record);
	if (fclose(run->record) != 0) {
		perror(options->record);
		return 99;
	}
	return bad || !good ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options options;
	static struct run run;
	const char *why;

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child(argv[2]);
	if (!read_options(&options, argc, argv))
		return 2;
	run.self = "/proc/self/exe";
	why = look(&run);
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		fprintf(stderr, "SKIP: %s; NOTHING WAS COMPARED\n", why);
		return 0;
	}
	return compare(&run, &options);
}
