/* SPDX-License-Identifier: MIT */
/* The table of checks. */
#include "check.h"

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

void judge(const struct check *check, const struct facts *facts, struct arena *arena,
	   struct verdict *ret)
{
	*ret = (struct verdict){.arena = arena, .outcome = OUTCOME_MOOT};
	check->judge(facts, ret);
}
