/* SPDX-License-Identifier: MIT */
/* mpirun of Open MPI 4 and 5: one command, gpumap exec inside. */
#include "emit/emit.h"

enum { MAX_HOSTS = 64 }; /* on the command line */

static char *host_lines(struct emitter *e)
{
	struct strbuf lines = {0};

	for (size_t i = 0; i < e->node_count; i++)
		strbuf_printf(&lines, "%s slots=%zu\n", e->nodes[i].host->name, e->nodes[i].ranks);
	return strbuf_take(&lines);
}

static char *host_list(struct emitter *e)
{
	struct strbuf list = {0};

	for (size_t i = 0; i < e->node_count; i++)
		strbuf_printf(&list, "%s%s:%zu", i ? "," : "",
			      emit_named(e) ? e->nodes[i].host->name : "localhost",
			      e->nodes[i].ranks);
	return strbuf_take(&list);
}

static void put_hosts(struct emitter *e)
{
	CLEANUP_FREE char *list = NULL;

	if (e->node_count > MAX_HOSTS) {
		emit_pair(e, "--hostfile", EMIT_HOST_FILE);
		return;
	}
	list = host_list(e);
	e->out.failed = e->out.failed || !list;
	emit_pair(e, "--host", list ? list : "");
}

/* The same number on each host is an option. Otherwise slots, filled in the order of the hosts,
 * place the ranks. A rankfile would bind them to cores too. */
static void put_map(struct emitter *e)
{
	if (emit_unlike(e))
		emit_pair(e, "--map-by", "slot");
	else
		emit_pairf(e, "--map-by", "ppr:%zu:node", e->nodes[0].ranks);
	emit_pair(e, "--bind-to", "none");
}

static void put_variables(struct emitter *e, const struct emit_variables *variables)
{
	for (size_t i = 0; i < variables->count; i++)
		if (variables->all[i].value)
			emit_pair(e, "-x", variables->all[i].name);
}

static void put_command(struct emitter *e)
{
	const char *workdir = e->plan->settings.workdir.text;
	long long timeout = emit_seconds(e, PKEY_PROFILE_timeout);
	struct emit_variables variables;

	emit_variables(&variables, e, &e->nodes[0], 0, false);
	emit_without(&variables, "OMP_NUM_THREADS"); /* gpumap exec counts a rank's cores */
	emit_prefix(e, &variables);
	emit_word(e, "mpirun");
	emit_pairf(e, "-np", "%zu", e->ranks);
	put_hosts(e);
	put_map(e);
	if (!e->inside && !streq(workdir, "."))
		emit_pair(e, "--wdir", workdir);
	if (timeout)
		emit_pairf(e, "--timeout", "%lld", timeout);
	put_variables(e, &variables);
	emit_exec(e, e->inside ? 0 : emit_port(e));
	emit_end(e);
}

void emit_mpirun(struct emitter *e)
{
	/* It ends the others when a rank fails, and forwards USR1 and USR2, whatever is set. */
	bool kills = emit_on_fail(e) == PLAN_ON_FAIL_KILL;
	const enum profile_key_id kept[] = {
		PKEY_PROFILE_timeout,
		kills ? PKEY_PROFILE_on_fail : PKEY_COUNT,
		emit_forwards_only_users(e) ? PKEY_PROFILE_forward : PKEY_COUNT,
	};

	if (!emit_has_names(e))
		return;
	/* A list that is the same everywhere is passed on; otherwise the plan has each host's list.
	 */
	e->inside = e->inside || emit_lists_differ(e);
	emit_plan_file(e);
	if (e->node_count > MAX_HOSTS)
		emit_file(e, EMIT_HOST_FILE, host_lines(e));
	put_command(e);
	emit_loses(e, true, kept, ARRAY_SIZE(kept));
	emit_remark(e, FINDING_LAUNCHER_NEEDS, "install gpumap on every host",
		    "the command starts the ranks with gpumap exec, because Open MPI assigns no "
		    "GPUs to ranks");
	if (e->node_count > 1)
		emit_remark(e, FINDING_LAUNCHER_ENVIRONMENT, "set them in [env]",
			    "variables of this shell that -x does not name are not passed on to "
			    "other hosts");
}
