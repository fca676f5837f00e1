/* SPDX-License-Identifier: MIT */
/* The system, its container, and the limits of this process. */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "gather.h"
#include "lease/holders.h"
#include "trust.h"

enum { SMALL = 1 << 16, LARGE = 1 << 22 };

/* The value after `key` in the line that begins with it. Empty, with a text of NULL: no such line.
 */
static struct span line_value(const char *text, const char *key)
{
	struct span rest = span_of(text), line;

	while (span_split(&rest, '\n', &line))
		if (span_skip(&line, key))
			return span_trim(line);
	return NO_SPAN;
}

static struct span unquoted(struct span s)
{
	if (s.length >= 2 && (*s.text == '"' || *s.text == '\'') && s.text[s.length - 1] == *s.text)
		return (struct span){s.text + 1, s.length - 2};
	return s;
}

static void read_os(struct facts *facts)
{
	struct fact file = fact_file(facts, SMALL, "/etc/os-release");
	struct span name;

	if (file.sight == ABSENT)
		file = fact_file(facts, SMALL, "/usr/lib/os-release");
	facts->os = file.sight == ABSENT ? fact_unseen("there is no os-release") : file;
	if (file.sight != SEEN)
		return;
	name = unquoted(line_value(file.text, "PRETTY_NAME="));
	facts->os = name.length ? fact_text(arena_strndup(&facts->arena, name.text, name.length))
				: fact_unseen("/etc/os-release has no PRETTY_NAME");
}

/* "Linux version 6.1.0-18-amd64 (...) ...": of a recorded machine. */
static void read_kernel(struct facts *facts)
{
	struct fact file;
	struct utsname name;
	struct span release, word;

	if (!*facts->root && uname(&name) == 0) {
		facts->kernel = fact_text(arena_strdup(&facts->arena, name.release));
		return;
	}
	file = fact_file(facts, SMALL, "/proc/version");
	facts->kernel = file.sight == ABSENT ? fact_unseen("there is no /proc/version") : file;
	if (file.sight != SEEN)
		return;
	release = line_value(file.text, "Linux version ");
	facts->kernel = fact_unseen("/proc/version is not that of Linux");
	if (release.text && span_split(&release, ' ', &word))
		facts->kernel = fact_text(arena_strndup(&facts->arena, word.text, word.length));
}

/* Whether systemd in WSL made the file: it calls WSL a container. */
static bool is_wsl(struct facts *facts, const char *path)
{
	struct fact file = fact_file(facts, SMALL, "%s", path);

	return file.sight == SEEN && streq(file.text, "wsl");
}

/* The kind of container that this process is in: the files and variables that its engine makes. */
static void read_container(struct facts *facts)
{
	static const struct {
		const char *file, *variable, *name;
	} rows[] = {
		{NULL, "KUBERNETES_SERVICE_HOST", "Kubernetes"},
		{"/.dockerenv", NULL, "Docker"},
		{"/run/.containerenv", NULL, "Podman"},
		{"/.lock", NULL, "Enroot"},
		{"/.singularity.d", NULL, "Singularity"},
		{NULL, "APPTAINER_CONTAINER", "Apptainer"},
		{NULL, "SINGULARITY_CONTAINER", "Singularity"},
		{NULL, "CH_RUNNING", "Charliecloud"},
		{"/run/systemd/container", NULL, "container"},
		{NULL, "container", "container"}, /* systemd, LXC, podman */
	};
	struct stat about;

	facts->container = fact_absent();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].file ? root_stat(facts->root, rows[i].file, &about) == 0 &&
					   !is_wsl(facts, rows[i].file)
				 : facts_variable(facts, rows[i].variable) != NULL) {
			facts->container = fact_text(rows[i].name);
			return;
		}
}

/* The device tree has the models of the machine, each with NUL behind it. */
static void read_tegra(struct facts *facts)
{
	size_t size = 0;
	struct fact file = fact_bytes(facts, SMALL, &size, "/proc/device-tree/compatible");

	facts->tegra = file.sight == SEEN && memmem(file.text, size, "nvidia,tegra", 12);
}

