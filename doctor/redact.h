/* SPDX-License-Identifier: MIT */
/* Takes user names, host names and home folders out of texts, so that a report can be published. */
#ifndef GM_REDACT_H
#define GM_REDACT_H

#include "facts.h"

struct discreet {
	bool all; /* leaves texts as they are */
	/* NULL: not known, or nothing private */
	const char *home, *users[4], *host, *short_host;
};

/* The names are of this process, or of a recorded machine. */
struct discreet discreet_names(struct facts *facts, bool all);

/* The text without them, in the arena. NULL for NULL. */
const char *discreet_text(const struct discreet *names, struct arena *arena, const char *text);

#endif
