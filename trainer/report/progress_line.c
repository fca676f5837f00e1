/* SPDX-License-Identifier: MIT */
/* A line of progress that fits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/progress.h"
#include "report/format.h"

#define ACCURACY_FORMAT "%.1f %%"

enum { PART = 64, BAR_LEAST = 10, MAX_BAR = 34, GAP = 2 };

/* The parts in their order on the line. */
enum part { EPOCH, BAR, PLACE, LOSS, ACCURACY, RATE, LEFT, SLOWEST, PARTS };

/* In the order of importance. */
static const enum part order[] = {EPOCH, PLACE, LOSS, LEFT, ACCURACY, RATE, BAR, SLOWEST};

struct parts {
	char text[PARTS][PART];
	bool taken[PARTS];
};

static void fill(struct parts *parts, const struct progress_state *state)
{
	char number[NUMBER_TEXT], total[NUMBER_TEXT];

	if (state->seconds > 0)
		snprintf(parts->text[EPOCH], PART, "burn %s of %s",
			 number_time(number, state->elapsed), number_time(total, state->seconds));
	else if (state->epochs > 0)
		snprintf(parts->text[EPOCH], PART, "epoch %" PRId64 "/%" PRId64, state->epoch + 1,
			 state->epochs);
	else
		snprintf(parts->text[EPOCH], PART, "epoch %" PRId64, state->epoch + 1);
	if (state->places > 0)
		snprintf(parts->text[PLACE], PART, "%" PRId64 "/%" PRId64, state->place,
			 state->places);
	else if (state->place >= 0)
		snprintf(parts->text[PLACE], PART, "step %" PRId64, state->place);
	snprintf(parts->text[LOSS], PART, "loss %s", number_loss(number, state->loss));
	if (isfinite(state->accuracy))
		snprintf(parts->text[ACCURACY], PART, "acc " ACCURACY_FORMAT,
			 100 * state->accuracy);
	if (isfinite(state->rate))
		snprintf(parts->text[RATE], PART, state->rate < 10 ? "%.2f img/s" : "%.0f img/s",
			 state->rate);
	if (isfinite(state->left) && state->left >= 0)
		snprintf(parts->text[LEFT], PART, "%s left", number_time(number, state->left));
	if (state->slowest)
		snprintf(parts->text[SLOWEST], PART, "%s", state->slowest);
}

static void draw_bar(char *bar, int columns, const struct progress_state *state)
{
	double part = state->seconds > 0 ? state->elapsed / state->seconds
					 : (double)state->place / (double)state->places;
	int inside = columns - 2, done = (int)(inside * fmin(part, 1));

	if (done > inside)
		done = inside;
	bar[0] = '[';
	for (int i = 0; i < inside; i++)
		bar[1 + i] = i < done ? '=' : ' ';
	if (done < inside)
		bar[1 + done] = '>';
	bar[columns - 1] = ']';
	bar[columns] = '\0';
}

int progress_line(char line[PROGRESS_WIDEST + 1], int columns, bool bar,
		  const struct progress_state *state)
{
	struct parts parts = {.taken = {false}};
	int room, used = 0;

	if (columns > PROGRESS_WIDEST)
		columns = PROGRESS_WIDEST;
	room = columns + GAP;
	fill(&parts, state);
	bar = bar && (state->places > 0 || state->seconds > 0);
	for (int i = 0; i < PARTS; i++) {
		enum part part = order[i];
		int length = part == BAR && bar ? BAR_LEAST : (int)strlen(parts.text[part]);

		/* The number alone says more than nothing. */
		if (part == ACCURACY && length && length + GAP > room) {
			length = snprintf(parts.text[part], PART, ACCURACY_FORMAT,
					  100 * state->accuracy);
		}
		parts.taken[part] = length > 0 && length + GAP <= room;
		if (parts.taken[part])
			room -= length + GAP;
	}
	if (parts.taken[BAR])
		draw_bar(parts.text[BAR], BAR_LEAST + room < MAX_BAR ? BAR_LEAST + room : MAX_BAR,
			 state);
	line[0] = '\0';
	for (int part = 0; part < PARTS; part++)
		if (parts.taken[part])
			used += snprintf(line + used, (size_t)(PROGRESS_WIDEST + 1 - used), "%s%s",
					 used ? "  " : "", parts.text[part]);
	return used;
}
