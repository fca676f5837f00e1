/* SPDX-License-Identifier: MIT */
/* See container.h. */
#include "container.h"

#include <sys/stat.h>

enum mark {
	MARK_PREFIX, /* the rest of the folder's name is the id */
	MARK_SCOPE,  /* the same, of a scope of systemd or in a folder for containers */
	MARK_FOLDER, /* the next folder's name is the id */
	MARK_POD     /* the same, but its name begins with the word */
};

static const struct row {
	const char *word, *runtime;
	enum mark mark;
	const char *below; /* a folder above must begin with this; NULL: any */
} rows[] = {
	{"docker-", "docker", MARK_SCOPE, NULL},
	{"libpod-", "podman", MARK_SCOPE, NULL},
	{"cri-containerd-", "containerd", MARK_SCOPE, NULL},
	{"nerdctl-", "containerd", MARK_SCOPE, NULL},
	{"crio-", "crio", MARK_SCOPE, NULL},
	{"lxc.payload.", "lxc", MARK_PREFIX, NULL},
	{"job_", "slurm", MARK_PREFIX, "slurm"},
	{"docker", "docker", MARK_FOLDER, NULL},
	{"libpod_parent", "podman", MARK_FOLDER, NULL},
	{"lxc", "lxc", MARK_FOLDER, NULL},
	{"lxc.payload", "lxc", MARK_FOLDER, NULL},
	{"garden", "garden", MARK_FOLDER, NULL},
	{"pod", "kubepods", MARK_POD, "kubepods"},
};

/* What the folders of a path have shown so far. */
struct walk {
	bool kubernetes, slurm;
	const char *next; /* the runtime whose id the next folder is; NULL: of none */
};

static struct span without_suffix(struct span name, const char *suffix)
{
	size_t n = strlen(suffix);

	if (name.length > n && memcmp(name.text + name.length - n, suffix, n) == 0)
		name.length -= n;
	return name;
}

static void found(struct container *ret, const struct walk *walk, const char *runtime,
		  struct span id)
{
	bool slurm = streq(runtime, "slurm");

	*ret = (struct container){walk->kubernetes && !slurm ? "kubepods" : runtime, id, !slurm};
}

static bool applies(const struct row *row, const struct walk *walk)
{
	return !row->below || (streq(row->below, "slurm") ? walk->slurm : walk->kubernetes);
}

/* Whether the folder's name is the id of a container. */
static bool take_folder(struct container *ret, struct walk *walk, struct span folder)
{
	struct span name = without_suffix(folder, ".scope");
	const char *next = walk->next;

	walk->next = NULL;
	walk->kubernetes = walk->kubernetes || span_starts(name, "kubepods");
	walk->slurm = walk->slurm || span_starts(name, "slurm");
	/* The process that watches a container of podman is not in it. */
	if (span_starts(name, "libpod-conmon-"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		size_t n = strlen(row->word);

		if (!applies(row, walk) || !span_starts(name, row->word))
			continue;
		if (row->mark == MARK_SCOPE && name.length == folder.length && !next)
			continue;
		if (row->mark <= MARK_SCOPE && name.length > n) {
			found(ret, walk, row->runtime,
			      (struct span){name.text + n, name.length - n});
			return true;
		}
		if (row->mark == MARK_POD || (row->mark == MARK_FOLDER && name.length == n)) {
			walk->next = row->runtime;
			return false;
		}
	}
	if (next)
		found(ret, walk, next, name);
	return next;
}

bool container_find(struct container *ret, const char *text)
{
	struct span rest = span_of(text), line;
	bool any = false;

	while (!any && span_split(&rest, '\n', &line)) {
		struct span path = line, part;
		struct walk walk = {0};

		/* "0::/system.slice/docker-ID.scope": the path follows the second colon. */
		if (!span_split(&path, ':', &part) || !span_split(&path, ':', &part) || !path.text)
			continue;
		while (span_split(&path, '/', &part))
			if (part.length)
				any = take_folder(ret, &walk, part) || any;
	}
	return any;
}

bool container_is_other(const struct container *container, const char *own)
{
	struct container mine;

	return container->separate &&
	       !(own && container_find(&mine, own) && span_same(mine.id, container->id));
}

bool container_hides_processes(void)
{
	const ino_t initial = 0xEFFFFFFC; /* PROC_PID_INIT_INO of Linux */
	struct stat about;

	return stat("/proc/self/ns/pid", &about) != 0 || about.st_ino != initial;
}
