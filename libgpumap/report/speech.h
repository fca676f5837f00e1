/* SPDX-License-Identifier: MIT */
/*
 * Settings in messages are written as at their origin: SETTING("share = list") is `share = list`
 * for a file, `--share list` for the command line and GPUMAP_SHARE=list for the environment.
 */
#ifndef GM_SPEECH_H
#define GM_SPEECH_H

#include "text.h"

/* A setting's name, or its name and value, inside a message's text or remedy. */
#define SETTING(text) "\1" text "\2"

/* The origins of the settings that a message is about. */
struct speech {
	/* "--share", "GPUMAP_SHARE" or a file; NULL: it is a default. */
	const char *(*origin)(const void *data, struct span key);
	const void *data;
	bool options; /* no file is in use, so defaults are written as options */
};

/* Whether an origin is the command line or the environment, not a file. */
bool speech_of_command(const char *origin);
/* Whether an origin is a line of the program, "train.py:4", from which the value was read. */
bool speech_of_program(const char *origin);

/* A text shows a setting as it was written, a remedy as the user should write it. In a remedy an
 * option wins over a file. */
enum speech_part { SPEECH_TEXT, SPEECH_FIX };

/* Appends a text or a remedy. `origin` is the origin of the message, and decides how a default is
 * written. A setting at the beginning of the message is left out if `origin` has named it. `speech`
 * and `origin` may be NULL. */
void speech_put(struct strbuf *buf, const char *text, enum speech_part part, const char *origin,
		const struct speech *speech);

#endif
