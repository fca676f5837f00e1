/* SPDX-License-Identifier: MIT */
/* Prints --help and --version. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "settings/arguments_raw.h"

enum { COLUMN = 28, WIDTH = 80 - COLUMN };

static const char beginning[] =
	"usage: gpumap-train [OPTIONS]\n"
	"\n"
	"Trains an image model on one or several devices, and shows which physical GPU\n"
	"each device is. By default the devices are simulated on the CPU, so no GPU is\n"
	"needed.\n"
	"\n"
	"  gpumap-train                               convnet on generated images\n"
	"  gpumap-train --mode ddp --inventory 4      four ranks on simulated devices\n"
	"  gpumap-train --mode dp --visible 2,3,4,5 --data cifar-10-batches-bin\n"
	"  gpumap-train --checkpoint saved --resume   continue an earlier run\n"
	"  gpumap run --inventory 4 --device cuda:%l -- gpumap-train --mode ddp\n"
	"                                             four ranks as processes\n";

static const char ending[] =
	"\n"
	"An option with [=yes|no] alone means yes; --no-augment is --augment=no. Each\n"
	"option except --no-pad and the last four is also a key of a [trainer NAME]\n"
	"section of gpumap.ini(5), such as global_batch = 256. Options win over variables\n"
	"such as GPUMAP_MODE, and variables win over the section.\n"
	"\n"
	"Exit status: 0 trained, 1 failed, 2 malformed input, 3 this build does not have\n"
	"the backend.\n";

/* The text of the second column, wrapped. */
static void print_row(const char *left, const char *text)
{
	if (strlen(left) > COLUMN - 4)
		printf("  %s\n%*s", left, COLUMN, "");
	else
		printf("  %-*s", COLUMN - 2, left);
	while (strlen(text) > WIDTH) {
		int length = WIDTH;

		while (length > 1 && text[length] != ' ')
			length--;
		printf("%.*s\n%*s", length, text, COLUMN, "");
		text += length + 1;
	}
	puts(text);
}

/* An option with its value, which may be NULL or left out for a yes. */
static void print_option(const char *option, const char *value, const char *help)
{
	bool flag = value && strcmp(value, "yes|no") == 0;
	char left[256];

	snprintf(left, sizeof(left), "%s%s%s", option, flag || !value ? "" : " ",
		 flag    ? "[=yes|no]"
		 : value ? value
			 : "");
	print_row(left, help);
}

/* The help, what the option needs, and its default. */
static void print_setting(const struct row *row)
{
	bool initial = row->kind != ROW_FLAG && row->initial && *row->initial;
	char help[400], only[ROW_ONLY_TEXT];

	row_only(only, row);
	snprintf(help, sizeof(help), "%s%s%s%s%s%s%s", row->help, *only || initial ? " (" : "",
		 *only ? "with " : "", only, initial ? *only ? "; default " : "default " : "",
		 initial ? row->initial : "", *only || initial ? ")" : "");
	print_option(row->option, row->value, help);
}

static void print_group(enum row_group group)
{
	printf("\n%s\n", row_titles[group]);
	for (int i = 0; i < ROWS; i++) {
		if (rows[i].group != group)
			continue;
		print_setting(&rows[i]);
		for (const struct row_alias *alias = row_aliases; alias->option; alias++)
			if (alias->row == (enum row_id)i)
				print_row(alias->option, alias->help);
	}
}

static void print_keys(const struct arguments_raw *raw)
{
	puts("\nwhich device, with the options of gpumap explain");
	for (int i = 0; i < raw->keys_count; i++)
		print_option(raw->keys[i].option, raw->keys[i].value, raw->keys[i].help);
	for (const struct other_option *option = other_options; option->name; option++)
		print_option(option->name, option->value, option->help);
}

static bool printed(struct train_error *error)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	return train_fail(error, TRAIN_FAILED, "standard output cannot be written: %s",
			  strerror(errno));
}

bool settings_print_help(const struct arguments_raw *raw, struct train_error *error)
{
	fputs(beginning, stdout);
	for (int group = 0; group < ROW_GROUPS; group++)
		print_group((enum row_group)group);
	print_keys(raw);
	fputs(ending, stdout);
	return printed(error);
}

bool settings_print_version(struct train_error *error)
{
	printf("gpumap-train %s\n", gpumap_version());
	fputs("backends:", stdout);
	for (size_t i = 0; backend_name(i); i++)
		printf(" %s", backend_name(i));
	puts("\n"
	     "collectives: self shm peer"
#ifdef HAVE_MPI
	     " mpi"
#endif
#if defined(HAVE_CUDA_BACKEND) && defined(HAVE_NCCL)
	     " nccl"
#endif
	);
	return printed(error);
}
