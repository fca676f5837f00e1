/* SPDX-License-Identifier: MIT */
/* See container_client.h. */
#include "pick/container_client.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "closing.h"
#include "process_handle.h"
#include "process_path.h"
#include "readfile.h"
#include "reap.h"
#include "report/report.h"
#include "strbuf.h"

enum {
	ANSWER = 4096, /* bytes */
	ANSWER_MS = 10000,
	END_MS = 1000,  /* of a client that has answered, or was killed */
	ASK_MS = 30000, /* how often the client is asked while the process is waited for */
	RETRY_MS = 1000,
	LOST_MS = 30000, /* without an answer, or before a container starts */
	CGROUP = 8192,
	LEAST_ID = 32 /* characters that are the container's alone; ids have 64 */
};

#define DOCKER "{docker}"
#define CDI "{cdi}"
#define VISIBLE "CUDA_VISIBLE_DEVICES"

/* --- its words -------------------------------------------------------------------------------- */

/* The name of a client of containers, or NULL. */
static const char *client_name(const char *word)
{
	static const char *const names[] = {"docker", "nerdctl", "podman"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(file_name(word), names[i]))
			return names[i];
	return NULL;
}

/* The words before "run", such as "sudo docker --context x container". 0: they name no client, or
 * make no container. *name is the client. */
static size_t client_words(char **argv, const char **name)
{
	static const char *const wrappers = "chrt doas env ionice nice nohup numactl setsid stdbuf "
					    "sudo taskset time timeout";
	bool wrapped = span_among(span_of(file_name(*argv)), wrappers);
	size_t i = 0;

	*name = client_name(*argv);
	while (wrapped && !*name && argv[++i])
		*name = client_name(argv[i]);
	while (*name && argv[++i]) {
		if (streq(argv[i], "run"))
			return i;
		if (span_among(span_of(argv[i]), "compose create exec start"))
			break;
	}
	*name = NULL;
	return 0;
}

static bool has_word(char **argv, const char *word)
{
	while (*argv && !streq(*argv, word))
		argv++;
	return *argv;
}

/* Whether the client passes its own list into the container, where it means other GPUs: -e NAME
 * without a value. */
static bool passes_list(char **argv)
{
	for (; *argv; argv++)
		if (((streq(*argv, "-e") || streq(*argv, "--env")) && argv[1] &&
		     streq(argv[1], VISIBLE)) ||
		    streq(*argv, "-e" VISIBLE) || streq(*argv, "-e=" VISIBLE) ||
		    streq(*argv, "--env=" VISIBLE))
			return true;
	return false;
}

int pick_container_check(char **argv, gpumap_report *report)
{
	bool docker = has_word(argv, DOCKER), cdi = has_word(argv, CDI);
	const char *name;
	size_t client = client_words(argv, &name);

	if (docker && client && streq(name, "podman"))
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.fix = "write " CDI " instead"),
				   "'" DOCKER "' is docker's option --gpus with a list, which "
				   "podman does not take");
	if (client && !docker && !cdi)
		report_add(report, FINDING_PICK_UNTOLD,
			   ABOUT(.fix = streq(name, "podman")
						? "write " CDI " after run, in place of --device"
						: "write " DOCKER " after run, in place of --gpus"),
			   "%s is not told which GPUs are leased", name);
	if (client && passes_list(argv + client))
		report_add(report, FINDING_PICK_NUMBERS, ABOUT(.fix = "leave out -e " VISIBLE),
			   "%s passes " VISIBLE
			   " with the host's numbers into the container, where "
			   "the leased GPUs are numbered from 0",
			   name);
	if ((docker || cdi) && !client)
		report_add(
			report, FINDING_PICK_NO_CLIENT,
			ABOUT(.fix = "write the client itself, as in gpumap pick 2 -- docker "
				     "run " DOCKER " IMAGE"),
			"'%s' is not docker run, so the lease ends with it, not with its container",
			QUOTE(span_of(*argv)));
	return GPUMAP_OK;
}

