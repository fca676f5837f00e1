/* SPDX-License-Identifier: MIT */
/* The driver's device files, and whether this process may open them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gather.h"

#include "closing.h"

enum { SMALL = 1 << 16, LARGE = 1 << 20, MAX_SOCKETS = 64 };

/* Opening a device file is the only way to learn what a cgroup of version 2 allows. In a recorded
 * machine a device file would be one of this machine, so there only its mode is looked at. */
static int open_error(const struct facts *facts, const char *path, const struct stat *about)
{
	int fd;

	if (*facts->root)
		return about->st_mode & (S_IRWXG | S_IRWXO) ? 0 : EACCES;
	if (!S_ISCHR(about->st_mode))
		return ENODEV;
	/* Opening would hang as well. */
	if (facts->nvml_hangs)
		return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0 ? 0 : errno;
	fd = root_open("", path, O_RDWR);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void add_node(struct facts *facts, const char *path, unsigned int minor)
{
	struct stat about;
	struct node *node;
	int error = root_stat(facts->root, path, &about);

	node = ARENA_NEXT(&facts->arena, facts->nodes, facts->node_count, facts->node_room);
	*node = (struct node){.path = path, .major = 195, .minor = minor};
	if (error) {
		node->sight = error == ENOENT || error == ENOTDIR ? ABSENT : UNSEEN;
		node->error = error;
		return;
	}
	node->sight = SEEN;
	node->error = open_error(facts, path, &about);
	if (S_ISCHR(about.st_mode)) {
		node->major = major(about.st_rdev);
		node->minor = minor(about.st_rdev);
	}
}

/* The files of GPUs, /dev/nvidia0 and so on. */
static void add_gpu_nodes(struct facts *facts)
{
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, "/dev");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int64_t number;

		if (!starts_with(entry->d_name, "nvidia"))
			continue;
		number = span_number(span_of(entry->d_name + 6), 4096);
		if (number >= 0)
			add_node(facts, arena_printf(&facts->arena, "/dev/%s", entry->d_name),
				 (unsigned int)number);
	}
}

/* The GPUs that the driver lists, also those that it was configured to leave out. */
static void count_listed(struct facts *facts)
{
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, "/proc/driver/nvidia/gpus");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct fact file;

		if (*entry->d_name == '.')
			continue;
		file = fact_file(facts, SMALL, "/proc/driver/nvidia/gpus/%s/information",
				 entry->d_name);
		facts->listed_gpus++;
		if (file.sight == SEEN) {
			const char *line = strstr(file.text, "GPU Excluded:");

			facts->excluded_gpus +=
				line && span_starts(span_trim(span_of(line + 13)), "Yes");
		}
	}
}

/* "5:devices:/docker/1f2e": the folder of this process in the hierarchy of devices. */
static void read_cgroup(struct facts *facts)
{
	struct fact file = fact_file(facts, LARGE, "/proc/self/cgroup");
	struct span rest, line, field;

	facts->devices_cgroup = fact_absent();
	if (file.sight == UNSEEN)
		facts->devices_cgroup = file;
	if (file.sight != SEEN)
		return;
	rest = span_of(file.text);
	while (span_split(&rest, '\n', &line)) {
		struct fact list;

		span_split(&line, ':', &field);
		if (!line.text || !span_split(&line, ':', &field) || !span_is(field, "devices") ||
		    !line.text)
			continue;
		list = fact_file(facts, LARGE, "/sys/fs/cgroup/devices%.*s/devices.list",
				 (int)line.length, line.text);
		/* In a container the folder of its cgroup is the top of the mount. */
		if (list.sight == ABSENT)
			list = fact_file(facts, LARGE, "/sys/fs/cgroup/devices/devices.list");
		facts->devices_cgroup = list;
	}
}

/* Whether a socket is bound to the path, or to another path of the same file, as where /var/run is
 * a link to /run. A line is "...: 00000002 00000000 00010000 0005 01 42 /tmp/nvidia-mps/control".
 */
static bool is_bound(struct facts *facts, const char *sockets, const char *path)
{
	const char *base = strrchr(path, '/');
	const char *real = facts_real(facts, path), *other;
	int looks = real ? MAX_SOCKETS : 0;
	struct span rest = span_of(sockets), line;

	while (span_split(&rest, '\n', &line)) {
		const char *at = span_find(line, "/"), *name;

		if (!at)
			continue;
		line = span_from(line, at);
		name = arena_strndup(&facts->arena, line.text, line.length);
		if (streq(name, path))
			return true;
		other = looks && text_ends(name, base) && looks-- ? facts_real(facts, name) : NULL;
		if (other && streq(other, real))
			return true;
	}
	return false;
}

/* The folder of NVIDIA's Multi-Process Service, and whether a daemon listens in it. The kernel
 * lists the sockets of this network namespace with their paths. */
static void read_mps(struct facts *facts)
{
	const char *folder = facts_variable(facts, "CUDA_MPS_PIPE_DIRECTORY"), *socket;
	struct fact sockets;
	struct stat about;
	size_t length;

	if (!folder)
		folder = "/tmp/nvidia-mps";
	facts->mps = fact_absent();
	length = strlen(folder);
	while (length > 1 && folder[length - 1] == '/')
		length--;
	socket = arena_printf(&facts->arena, "%.*s/control", (int)length, folder);
	if (*folder != '/')
		return;
	if (root_stat(facts->root, socket, &about) != 0 &&
	    !facts_variable(facts, "CUDA_MPS_PIPE_DIRECTORY"))
		return;
	sockets = fact_file(facts, 1 << 24, "/proc/net/unix");
	facts->mps = facts->container.sight == SEEN
			     ? fact_unseen("in a container the daemon may be the host's")
			     : sockets;
	if (facts->mps.sight != SEEN)
		return;
	facts->mps = fact_text(folder);
	facts->mps.number = is_bound(facts, sockets.text, socket);
}

void gather_devices(struct facts *facts)
{
	struct stat helper;

	add_node(facts, "/dev/nvidiactl", 255);
	add_node(facts, "/dev/nvidia-uvm", 0);
	add_gpu_nodes(facts);
	facts->makes_nodes = root_stat(facts->root, "/usr/bin/nvidia-modprobe", &helper) == 0 &&
			     (helper.st_mode & S_ISUID || (!*facts->root && geteuid() == 0));
	count_listed(facts);
	read_cgroup(facts);
	read_mps(facts);
}
