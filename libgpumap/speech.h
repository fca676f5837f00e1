/* SPDX-License-Identifier: MIT */
/*
 * Settings in messages, in the language of where they come from: SETTING("share = list") is
 * `share = list` for a file, `--share list` for the command line and GPUMAP_SHARE=list for the
 * environment.
 */
#ifndef GM_SPEECH_H
#define GM_SPEECH_H

#include "text.h"

/* A setting's name, or its name and value, inside a message's text or remedy. */
#define SETTING(text) "\1" text "\2"

/* Where settings come from, of those that a message is about. */
struct speech {
	/* "--share", "GPUMAP_SHARE" or a file; NULL: nothing says it. */
	const char *(*origin)(const void *data, struct span key);
	const void *data;
	bool options; /* what nothing says is an option: no file is in use */
};

/* Whether an origin is of the command line or the environment, not of a file. */
bool speech_of_command(const char *origin);
/* Whether it is a line of the program, "train.py:4", from which the value was read. */
bool speech_of_program(const char *origin);

/* A text says what was written; a remedy, what to write: an option wins over a file. */
enum speech_part { SPEECH_TEXT, SPEECH_REMEDY };

/* Appends a text or a remedy. A setting that nothing says has the language of `origin`, the
 * message's. The one that the message begins with is left out where `origin` has named it.
 * `speech` and `origin` may be NULL. */
void speech_put(struct strbuf *buf, const char *text, enum speech_part part, const char *origin,
		const struct speech *speech);

#endif
