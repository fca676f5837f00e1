/* SPDX-License-Identifier: MIT */
/* Why a recorded inventory may be partial, or is not of this kind. */
#include "inventory/recorded.h"

static PRINTF(4, 0) void set_reason(struct recorded *r, struct reason *reason, const char *fix,
				    const char *format, va_list args)
{
	reason->line = r->line;
	reason->fix = fix;
	reason->text = arena_vprintf(&r->arena, format, args);
}

void recorded_partial(struct recorded *r, const char *fix, const char *format, ...)
{
	va_list args;

	r->inventory->partial = true;
	if (r->partial_count == ARRAY_SIZE(r->partial))
		return;
	va_start(args, format);
	set_reason(r, &r->partial[r->partial_count++], fix, format, args);
	va_end(args);
}

void recorded_foreign(struct recorded *r, const char *fix, const char *format, ...)
{
	va_list args;

	if (r->foreign.text)
		return;
	va_start(args, format);
	set_reason(r, &r->foreign, fix, format, args);
	va_end(args);
}