/* --- what is added ---------------------------------------------------------------------------- */

/* The name of a GPU that is the same for all clients. */
static const char *gpu_name(struct arena *arena, const gpumap_device *gpu)
{
	const char *uuid = gpumap_device_str(gpu, GPUMAP_DEVICE_UUID);

	return uuid ? uuid
		    : arena_printf(arena, "%lld",
				   (long long)gpumap_device_int(gpu, GPUMAP_DEVICE_PHYSICAL));
}

/* docker reads the value as a line of CSV, so a list needs quotes of its own. */
static size_t add_docker(struct arena *arena, char **argv, const gpumap_lease *lease)
{
	CLEANUP(strbuf_free) struct strbuf text = {0};

	strbuf_puts(&text, "\"device=");
	for (size_t i = 0; i < gpumap_lease_count(lease); i++) {
		const char *name = gpu_name(arena, gpumap_lease_device(lease, i));

		strbuf_printf(&text, "%s%s", i ? "," : "", name ? name : "");
		text.failed = text.failed || !name;
	}
	strbuf_puts(&text, "\"");
	argv[0] = arena_strdup(arena, "--gpus");
	argv[1] = text.failed ? NULL : arena_strdup(arena, text.text);
	return 2;
}

static size_t add_cdi(struct arena *arena, char **argv, const gpumap_lease *lease)
{
	size_t n = 0;

	for (size_t i = 0; i < gpumap_lease_count(lease); i++) {
		const char *name = gpu_name(arena, gpumap_lease_device(lease, i));

		argv[n++] = arena_strdup(arena, "--device");
		argv[n++] = name ? arena_printf(arena, "nvidia.com/gpu=%s", name) : NULL;
	}
	return n;
}

/* By its label a container is found also if the client was killed before it printed its id. */
static size_t add_label(struct pick_container *c, char **argv)
{
	uint64_t number = 0;

	if (syscall(SYS_getrandom, &number, sizeof(number), 0) != sizeof(number))
		number = ((uint64_t)getpid() << 32) ^ (uint64_t)clock_milliseconds();
	c->name = arena_printf(&c->arena, "gpumap.pick=%016llx", (unsigned long long)number);
	argv[0] = arena_strdup(&c->arena, "--label");
	argv[1] = c->name ? arena_strdup(&c->arena, c->name) : NULL;
	return 2;
}

bool pick_container_open(struct pick_container *ret, char **argv, const gpumap_lease *lease)
{
	size_t words = 0, room, n = 0, client;
	char folder[PATH_MAX];
	const char *name;

	*ret = (struct pick_container){.argv = argv, .process = -1, .lost_ms = -1};
	if (!has_word(argv, DOCKER) && !has_word(argv, CDI))
		return true;
	while (argv[words])
		words++;
	client = client_words(argv, &name);
	room = words * (2 * gpumap_lease_count(lease) + 2) + 3;
	ret->argv = arena_alloc(&ret->arena, room, sizeof(*ret->argv));
	for (size_t i = 0; ret->argv && i < words; i++) {
		if (streq(argv[i], DOCKER))
			n += add_docker(&ret->arena, ret->argv + n, lease);
		else if (streq(argv[i], CDI))
			n += add_cdi(&ret->arena, ret->argv + n, lease);
		else
			ret->argv[n++] = argv[i];
		if (client && i == client)
			n += add_label(ret, ret->argv + n);
	}
	for (size_t i = 0; ret->argv && i < n; i++)
		if (!ret->argv[i])
			return false;
	if (ret->argv)
		ret->argv[n] = NULL;
	ret->client = client;
	if (getcwd(folder, sizeof(folder)))
		ret->folder = arena_strdup(&ret->arena, folder);
	return ret->argv;
}

void pick_container_close(struct pick_container *container)
{
	close_variable(&container->process);
	arena_free(&container->arena);
}

/* --- asking the client ------------------------------------------------------------------------ */

/* "docker container" has no ps with all clients. */
static const char *list_word(const struct pick_container *c)
{
	return streq(c->argv[c->client - 1], "container") ? "ls" : "ps";
}