void gather_system(struct facts *facts)
{
	read_os(facts);
	read_kernel(facts);
	read_container(facts);
	read_tegra(facts);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* The soft limit of a line of /proc/self/limits: "Max open files   1024   4096   files". */
static struct fact soft_limit(const struct fact *file, const char *name)
{
	struct span value, word;
	int64_t number;

	if (file->sight == ABSENT)
		return fact_unseen("there is no /proc/self/limits");
	if (file->sight != SEEN)
		return *file;
	value = line_value(file->text, name);
	if (!value.text || !span_split(&value, ' ', &word))
		return fact_unseen("/proc/self/limits lacks it");
	if (span_is(word, "unlimited"))
		return fact_number(-1);
	number = span_number(word, INT64_MAX / 2);
	return number < 0 ? fact_unseen("/proc/self/limits lacks it") : fact_number(number);
}

/* A size with its unit, "65536k"; -1: it is not one. */
static int64_t size_value(struct span s)
{
	int shift = 0;
	int64_t number;

	if (s.length && (s.text[s.length - 1] | 32) == 'k')
		shift = 10;
	else if (s.length && (s.text[s.length - 1] | 32) == 'm')
		shift = 20;
	else if (s.length && (s.text[s.length - 1] | 32) == 'g')
		shift = 30;
	s.length -= shift > 0;
	number = span_number(s, INT64_MAX >> 31);
	return number < 0 ? -1 : number << shift;
}

/* The size of a tmpfs; 0 is that of one without a limit. */
static struct fact shm_size(int64_t size)
{
	return fact_number(size ? size : -1);
}

/* Without an option tmpfs(5) takes half of the memory: "MemTotal:       65536000 kB". */
static struct fact half_of_memory(struct facts *facts)
{
	struct fact file = fact_file(facts, SMALL, "/proc/meminfo");
	struct span value = {NULL, 0}, number;
	int64_t size = -1;

	if (file.sight == SEEN)
		value = line_value(file.text, "MemTotal:");
	if (value.text && span_split(&value, ' ', &number))
		size = span_number(number, INT64_MAX >> 10);
	return size < 0 ? fact_unseen("the mount has no size") : fact_number(size << 10 >> 1);
}

/* "tmpfs /dev/shm tmpfs rw,nosuid,size=65536k 0 0" */
static struct fact recorded_shm(struct facts *facts)
{
	struct fact file = fact_file(facts, LARGE, "/proc/self/mounts");
	struct span rest, line, word[4], option;

	if (file.sight == ABSENT)
		return fact_unseen("there is no /proc/self/mounts");
	if (file.sight != SEEN)
		return file;
	rest = span_of(file.text);
	while (span_split(&rest, '\n', &line)) {
		size_t n = 0;

		while (n < 4 && line.text && span_split(&line, ' ', &word[n]))
			n++;
		if (n < 4 || !span_is(word[1], "/dev/shm"))
			continue;
		while (span_split(&word[3], ',', &option))
			if (span_skip(&option, "size=") && size_value(option) >= 0)
				return shm_size(size_value(option));
		return half_of_memory(facts);
	}
	return fact_absent();
}

static void read_shm(struct facts *facts)
{
	struct statvfs about;
	struct stat folder;

	if (*facts->root) {
		facts->shm = recorded_shm(facts);
		facts->shm_free = fact_unseen("--root");
	} else if (root_stat("", "/dev/shm", &folder) != 0 || !S_ISDIR(folder.st_mode)) {
		facts->shm = fact_absent();
	} else if (statvfs("/dev/shm", &about) == 0) {
		facts->shm = shm_size((int64_t)about.f_blocks * (int64_t)about.f_frsize);
		facts->shm_free =
			facts->shm.number < 0
				? fact_unseen("it has no limit")
				: fact_number((int64_t)about.f_bavail * (int64_t)about.f_frsize);
	}
}

/* A list of /proc/self/status: "Cpus_allowed_list:\t0-3". */
static struct fact allowed(struct facts *facts, const struct fact *file, const char *key)
{
	struct span value;

	if (file->sight == ABSENT)
		return fact_unseen("there is no /proc/self/status");
	if (file->sight != SEEN)
		return *file;
	value = line_value(file->text, key);
	if (!value.length)
		return fact_unseen("/proc/self/status lacks it");
	return fact_text(arena_strndup(&facts->arena, value.text, value.length));
}

/* CAP_IPC_LOCK lifts the limit of locked memory. "CapEff:\t000001ffffffffff" */
static bool may_lock(const struct fact *status)
{
	struct span value = {NULL, 0};
	char text[24] = "";

	if (status->sight == SEEN)
		value = line_value(status->text, "CapEff:");
	if (!value.text || value.length >= sizeof(text))
		return false;
	memcpy(text, value.text, value.length);
	return strtoull(text, NULL, 16) >> CAP_IPC_LOCK & 1;
}

static void read_leases(struct facts *facts)
{
	static const char *const folders[] = {LEASE_FOLDER, LEASE_OTHER_FOLDER};
	struct stat about;

	facts->leases = fact_absent();
	for (size_t i = 0; !facts_variable(facts, "GPUMAP_LEASES") && i < ARRAY_SIZE(folders); i++)
		if (root_stat(facts->root, folders[i], &about) == 0) {
			facts->leases = fact_text(folders[i]);
			facts->leases.number = owner_trusted(&about) ? -1 : (int64_t)about.st_uid;
			return;
		}
}

void gather_limits(struct facts *facts)
{
	struct fact limits = fact_file(facts, SMALL, "/proc/self/limits");
	struct fact status = fact_file(facts, SMALL, "/proc/self/status");

	facts->memlock = soft_limit(&limits, "Max locked memory");
	facts->ipc_lock = may_lock(&status);
	facts->open_files = soft_limit(&limits, "Max open files");
	facts->address_space = soft_limit(&limits, "Max address space");
	facts->cpus = allowed(facts, &status, "Cpus_allowed_list:");
	read_shm(facts);
	read_leases(facts);
}
