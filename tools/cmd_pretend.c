/* SPDX-License-Identifier: MIT */
/*
 * gpumap pretend --inventory MACHINE -- PROGRAM ARGUMENTS: starts a program that finds gpumap's
 * libnvidia-ml.so.1 first. This process becomes that program, so no process is left to remove a
 * temporary file; and a program that starts children (Python does) may close inherited descriptors.
 * So the environment, which every descendant inherits, describes the machine: by the path of a file
 * that the user keeps, or by its name such as "8xH100"; what cannot be opened twice (a pipe, this
 * host) by the text of a snapshot.
 */
#include "command.h"

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

#include "installed_path.h"
#include "inventory/inventory.h"
#include "report.h"
#include "strbuf.h"
#include "suggest.h"
#include "words.h"

/* The longest string that Linux accepts in an environment: 32 pages. */
enum { MAX_TEXT = 32 * 4096 - 64 };

/* Before the id of the process, in the name of a folder of leases. */
#define OWN_LEASES "gpumap-pretended-"

const struct option_row pretend_rows[] = {
	INVENTORY_ROW,
	{NULL, NULL, NULL},
};

static void help(const struct options *options)
{
	fputs("usage: gpumap pretend --inventory MACHINE [--] PROGRAM [ARGUMENT...]\n"
	      "\n"
	      "Runs a program as if this host had the GPUs of a recorded or synthetic machine.\n"
	      "The program sees them through NVML if it loads libnvidia-ml.so.1 by that name, as\n"
	      "nvitop, gpustat and PyTorch do. A program that loads it by an absolute path, or\n"
	      "runs with raised privileges, gets the real library. CUDA is not simulated. Values\n"
	      "that the inventory does not have are shown as N/A. Its leases are its own; set\n"
	      "GPUMAP_LEASES to a folder to share them.\n"
	      "\n"
	      "  gpumap pretend --inventory 8xH100 -- nvitop -1\n"
	      "  ssh node7 nvidia-smi -L | gpumap pretend --inventory - -- gpustat\n"
	      "\n",
	      stdout);
	options_help(options, stdout);
}

static int own_failure(gpumap_report *report, const char *origin, const char *why, const char *fix)
{
	report_add(report, FINDING_PRETEND, ABOUT(.origin = origin, .fix = fix),
		   "cannot pretend: %s", why);
	return STATUS_OWN_FAILURE;
}

static int malformed(gpumap_report *report, const char *why, const char *fix)
{
	report_add(report, FINDING_BAD_OPTION, ABOUT(.fix = fix), "%s", why);
	return STATUS_MALFORMED;
}