/* A command of the client. The caller frees it; NULL without memory. sudo must not ask for a
 * password: another program may have the terminal. */
static char **make_command(const struct pick_container *c, const char *const *words)
{
	static char no_password[] = "-n";
	size_t n = 0, count = 0;
	char **argv;

	while (words[count])
		count++;
	argv = calloc(2 * c->client + count + 1, sizeof(*argv));
	for (size_t i = 0; argv && i < c->client; i++) {
		argv[n++] = c->argv[i];
		if (streq(file_name(c->argv[i]), "sudo") || streq(file_name(c->argv[i]), "doas"))
			argv[n++] = no_password;
	}
	if (argv)
		memcpy(argv + n, words, count * sizeof(*argv));
	return argv;
}

/* Signals are blocked here, but not there. The guard has left the folder; without it only a client
 * with a relative path fails. */
static void become_client(const struct pick_container *c, char **argv, int out)
	__attribute__((noreturn));
static void become_client(const struct pick_container *c, char **argv, int out)
{
	int back = c->folder ? chdir(c->folder) : -1;
	sigset_t none;

	(void)back;
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) >= 0)
		execvp(*argv, argv);
	_exit(127);
}

/* Reads what the client prints. False: it takes too long, or `wake` is readable. */
static bool read_answer(char ret[ANSWER], int fd, int wake)
{
	int64_t end = clock_milliseconds() + ANSWER_MS;
	size_t length = 0;
	ssize_t n = 1;

	while (n > 0 && length < ANSWER - 1) {
		struct pollfd ready[] = {{fd, POLLIN, 0}, {wake, POLLIN, 0}};
		int64_t left = end - clock_milliseconds();

		if (left <= 0 || poll(ready, ARRAY_SIZE(ready), (int)left) <= 0 ||
		    !ready[0].revents)
			return false;
		n = read(fd, ret + length, ANSWER - 1 - length);
		length += n > 0 ? (size_t)n : 0;
	}
	ret[length] = '\0';
	return n == 0;
}

