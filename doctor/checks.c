/* SPDX-License-Identifier: MIT */
/* The table of checks. */
#include "check.h"
#include "strbuf.h"

static const struct check checks[] = {
#define CHECK(name, function, title, source) {FINDING_##name, title, source, function},
#include "checks.def"
#undef CHECK
};

const struct check *check_get(size_t i)
{
	return i < ARRAY_SIZE(checks) ? &checks[i] : NULL;
}

size_t check_count(void)
{
	return ARRAY_SIZE(checks);
}

/* The remedy with its parts for the host named so if this is a container. */
static const char *placed(const struct facts *facts, struct arena *arena, const char *fix)
{
	struct strbuf text = {0};

	for (const char *at = fix; *at; at++)
		if (*at != *ON_HOST)
			strbuf_add(&text, at, 1);
		else if (facts->container.sight == SEEN)
			strbuf_puts(&text, at == fix ? "on the host: " : "on the host ");
	return strbuf_keep(&text, arena);
}

void judge(const struct check *check, const struct facts *facts, struct arena *arena,
	   struct verdict *ret)
{
	*ret = (struct verdict){.arena = arena, .outcome = OUTCOME_MOOT};
	check->judge(facts, ret);
	if (ret->outcome == OUTCOME_WRONG && ret->fix)
		ret->fix = placed(facts, arena, ret->fix);
}
