/* SPDX-License-Identifier: MIT */
/* gpumap verify as JSON, schema 1. */
#include "live/verify.h"

#include "explain/json.h"
#include "inventory/inventory.h"

static json_t *device_json(struct verify_device device, bool *failed)
{
	return JSON_OBJECT(failed, {"physical", json_number(device.physical)},
			   {"mig", json_number(device.mig)});
}

static json_t *own_json(const struct verify_rank *rank, bool *failed)
{
	json_t *array;

	if (rank->own_unknown)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < rank->own_count; i++)
		json_push(array, device_json(rank->own[i], failed), failed);
	return array;
}

static json_t *uses_json(const struct verify_rank *rank, bool *failed)
{
	json_t *array = json_array();

	for (size_t i = 0; i < rank->use_count; i++) {
		const struct verify_use *use = &rank->uses[i];
		json_t *o = device_json(use->device, failed);

		json_put(o, "pid", json_number(use->pid), failed);
		json_put(o, "memory_bytes", json_number(use->memory), failed);
		json_put(o, "planned",
			 rank->own_unknown ? json_null()
					   : json_boolean(verify_is_own(rank, use->device)),
			 failed);
		json_push(array, o, failed);
	}
	return array;
}

static json_t *variables_json(const struct verify_rank *rank, bool now, bool *failed)
{
	json_t *o = json_object();

	for (int i = 0; i < VERIFY_VARIABLES; i++)
		json_put(o, verify_variables[i],
			 json_text(now ? rank->variables[i].now : rank->variables[i].planned),
			 failed);
	return o;
}

static json_t *differences_json(const struct verify_rank *rank, bool *failed)
{
	static const struct {
		unsigned difference;
		const char *word;
	} words[] = {
		{VERIFY_DEAD, "dead"},
		{VERIFY_CHANGED, "list"},
		{VERIFY_ELSEWHERE, "elsewhere"},
		{VERIFY_STRAY, "stray"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (rank->differences & words[i].difference)
			json_push(array, json_string(words[i].word), failed);
	return array;
}

const char *verify_state_word(enum verify_state state)
{
	static const char *const words[] = {
		[VERIFY_RIGHT] = "right",   [VERIFY_OVER] = "ended",  [VERIFY_UNUSED] = "unused",
		[VERIFY_HIDDEN] = "hidden", [VERIFY_WRONG] = "wrong",
	};

	return words[state];
}

static json_t *rank_json(const struct verify *v, const struct verify_rank *rank, bool *failed)
{
	bool seen = v->run && rank->process == VERIFY_ALIVE && rank->list != VERIFY_LIST_UNSEEN;
	bool ended = rank->process == VERIFY_ENDED;

	return JSON_OBJECT(
		failed, {"rank", json_number(rank->rank)},
		{"pid", rank->pid ? json_number(rank->pid) : json_null()},
		{"state", json_string(verify_state_word(rank->state))},
		{"differences", differences_json(rank, failed)}, {"gpus", own_json(rank, failed)},
		{"memory", v->no_usage ? json_null() : uses_json(rank, failed)},
		{"planned", v->run ? variables_json(rank, false, failed) : json_null()},
		{"environment", seen ? variables_json(rank, true, failed) : json_null()},
		{"status", ended ? json_number(rank->status) : json_null()},
		{"signal", ended && rank->signal ? json_number(rank->signal) : json_null()});
}

void verify_json(struct strbuf *buf, const struct verify *v, const gpumap_report *report)
{
	const gpumap_inventory *inventory = v->ps.inventory;
	json_t *ranks = json_array(), *o;
	bool failed = false;

	for (size_t i = 0; i < v->count; i++)
		json_push(ranks, rank_json(v, &v->ranks[i], &failed), &failed);
	o = JSON_OBJECT(&failed, JSON_HEAD("verify"),
			{"host", json_text(inventory ? inventory->host : NULL)},
			{"date", json_text(inventory ? inventory->date : NULL)},
			{"driver", json_text(inventory ? inventory->driver : NULL)},
			{"run", json_text(v->run)}, {"right", json_boolean(verify_is_right(v))},
			{"ranks", ranks}, {"findings", json_findings(report, &failed)});
	json_dump(buf, o, failed);
}