/* Runs a command of the client. False: it cannot be run, failed, or does not answer. */
static bool ask(const struct pick_container *c, char ret[ANSWER], const char *const *words,
		int wake)
{
	CLEANUP_FREE char **argv = make_command(c, words);
	int out[2], status = -1;
	bool good = false;
	pid_t pid;

	if (!argv || pipe2(out, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		become_client(c, argv, out[1]);
	if (pid > 0)
		setpgid(pid, pid); /* whichever of the two comes first */
	close(out[1]);
	if (pid > 0)
		good = read_answer(ret, out[0], wake);
	close(out[0]);
	if (pid > 0 && !good)
		kill(-pid, SIGKILL);
	/* What sudo has started cannot be killed; then the guard collects it. */
	return pid > 0 && reap_until(pid, clock_milliseconds() + END_MS, &status) && good &&
	       status == 0;
}

enum container_state {
	CONTAINER_ENDED, /* or it was removed */
	CONTAINER_RUNS,
	CONTAINER_RESTARTS, /* it has ended, and starts again */
	CONTAINER_BETWEEN,  /* it was made, and has not started; or it may start again */
	CONTAINER_UNKNOWN   /* the client does not answer */
};

#define INSPECT "{{.State.Pid}} {{.State.Status}}"
#define INSPECT_PODMAN INSPECT " {{.HostConfig.RestartPolicy.Name}}"

static bool is_podman(const struct pick_container *c)
{
	for (size_t i = 0; i < c->client; i++)
		if (streq(file_name(c->argv[i]), "podman"))
			return true;
	return false;
}

/* "4711 running", the answer to inspect. nerdctl has the number of a process that has ended. podman
 * has no word for a container that starts again, but the policy is there: "0 exited always". */
static enum container_state state_of(const char *answer, pid_t *pid)
{
	struct span rest = span_of(answer), policy, number, status = {NULL, 0};
	int64_t value;

	span_split(&rest, '\n', &policy);
	span_split(&policy, ' ', &number);
	span_split(&policy, ' ', &status);
	value = span_number(number, INT32_MAX);
	if (value < 0)
		return CONTAINER_UNKNOWN;
	if (span_is(status, "restarting"))
		return CONTAINER_RESTARTS;
	if (span_among(status, "exited stopped"))
		return span_among(policy, "always on-failure unless-stopped") ? CONTAINER_BETWEEN
									      : CONTAINER_ENDED;
	if (span_among(status, "dead removing"))
		return CONTAINER_ENDED;
	*pid = (pid_t)value;
	if (value > 0)
		return CONTAINER_RUNS;
	return span_among(status, "created configured initialized running") ? CONTAINER_BETWEEN
									    : CONTAINER_ENDED;
}

/* Its id, and its first process if it runs. */
static enum container_state look(const struct pick_container *c, char id[ANSWER], pid_t *pid,
				 int wake)
{
	char filter[64], answer[ANSWER];
	const char *const list[] = {list_word(c), "-aq", "--no-trunc", "--filter", filter, NULL};
	const char *const inspect[] = {"inspect", "--format",
				       is_podman(c) ? INSPECT_PODMAN : INSPECT, id, NULL};

	snprintf(filter, sizeof(filter), "label=%s", c->name);
	if (!ask(c, id, list, wake))
		return CONTAINER_UNKNOWN;
	id[strcspn(id, "\r\n")] = '\0';
	if (!*id)
		return CONTAINER_ENDED;
	return ask(c, answer, inspect, wake) ? state_of(answer, pid) : CONTAINER_UNKNOWN;
}

bool pick_container_runs(const struct pick_container *container)
{
	char id[ANSWER];
	pid_t pid;

	return container->client && look(container, id, &pid, -1) != CONTAINER_ENDED;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* The number can be that of another process here, as with a client of another pid namespace. */
static void watch_process(struct pick_container *c, pid_t pid, const char *id)
{
	char cgroup[CGROUP];

	c->process = process_pidfd(pid);
	c->sure = c->process >= 0 && strlen(id) >= LEAST_ID &&
		  read_start(cgroup, sizeof(cgroup), PROCESS_PATH(pid, "cgroup")) > 0 &&
		  strstr(cgroup, id);
}

static void leave_process(struct pick_container *c)
{
	close_variable(&c->process);
	c->sure = false;
}

/* Whether the container is seen to run, whatever the client says. */
static bool is_seen(const struct pick_container *c)
{
	struct pollfd end = {c->process, POLLIN, 0};

	return c->sure && poll(&end, 1, 0) == 0;
}

/* Asks the client, and sets when to ask again. A process that cannot be seen here is asked for more
 * often. */
static bool ask_again(struct pick_container *c, int wake)
{
	char id[ANSWER];
	pid_t pid = 0;
	enum container_state state = look(c, id, &pid, wake);
	bool seen = state == CONTAINER_UNKNOWN && is_seen(c);
	int64_t now = clock_milliseconds();

	if (!seen)
		leave_process(c);
	if (state == CONTAINER_RUNS)
		watch_process(c, pid, id);
	if (seen || state == CONTAINER_RUNS || state == CONTAINER_RESTARTS)
		c->lost_ms = -1;
	else if (c->lost_ms < 0)
		c->lost_ms = now;
	c->ask_ms = now + (c->process >= 0 ? ASK_MS : RETRY_MS);
	return state != CONTAINER_ENDED && (c->lost_ms < 0 || now - c->lost_ms < LOST_MS);
}

bool pick_container_wait(struct pick_container *container, int wake)
{
	struct pollfd ready[] = {{container->process, POLLIN, 0}, {wake, POLLIN, 0}};
	int64_t left = container->ask_ms - clock_milliseconds();

	if (left > 0) {
		poll(ready, ARRAY_SIZE(ready), (int)left);
		if (!ready[0].revents)
			return true;
	}
	return ask_again(container, wake);
}
