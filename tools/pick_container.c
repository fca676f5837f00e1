/* SPDX-License-Identifier: MIT */
#include "pick_container.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "process_handle.h"
#include "readfile.h"
#include "reap.h"
#include "report.h"
#include "strbuf.h"

enum {
	MAX_ANSWER = 65536,
	ASK_MS = 30000, /* how often the client is asked while the process is waited for */
	RETRY_MS = 1000,
	RETRIES = 30 /* of a client that does not answer, or of a container that does not start */
};

#define DOCKER "{docker}"
#define CDI "{cdi}"
#define VISIBLE "CUDA_VISIBLE_DEVICES"

/* --- its words -------------------------------------------------------------------------------- */

static const char *file_name(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

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
 * start nothing. *name is the client. */
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
		if (streq(argv[i], "compose") || streq(argv[i], "create"))
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
				   "podman has no option for GPUs that '" DOCKER
				   "' could stand for");
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
	struct strbuf text = {0};
	char *value;

	strbuf_puts(&text, "\"device=");
	for (size_t i = 0; i < gpumap_lease_count(lease); i++) {
		const char *name = gpu_name(arena, gpumap_lease_device(lease, i));

		strbuf_printf(&text, "%s%s", i ? "," : "", name ? name : "");
		text.failed = text.failed || !name;
	}
	strbuf_puts(&text, "\"");
	value = strbuf_take(&text);
	argv[0] = arena_strdup(arena, "--gpus");
	argv[1] = value ? arena_strdup(arena, value) : NULL;
	free(value);
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

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = ((uint64_t)getpid() << 32) ^ (uint64_t)clock_milliseconds();
	c->name = arena_printf(&c->arena, "gpumap.pick=%016llx", (unsigned long long)number);
	argv[0] = arena_strdup(&c->arena, "--label");
	argv[1] = c->name ? arena_strdup(&c->arena, c->name) : NULL;
	return 2;
}

/* The guard, which asks the client, leaves the folder. */
static char *absolute(struct arena *arena, char *word)
{
	char folder[PATH_MAX];

	if (*word == '/' || !strchr(word, '/') || !getcwd(folder, sizeof(folder)))
		return word;
	return arena_printf(arena, "%s/%s", folder, word);
}

bool pick_container_open(struct pick_container *ret, char **argv, const gpumap_lease *lease)
{
	size_t words = 0, room, n = 0, client;
	const char *name;

	*ret = (struct pick_container){.argv = argv, .process = -1};
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
			ret->argv[n++] = i ? argv[i] : absolute(&ret->arena, argv[i]);
		if (client && i == client)
			n += add_label(ret, ret->argv + n);
	}
	for (size_t i = 0; ret->argv && i < n; i++)
		if (!ret->argv[i])
			return false;
	if (ret->argv)
		ret->argv[n] = NULL;
	ret->client = client;
	return ret->argv;
}

void pick_container_close(struct pick_container *container)
{
	if (container->process >= 0)
		close(container->process);
	arena_free(&container->arena);
}

/* --- asking the client ------------------------------------------------------------------------ */

/* Runs a command of the client. Returns what it printed, which the caller frees, or NULL: it cannot
 * be run, or failed. Signals are blocked here, but not there. */
static char *ask(const struct pick_container *c, const char *const *words)
{
	size_t n = 0, size;
	char *text = NULL, **argv;
	int out[2], status;
	sigset_t none;
	pid_t pid;

	while (words[n])
		n++;
	argv = calloc(c->client + n + 1, sizeof(*argv));
	if (!argv || pipe2(out, O_CLOEXEC) < 0) {
		free(argv);
		return NULL;
	}
	memcpy(argv, c->argv, c->client * sizeof(*argv));
	memcpy(argv + c->client, words, n * sizeof(*argv));
	pid = fork();
	if (pid == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (dup2(out[1], STDOUT_FILENO) >= 0)
			execvp(*argv, argv);
		_exit(127);
	}
	close(out[1]);
	free(argv);
	if (pid > 0 && read_all(out[0], MAX_ANSWER, &text, &size) != 0)
		text = NULL;
	close(out[0]);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0)) {
		free(text);
		text = NULL;
	}
	return text;
}

enum container_state {
	CONTAINER_ENDED, /* or it was removed */
	CONTAINER_RUNS,
	CONTAINER_BETWEEN, /* it was made, and has not started; or it starts again */
	CONTAINER_UNKNOWN  /* the client does not answer */
};

/* "4711 running", the answer to inspect. */
static enum container_state state_of(const char *answer, pid_t *pid)
{
	struct span rest = span_of(answer), line, number;
	int64_t value;

	span_split(&rest, '\n', &line);
	span_split(&line, ' ', &number);
	value = span_number(number, INT32_MAX);
	if (value < 0)
		return CONTAINER_UNKNOWN;
	*pid = (pid_t)value;
	if (value > 0)
		return CONTAINER_RUNS;
	return span_among(span_trim(line), "created restarting initialized") ? CONTAINER_BETWEEN
									     : CONTAINER_ENDED;
}

static enum container_state look(const struct pick_container *c, pid_t *pid)
{
	char filter[64];
	const char *const list[] = {"ps", "-aq", "--no-trunc", "--filter", filter, NULL};
	CLEANUP_FREE char *ids = NULL, *answer = NULL;

	snprintf(filter, sizeof(filter), "label=%s", c->name);
	ids = ask(c, list);
	if (!ids)
		return CONTAINER_UNKNOWN;
	ids[strcspn(ids, "\r\n")] = '\0';
	if (!*ids)
		return CONTAINER_ENDED;
	answer = ask(c, (const char *const[]){"inspect", "--format",
					      "{{.State.Pid}} {{.State.Status}}", ids, NULL});
	return answer ? state_of(answer, pid) : CONTAINER_UNKNOWN;
}

bool pick_container_runs(const struct pick_container *container)
{
	pid_t pid;

	return container->client && look(container, &pid) != CONTAINER_ENDED;
}

/* Asks the client, and sets when to ask again. A process that cannot be seen here is asked for more
 * often. */
static bool ask_again(struct pick_container *c)
{
	pid_t pid = 0;
	enum container_state state = look(c, &pid);

	if (state == CONTAINER_RUNS)
		c->process = process_pidfd(pid);
	c->ask_ms = clock_milliseconds() + (c->process >= 0 ? ASK_MS : RETRY_MS);
	c->tries = state == CONTAINER_RUNS ? 0 : c->tries + 1;
	return state != CONTAINER_ENDED && c->tries < RETRIES;
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
	if (container->process >= 0)
		close(container->process);
	container->process = -1;
	return ask_again(container);
}
