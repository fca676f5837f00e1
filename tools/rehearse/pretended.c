/* SPDX-License-Identifier: MIT */
/* See pretended.h. */
#include "rehearse/pretended.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "closing.h"
#include "installed_path.h"
#include "inventory/inventory.h"
#include "remove_tree.h"
#include "report/report.h"

/* The longest string that Linux accepts in an environment: 32 pages. */
enum { MAX_TEXT = 32 * 4096 - 64 };

static int failed(gpumap_report *report, const char *origin, const char *why, const char *fix)
{
	return report_fail(report, STATUS_OWN_FAILURE, FINDING_PRETEND,
			   ABOUT(.origin = origin, .fix = fix), "cannot pretend: %s", why);
}

const char *pretended_parent(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

bool pretended_folder(char ret[PATH_MAX])
{
	errno = ENAMETOOLONG;
	if (snprintf(ret, PATH_MAX, "%s/" PRETENDED_FOLDER "%d-XXXXXX", pretended_parent(),
		     (int)getpid()) < PATH_MAX &&
	    mkdtemp(ret))
		return true;
	*ret = '\0';
	return false;
}

bool pretended_put_before(const char *variable, const char *folder, const char *otherwise)
{
	const char *before = getenv(variable) ? getenv(variable) : otherwise;
	CLEANUP_FREE char *text = NULL;

	if (asprintf(&text, "%s%s%s", folder, before && *before ? ":" : "", before ? before : "") <
	    0)
		text = NULL;
	return text && setenv(variable, text, 1) == 0;
}

/* The inventory as the text of a snapshot, which the caller frees; NULL after a message. */
static char *snapshot_text(const gpumap_inventory *inventory, gpumap_report *report)
{
	char *text = NULL;
	int r = gpumap_inventory_format(&text, inventory, GPUMAP_FORMAT_INI, 0, report);

	if (r == GPUMAP_OK && strlen(text) <= MAX_TEXT)
		return text;
	if (r == GPUMAP_OK)
		failed(report, "--inventory",
		       "this machine is too large for an environment variable",
		       "save it with gpumap inventory --save FILE, and give that file");
	free(text);
	return NULL;
}

/* Whether the program can open the machine itself, at `path`. */
static bool opens_again(const char *what, char path[PATH_MAX])
{
	struct stat about;

	if (synthetic_recognise(what))
		return snprintf(path, PATH_MAX, "%s", what) < PATH_MAX;
	return !streq(what, "host") && !streq(what, "-") && stat(what, &about) == 0 &&
	       S_ISREG(about.st_mode) && realpath(what, path);
}

static int hand_over(const char *what, gpumap_report *report)
{
	OWNED(inventory) *inventory = NULL;
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];
	bool again = opens_again(what, path);

	if (gpumap_inventory_open(&inventory, what, report) != GPUMAP_OK)
		return STATUS_MALFORMED;
	if (!again)
		text = snapshot_text(inventory, report);
	if (!again && !text)
		return STATUS_OWN_FAILURE;
	unsetenv("GPUMAP_PRETEND_INVENTORY");
	unsetenv("GPUMAP_PRETEND_TEXT");
	return setenv(again ? "GPUMAP_PRETEND_INVENTORY" : "GPUMAP_PRETEND_TEXT",
		      again ? path : text, 1) == 0
		       ? STATUS_ANSWERED
		       : failed(report, NULL, strerror(errno), NULL);
}

/* Puts the folder of gpumap's library before those that the program searches anyway. */
static int prepare_path(gpumap_report *report)
{
	char library[PATH_MAX];

	if (!installed_path(library, sizeof(library), "pretend/.libs/libnvidia-ml.so.1",
			    PRETENDDIR "/libnvidia-ml.so.1"))
		return failed(report, library, "the pretended library is missing",
			      "install gpumap with make install");
	*strrchr(library, '/') = '\0';
	if (strpbrk(library, ":;"))
		return failed(report, library,
			      "the dynamic linker takes no folder with : or ; in its name",
			      "install gpumap elsewhere");
	return pretended_put_before("LD_LIBRARY_PATH", library, NULL)
		       ? STATUS_ANSWERED
		       : failed(report, NULL, strerror(errno), NULL);
}

/* --- its leases ------------------------------------------------------------------------- */

/* A descendant may still hold a lease. */
static int stop_at_lock(const char *path, const struct stat *about, int type, struct FTW *where)
{
	CLEANUP_CLOSE int fd = -1;

	(void)about;
	(void)where;
	if (type != FTW_F)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0;
}

/* Whether this folder was made for a process of this user that has ended. */
static bool is_left(const char *path)
{
	const char *name = file_name(path);
	struct span id, rest;
	struct stat about;
	int64_t pid;

	if (!starts_with(name, PRETENDED_FOLDER))
		return false;
	rest = span_of(name + strlen(PRETENDED_FOLDER));
	pid = span_split(&rest, '-', &id) ? span_number(id, INT32_MAX) : -1;
	/* Others cannot write in a folder of mode 0700, so its entries do not change under nftw. */
	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH && lstat(path, &about) == 0 &&
	       S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       (about.st_mode & 0777) == S_IRWXU;
}

static void remove_left(const char *temporary)
{
	char path[PATH_MAX];
	CLEANUP_FOLDER DIR *folder = opendir(temporary);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int n = snprintf(path, sizeof(path), "%s/%s", temporary, entry->d_name);

		if (n < (int)sizeof(path) && is_left(path) &&
		    nftw(path, stop_at_lock, 4, FTW_PHYS) == 0)
			remove_tree(path);
	}
}

/* No process stays to remove the folder, so the next that pretends removes it. Without one, or with
 * GPUMAP_LEASES, leases are shared. */
static void have_own_leases(void)
{
	const char *shared = getenv("GPUMAP_LEASES");
	char path[PATH_MAX];

	if (shared && *shared)
		return;
	remove_left(pretended_parent());
	if (pretended_folder(path) && setenv("GPUMAP_LEASES", path, 1) < 0)
		rmdir(path);
}

int pretended_machine(const char *what, gpumap_report *report)
{
	int status;

	out_of_memory_returns(); /* a folder is to be removed */
	status = hand_over(what, report);

	if (status == STATUS_ANSWERED)
		status = prepare_path(report);
	if (status == STATUS_ANSWERED)
		have_own_leases();
	return status;
}
