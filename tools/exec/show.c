/* SPDX-License-Identifier: MIT */
/* The output of --dry-run. */
#include "exec.h"

#include "explain/json.h"
#include "text/words.h"

/* --- text -------------------------------------------------------------------------------- */

static void put_of(struct strbuf *buf, const char *what, int64_t n, int64_t of)
{
	if (n < 0)
		return;
	strbuf_printf(buf, "%s%s %lld", buf->length ? ", " : "", what, (long long)n);
	if (of >= 0)
		strbuf_printf(buf, " of %lld", (long long)of);
}

static void put_line(struct strbuf *buf, const char *what, const char *text)
{
	if (!text)
		return;
	strbuf_printf(buf, "  %-7s ", what);
	escape_all(buf, text);
	strbuf_puts(buf, "\n");
}

static void put_change(struct strbuf *buf, const struct exec_change *change)
{
	CLEANUP(strbuf_free) struct strbuf line = {0};

	strbuf_puts(&line, change->name);
	if (change->value)
		strbuf_puts(&line, "=");
	if (change->value && *change->value)
		words_quote(&line, change->value);
	put_line(buf, change->value ? "set" : "unset", line.text);
}

static void put_arguments(struct strbuf *buf, char *const *arguments)
{
	CLEANUP(strbuf_free) struct strbuf line = {0};

	for (; *arguments; arguments++) {
		strbuf_puts(&line, line.length ? " " : "");
		words_quote(&line, *arguments);
	}
	put_line(buf, "run", line.text);
}

/* A setting of this rank. */
static const struct plan_setting *setting_of(const struct exec *exec, enum profile_key_id id)
{
	return job_setting(exec->plan, id, exec->rank.row);
}

static void put_text(struct strbuf *buf, const struct exec *exec)
{
	const struct job_rank *rank = &exec->rank;

	put_of(buf, "rank", rank->rank, rank->world_size);
	put_of(buf, "local rank", rank->local_rank, rank->local_size);
	put_of(buf, "node", rank->node, rank->nodes);
	strbuf_printf(buf, " (%s)\n\n", exec->row ? exec->row : "options");
	for (size_t i = 0; i < exec->change_count; i++)
		put_change(buf, &exec->changes[i]);
	put_line(buf, "cpus", exec->local.cpus);
	put_line(buf, "memory", exec->launch.mem_nodes ? exec->local.nodes : NULL);
	put_line(buf, "folder", exec->launch.folder);
	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++)
		if ((profile_key(i)->use & OF_PROCESS) &&
		    !setting_is_default(i, setting_of(exec, i)))
			put_line(buf, profile_key(i)->key.name, setting_of(exec, i)->text);
	put_arguments(buf, exec->arguments);
}

/* --- JSON --------------------------------------------------------------------------------- */

static json_t *variables(const struct exec *exec)
{
	return JSON_LIST(i, exec->change_count,
			 JSON_OBJECT({"name", json_text(exec->changes[i].name)},
				     {"value", json_text(exec->changes[i].value)}));
}

static json_t *settings(const struct exec *exec)
{
	json_t *object = json_object();

	for (enum profile_key_id i = SETTING_FIRST; exec->plan && i < SETTING_END; i++)
		if (profile_key(i)->use & EXEC_DOES)
			json_put(&object, profile_key(i)->key.name,
				 json_text(setting_of(exec, i)->text));
	return object;
}

static void put_json(struct strbuf *buf, const struct exec *exec, const gpumap_report *report)
{
	static const struct exec none = {.rank = {.rank = -1,
						  .world_size = -1,
						  .local_rank = -1,
						  .local_size = -1,
						  .node = -1,
						  .nodes = -1}};
	const struct job_rank *rank;
	json_t *o;

	exec = exec ? exec : &none;
	rank = &exec->rank;
	o = JSON_DOCUMENT(
		"exec", {"kind", json_string("exec")}, {"launcher", json_text(exec->row)},
		{"rank", json_number(rank->rank)}, {"world_size", json_number(rank->world_size)},
		{"local_rank", json_number(rank->local_rank)},
		{"local_size", json_number(rank->local_size)}, {"node", json_number(rank->node)},
		{"nodes", json_number(rank->nodes)}, {"environment", variables(exec)},
		{"cpus", json_text(exec->local.cpus)},
		{"memory_nodes", json_text(exec->launch.mem_nodes ? exec->local.nodes : NULL)},
		{"workdir", json_text(exec->launch.folder)},
		{"arguments", json_texts(exec->arguments)}, {"settings", settings(exec)},
		{"findings", json_findings(report)});
	json_dump(buf, o);
}

char *exec_text(const struct exec *exec, const gpumap_report *report, enum gpumap_format format)
{
	struct strbuf buf = {0};

	if (format == GPUMAP_FORMAT_JSON)
		put_json(&buf, exec, report);
	else
		put_text(&buf, exec);
	return strbuf_take(&buf);
}
