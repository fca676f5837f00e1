/* SPDX-License-Identifier: MIT */
/*
 * What gpumap-train understood, for tests/trainer/cli/settings.test and place.test:
 *	settings-main settings OPTIONS	each setting
 *	settings-main place OPTIONS	devices and ranks
 *	settings-main explain OPTIONS	what was assumed of them
 *	settings-main OPTIONS		no more than the options themselves do: --help
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "place/place.h"
#include "settings/rows.h"

static void print_row(const struct row *row, const struct settings *settings)
{
	const void *member = (const char *)settings + row->offset;
	const char *text;

	printf("%s=", row->name);
	switch (row->kind) {
	case ROW_TEXT:
	case ROW_CHOICE:
		text = *(const char *const *)member;
		puts(text ? text : "-");
		break;
	case ROW_WORD:
	case ROW_INT:
		printf("%d\n", *(const int *)member);
		break;
	case ROW_COUNT:
	case ROW_TIME:
		printf("%lld\n", (long long)*(const int64_t *)member);
		break;
	case ROW_SEED:
		printf("%llu\n", (unsigned long long)*(const uint64_t *)member);
		break;
	case ROW_NUMBER:
		printf("%.10g\n", *(const double *)member);
		break;
	case ROW_FLAG:
		puts(*(const bool *)member ? "yes" : "no");
		break;
	}
}

static void print_place(const struct place *place)
{
	for (int i = 0; i < place->count; i++)
		printf("%s%d:%d%s%s", i ? " " : "", place->devices[i].logical,
		       place->devices[i].physical, *place->devices[i].uuid ? ":" : "",
		       place->devices[i].uuid);
	printf(" master=%d rank=%d/%d local=%d/%d ranks=%d launcher=%s rendezvous=%s\n",
	       place->master, place->rank, place->world, place->local_rank, place->local_world,
	       place->ranks, *place->launcher ? place->launcher : "-",
	       *place->rendezvous ? place->rendezvous : "-");
}

static int fail(const struct train_error *error)
{
	fprintf(stderr, "gpumap-train: %s\n", error->text);
	return (int)error->status;
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	const char *what = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
	struct command_line command;
	struct place place;
	int skip = *what != '\0';

	if (!settings_read(&command, argc - skip, argv + skip, (const char *const *)environ,
			   &error))
		return fail(&error);
	for (int i = 0; i < ROWS && strcmp(what, "settings") == 0 && !command.asked; i++)
		print_row(&rows[i], &command.settings);
	if ((strcmp(what, "place") == 0 || strcmp(what, "explain") == 0) && !command.asked) {
		if (!place_rank(&place, &command, &error) ||
		    !place_devices(&place, &command, &error)) {
			settings_free(&command);
			return fail(&error);
		}
		if (*what == 'e')
			printf("assumption: %s\n", place.assumption);
		else
			print_place(&place);
	}
	settings_free(&command);
	return 0;
}
