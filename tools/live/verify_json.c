/* SPDX-License-Identifier: MIT */
/* gpumap verify as JSON, schema 1. */
#include "live/verify.h"

#include "explain/json.h"
#include "inventory/inventory.h"

static json_t *device_json(struct verify_device device)
{
	return JSON_OBJECT({"physical", json_number(device.physical)},
			   {"mig", json_number(device.mig)});
}

static json_t *use_json(const struct verify_rank *rank, const struct verify_use *use)
{
	return JSON_OBJECT({"physical", json_number(use->device.physical)},
			   {"mig", json_number(use->device.mig)}, {"pid", json_number(use->pid)},
			   {"memory_bytes", json_number(use->memory)},
			   {"planned", rank->own_unknown
					       ? json_null()
					       : json_boolean(verify_is_own(rank, use->device))});
}

static json_t *variables_json(const struct verify_rank *rank, bool now)
{
	json_t *o = json_object();

	for (int i = 0; i < VERIFY_VARIABLES; i++)
		json_put(&o, verify_variables[i],
			 json_text(now ? rank->variables[i].now : rank->variables[i].planned));
	return o;
}

static json_t *differences_json(const struct verify_rank *rank)
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
			json_push(&array, json_string(words[i].word));
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

static json_t *rank_json(const struct verify *v, const struct verify_rank *rank)
{
	bool seen = v->run && rank->process == VERIFY_ALIVE && rank->list != VERIFY_LIST_UNSEEN;
	bool ended = rank->process == VERIFY_ENDED;

	return JSON_OBJECT(
		{"rank", json_number(rank->rank)},
		{"pid", rank->pid ? json_number(rank->pid) : json_null()},
		{"state", json_string(verify_state_word(rank->state))},
		{"differences", differences_json(rank)},
		{"gpus", rank->own_unknown
				 ? json_null()
				 : JSON_LIST(i, rank->own_count, device_json(rank->own[i]))},
		{"memory", v->no_usage
				   ? json_null()
				   : JSON_LIST(i, rank->use_count, use_json(rank, &rank->uses[i]))},
		{"planned", v->run ? variables_json(rank, false) : json_null()},
		{"environment", seen ? variables_json(rank, true) : json_null()},
		{"status", ended ? json_number(rank->status) : json_null()},
		{"signal", ended && rank->signal ? json_number(rank->signal) : json_null()});
}

void verify_json(struct strbuf *buf, const struct verify *v, const gpumap_report *report)
{
	const gpumap_inventory *inventory = v->ps.inventory;

	json_dump(buf,
		  JSON_DOCUMENT("verify", {"host", json_text(inventory ? inventory->host : NULL)},
				{"date", json_text(inventory ? inventory->date : NULL)},
				{"driver", json_text(inventory ? inventory->driver : NULL)},
				{"run", json_text(v->run)},
				{"right", json_boolean(verify_is_right(v))},
				{"ranks", JSON_LIST(i, v->count, rank_json(v, &v->ranks[i]))},
				{"findings", json_findings(report)}));
}