/* Reads a whole file of at most MAX_TEXT bytes; NULL with errno set otherwise. */
static char *read_text(const char *path)
{
	char *text = malloc(MAX_TEXT + 1);
	FILE *file = fopen(path, "re");
	size_t n = 0;

	if (text && file)
		n = fread(text, 1, MAX_TEXT + 1, file);
	if (!text || !file || ferror(file) || n > MAX_TEXT) {
		if (n > MAX_TEXT)
			errno = E2BIG;
		free(text);
		text = NULL;
	} else {
		text[n] = '\0';
	}
	if (file)
		fclose(file);
	return text;
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* The inventory as the text of a snapshot, by way of a temporary file. */
static char *snapshot_text(const gpumap_inventory *inventory, gpumap_report *report)
{
	const char *temporary = temporary_folder();
	char folder[PATH_MAX], file[PATH_MAX + 16];
	char *text = NULL;
	int n;

	n = snprintf(folder, sizeof(folder), "%s/gpumap-XXXXXX", temporary);
	if (n >= (int)sizeof(folder) || !mkdtemp(folder)) {
		own_failure(report, temporary, strerror(errno),
			    "set TMPDIR to a folder that can be written");
		return NULL;
	}
	snprintf(file, sizeof(file), "%s/machine.ini", folder);
	if (gpumap_inventory_save(inventory, file, report) == GPUMAP_OK) {
		text = read_text(file);
		if (!text && errno == E2BIG)
			own_failure(
				report, "--inventory",
				"this machine is too large for an environment variable",
				"save it with gpumap inventory --save FILE, and give that file");
		else if (!text)
			own_failure(report, file, strerror(errno), NULL);
	}
	unlink(file);
	rmdir(folder);
	return text;
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
	gpumap_inventory *inventory = NULL;
	char path[PATH_MAX], *text = NULL;
	bool again = opens_again(what, path), ok;

	if (gpumap_inventory_open(&inventory, what, report) != GPUMAP_OK)
		return STATUS_MALFORMED;
	if (!again)
		text = snapshot_text(inventory, report);
	gpumap_inventory_free(inventory);
	if (!again && !text)
		return STATUS_OWN_FAILURE;
	unsetenv("GPUMAP_PRETEND_INVENTORY");
	unsetenv("GPUMAP_PRETEND_TEXT");
	ok = setenv(again ? "GPUMAP_PRETEND_INVENTORY" : "GPUMAP_PRETEND_TEXT", again ? path : text,
		    1) == 0;
	free(text);
	return ok ? STATUS_ANSWERED : own_failure(report, NULL, strerror(errno), NULL);
}

/* Puts the folder of gpumap's library before those that the program searches anyway. */
static int prepare_path(gpumap_report *report)
{
	const char *before = getenv("LD_LIBRARY_PATH");
	char library[PATH_MAX], *path;
	bool ok;

	if (!installed_path(library, sizeof(library), "pretend/.libs/libnvidia-ml.so.1",
			    PRETENDDIR "/libnvidia-ml.so.1"))
		return own_failure(report, library, "the pretended library is missing",
				   "install gpumap with make install");
	*strrchr(library, '/') = '\0';
	if (strpbrk(library, ":;"))
		return own_failure(report, library,
				   "the dynamic linker takes no folder with : or ; in its name",
				   "install gpumap elsewhere");
	if (asprintf(&path, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") <
	    0)
		return own_failure(report, NULL, strerror(ENOMEM), NULL);
	ok = setenv("LD_LIBRARY_PATH", path, 1) == 0;
	free(path);
	return ok ? STATUS_ANSWERED : own_failure(report, NULL, strerror(errno), NULL);
}

/* --- its leases ------------------------------------------------------------------------- */

/* A descendant may still hold a lease. */
static int stop_at_lock(const char *path, const struct stat *about, int type, struct FTW *where)
{
	int fd, free_now;

	(void)about;
	(void)where;
	if (type != FTW_F)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free_now = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (fd >= 0)
		close(fd);
	return !free_now;
}

static int drop(const char *path, const struct stat *about, int type, struct FTW *where)
{
	(void)about;
	(void)type;
	(void)where;
	return remove(path);
}

/* Whether this folder was made for a process of this user that has ended. */
static bool is_left(const char *path)
{
	const char *name = file_name(path);
	struct span id, rest;
	struct stat about;
	int64_t pid;

	if (!starts_with(name, OWN_LEASES))
		return false;
	rest = span_of(name + strlen(OWN_LEASES));
	pid = span_split(&rest, '-', &id) ? span_number(id, INT32_MAX) : -1;
	/* Others cannot write in a folder of mode 0700, so its entries do not change under nftw. */
	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH && lstat(path, &about) == 0 &&
	       S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       (about.st_mode & 0777) == S_IRWXU;
}

static void remove_left(const char *temporary)
{
	char path[PATH_MAX];
	DIR *folder = opendir(temporary);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int n = snprintf(path, sizeof(path), "%s/%s", temporary, entry->d_name);

		if (n < (int)sizeof(path) && is_left(path) &&
		    nftw(path, stop_at_lock, 4, FTW_PHYS) == 0)
			nftw(path, drop, 4, FTW_PHYS | FTW_DEPTH);
	}
	if (folder)
		closedir(folder);
}

/* No process stays to remove the folder, so the next that pretends removes it. Without one, or with
 * GPUMAP_LEASES, leases are shared. */
static void have_own_leases(void)
{
	const char *shared = getenv("GPUMAP_LEASES"), *temporary = temporary_folder();
	char path[PATH_MAX];

	if (shared && *shared)
		return;
	remove_left(temporary);
	if (snprintf(path, sizeof(path), "%s/" OWN_LEASES "%d-XXXXXX", temporary, (int)getpid()) <
		    (int)sizeof(path) &&
	    mkdtemp(path) && setenv("GPUMAP_LEASES", path, 1) < 0)
		rmdir(path);
}

/* --- the command ------------------------------------------------------------------------ */

static int without_machine(gpumap_report *report, const char *operand)
{
	char fix[128] = "write for example --inventory 8xH100";
	const char *end = operand ? strrchr(operand, '.') : NULL;

	if (operand && (is_digit(*operand) || (end && (streq(end, ".txt") || streq(end, ".ini")))))
		snprintf(fix, sizeof(fix), "write gpumap pretend --inventory %.64s -- PROGRAM",
			 QUOTE(span_of(operand)));
	return malformed(report, "which machine? --inventory is missing", fix);
}

/* Reads options up to the program, which has options of its own; argv is then at its name. If the
 * result is not STATUS_ANSWERED, or there is no machine after --help, the command ends here. */
static int read_options(struct output *output, int argc, char ***argv, const char **what)
{
	struct options options;
	bool failed = false;
	const char *name;

	*what = NULL;
	options_init(&options, "pretend", pretend_rows, NO_KEYS, argc, *argv);
	while ((name = options_next(&options, output->report, &failed)) && *name) {
		if (streq(name, "--help")) {
			help(&options);
			*what = NULL;
			return STATUS_ANSWERED;
		}
		if (streq(name, "--inventory"))
			*what = options.value;
		else
			output_option(output, name, options.value, &failed);
		if (failed)
			break;
	}
	if (failed)
		return STATUS_MALFORMED;
	if (!*what)
		return without_machine(output->report, name ? options.operand : NULL);
	if (!name)
		return malformed(output->report, "no program is named",
				 "write for example -- nvitop -1");
	*argv += options.index - 1;
	return STATUS_ANSWERED;
}

/* nvidia-smi belongs to the driver, so a machine without GPUs does not have it. */
static const char *missing_remedy(struct remedy *ret, const char *program)
{
	const char *machine = getenv("GPUMAP_PRETEND_INVENTORY");
	struct strbuf word = {0};

	if (!streq(file_name(program), "nvidia-smi"))
		return "install it, or give its path";
	words_quote(&word, machine && strlen(machine) < 128 ? machine : "FILE");
	snprintf(
		ret->text, sizeof(ret->text),
		"it comes with NVIDIA's driver; gpumap inventory --inventory %s lists this machine",
		word.text ? word.text : "FILE");
	strbuf_free(&word);
	return ret->text;
}

/* Returns only when the program cannot be started. */
static int run(char **argv)
{
	struct output output = {0};
	struct remedy remedy;
	int why;

	execvp(*argv, argv);
	why = errno;
	if (report_begin(&output.report))
		report_add(output.report, FINDING_PRETEND,
			   ABOUT(.fix = why == ENOENT ? missing_remedy(&remedy, *argv) : NULL),
			   "cannot run '%s': %s", QUOTE(span_of(*argv)), strerror(why));
	print_report(&output, 0);
	gpumap_report_free(output.report);
	return status_of_error(why);
}

int cmd_pretend(int argc, char **argv)
{
	struct output output = {0};
	const char *what;
	int status;

	if (!report_begin(&output.report))
		return STATUS_OWN_FAILURE;
	status = read_options(&output, argc, &argv, &what);
	if (status == STATUS_ANSWERED && what)
		status = hand_over(what, output.report);
	if (status == STATUS_ANSWERED && what)
		status = prepare_path(output.report);
	if (status == STATUS_ANSWERED && what)
		have_own_leases();
	if (status == STATUS_ANSWERED && !what)
		return finish(&output, GPUMAP_OK, true);
	print_report(&output, 0);
	gpumap_report_free(output.report);
	return status == STATUS_ANSWERED ? run(argv) : status;
}
