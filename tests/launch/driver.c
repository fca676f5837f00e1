/* SPDX-License-Identifier: MIT */
/*
 * Starts ranks with the launcher, without a plan:
 *
 *	driver [options] -- PROGRAM [ARGUMENT...]
 *
 * --missing RANK gives that rank a program that does not exist. --hold FILE locks a file as long as
 * a process of the run is there. Each rank has RANK, LOCAL_RANK and TORCHELASTIC_RESTART_COUNT. The
 * exit status is the launcher's. --result FILE gets a line for each rank: rank, pid, status,
 * signal, first, told, seconds; then "run" with status, cause, restarts, left behind and the
 * launcher's own use of the CPU and memory.
 */
#include "launch.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "report/report.h"
#include "signal_name.h"

extern char **environ;

struct driver {
	struct launch launch;
	struct launch_rank *ranks;
	char ***environs; /* of each rank */
	char **paths;     /* two for each rank */
	const char *log_dir, *out_path, *result, *folder, *tag;
	int first_rank, missing;
	int held[2];
	bool summary;
	unsigned long cpus;
};

static int64_t milliseconds(const char *text)
{
	char *unit;
	double value = strtod(text, &unit);

	return (int64_t)(value * (streq(unit, "ms") ? 1 : streq(unit, "m") ? 60000 : 1000));
}

static const char *const consoles[] = {"raw", "prefix", "rank0", "collapse", "none"};

static void usage(void)
{
	fputs("usage: driver [--ranks N] [--console MODE] [--grace T] [--timeout T] ... -- "
	      "PROGRAM\n",
	      stderr);
	exit(2);
}

static void set_on_fail(struct launch *launch, const char *value)
{
	launch->on_fail = streq(value, "wait")             ? LAUNCH_WAIT
			  : starts_with(value, "restart:") ? LAUNCH_RESTART
							   : LAUNCH_KILL;
	if (launch->on_fail == LAUNCH_RESTART)
		launch->restarts = (int)strtol(value + strlen("restart:"), NULL, 10);
}

static void set_console(struct launch *launch, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(consoles); i++)
		if (streq(consoles[i], value)) {
			launch->console = (enum launch_console)i;
			return;
		}
	usage();
}

/* An open file with a lock. */
static int hold(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	perror(path);
	exit(125);
}

static void set(struct driver *d, int option, const char *value)
{
	switch (option) {
	case 'n':
		d->launch.count = strtoul(value, NULL, 10);
		break;
	case 'c':
		set_console(&d->launch, value);
		break;
	case 'g':
		d->launch.grace_ms = milliseconds(value);
		break;
	case 't':
		d->launch.timeout_ms = milliseconds(value);
		break;
	case 'f':
		set_on_fail(&d->launch, value);
		break;
	case 'k':
		d->launch.kill_signal = signal_number(span_of(value));
		break;
	case 'w':
		sigaddset(&d->launch.forward, signal_number(span_of(value)));
		break;
	case 'l':
		d->log_dir = value;
		break;
	case 'o':
		d->out_path = value;
		break;
	case 'r':
		d->result = value;
		break;
	case 'd':
		d->folder = value;
		break;
	case 'a':
		d->tag = value;
		break;
	case 'b':
		d->first_rank = (int)strtol(value, NULL, 10);
		break;
	case 'u':
		d->cpus = strtoul(value, NULL, 16);
		break;
	case 'm':
		d->missing = (int)strtol(value, NULL, 10);
		break;
	case 'h':
		d->held[0] = hold(value);
		d->launch.held = d->held;
		break;
	case 's':
		d->summary = true;
		break;
	default:
		usage();
	}
}

static char **parse(struct driver *d, int argc, char **argv)
{
	static const struct option options[] = {
		{"ranks", 1, NULL, 'n'},   {"console", 1, NULL, 'c'}, {"grace", 1, NULL, 'g'},
		{"timeout", 1, NULL, 't'}, {"on-fail", 1, NULL, 'f'}, {"kill-signal", 1, NULL, 'k'},
		{"forward", 1, NULL, 'w'}, {"log-dir", 1, NULL, 'l'}, {"log", 1, NULL, 'o'},
		{"result", 1, NULL, 'r'},  {"folder", 1, NULL, 'd'},  {"tag", 1, NULL, 'a'},
		{"first", 1, NULL, 'b'},   {"cpus", 1, NULL, 'u'},    {"summary", 0, NULL, 's'},
		{"missing", 1, NULL, 'm'}, {"hold", 1, NULL, 'h'},    {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
		set(d, option, optarg);
	if (optind >= argc)
		usage();
	return argv + optind;
}

static void *must(void *memory)
{
	if (memory)
		return memory;
	fputs("driver: no memory\n", stderr);
	exit(125);
}

static char *text(const char *format, ...) PRINTF(1, 2);
static char *text(const char *format, ...)
{
	char *ret = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&ret, format, args) < 0)
		ret = NULL;
	va_end(args);
	return must(ret);
}

enum { OWN_VARIABLES = 3 };

static char *const missing[] = {(char[]){"no-such-program"}, NULL};

static void make_rank(struct driver *d, size_t i, char **argv)
{
	struct launch_rank *rank = &d->ranks[i];
	size_t count = 0;
	char **envp;

	while (environ[count])
		count++;
	envp = must(calloc(count + OWN_VARIABLES + 1, sizeof(*envp)));
	envp[0] = text("RANK=%d", d->first_rank + (int)i);
	envp[1] = text("LOCAL_RANK=%zu", i);
	memcpy(envp + OWN_VARIABLES, environ, count * sizeof(*envp));
	d->environs[i] = envp;
	*rank = (struct launch_rank){.argv = (int)i == d->missing ? missing : argv,
				     .envp = envp,
				     .folder = d->folder,
				     .rank = d->first_rank + (int)i,
				     .local_rank = (int)i,
				     .tag = d->tag,
				     .out_path = d->out_path,
				     .err_path = d->out_path};
	if (d->log_dir) {
		rank->out_path = d->paths[2 * i] = text("%s/rank-%05zu.out", d->log_dir, i);
		rank->err_path = d->paths[2 * i + 1] = text("%s/rank-%05zu.err", d->log_dir, i);
	}
	if (d->cpus) {
		rank->cpus = &d->cpus;
		rank->cpus_size = sizeof(d->cpus);
	}
}

static int before(void *data, int restarted)
{
	struct driver *d = data;

	for (size_t i = 0; i < d->launch.count; i++) {
		char **envp = d->environs[i];

		free(envp[2]);
		envp[2] = text("TORCHELASTIC_RESTART_COUNT=%d", restarted);
	}
	return GPUMAP_OK;
}

static void write_result(const struct driver *d, const struct launch_result *result)
{
	FILE *file = fopen(d->result, "we");
	struct rusage use;

	if (!file)
		return;
	for (size_t i = 0; i < result->count; i++) {
		const struct launch_exit *e = &result->ranks[i];

		fprintf(file, "%d %d %d %d %d %d %.3f\n", d->ranks[i].rank, (int)e->pid, e->status,
			e->signal, e->first, e->stopped, (double)(e->end_ns - e->start_ns) / 1e9);
	}
	getrusage(RUSAGE_SELF, &use);
	fprintf(file, "run %d %d %d %zu %.3f %ld\n", result->status, (int)result->cause,
		result->restarts, result->left_behind,
		(double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6,
		use.ru_maxrss);
	fclose(file);
}

static void print_findings(const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

		fprintf(stderr, "driver: %s%s%s [%s]\n", gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
			fix ? "; " : "", fix ? fix : "", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	}
}

static void free_ranks(struct driver *d)
{
	for (size_t i = 0; i < d->launch.count; i++) {
		char **envp = d->environs[i];

		for (int j = 0; j < OWN_VARIABLES; j++)
			free(envp[j]);
		free(envp);
		free(d->paths[2 * i]);
		free(d->paths[2 * i + 1]);
	}
	free(d->paths);
	free(d->environs);
	free(d->ranks);
}

int main(int argc, char **argv)
{
	struct driver d = {.missing = -1,
			   .held = {-1, -1},
			   .launch = {.count = 1,
				      .grace_ms = 30000,
				      .console = LAUNCH_PREFIX,
				      .before = before,
				      .data = &d}};
	gpumap_report *report = NULL;
	struct launch_result result;
	int status;

	sigemptyset(&d.launch.forward);
	argv = parse(&d, argc, argv);
	d.ranks = must(calloc(d.launch.count + 1, sizeof(*d.ranks)));
	d.environs = must(calloc(d.launch.count + 1, sizeof(*d.environs)));
	d.paths = must(calloc(d.launch.count + 1, 2 * sizeof(*d.paths)));
	for (size_t i = 0; i < d.launch.count; i++)
		make_rank(&d, i, argv);
	d.launch.ranks = d.ranks;
	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 125;
	launch_run(&d.launch, &result, report);
	print_findings(report);
	if (d.summary)
		launch_summary(&d.launch, &result, 3, stderr);
	if (d.result)
		write_result(&d, &result);
	status = result.status;
	launch_result_free(&result);
	free_ranks(&d);
	gpumap_report_free(report);
	return status;
}
