/* SPDX-License-Identifier: MIT */
#include "plan_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/job.h"
#include "plan_hosts.h"
#include "report.h"
#include "words.h"

enum { MAX_RESTARTS = 1000000 };

static bool restarts(struct plan_options *options, const char *value, gpumap_report *report,
		     bool *failed)
{
	int64_t n = span_number(span_of(value), MAX_RESTARTS);

	if (n < 0) {
		report_add(report, FINDING_BAD_OPTION,
			   ABOUT(.origin = "--max-restarts", .fix = "write a number from 0"),
			   "cannot be '%s'", QUOTE(span_of(value)));
		*failed = true;
		return true;
	}
	snprintf(options->on_fail, sizeof(options->on_fail), n ? "restart:%lld" : "kill",
		 (long long)n);
	return profile_option(&options->profile, "--on-fail", options->on_fail);
}

/* On a machine with GPUs a rank for each core is rarely meant. */
static bool local_ranks(struct plan_options *options, const char *value, gpumap_report *report,
			bool *failed)
{
	if (!streq(value, "cpu") && !streq(value, "xpu"))
		return profile_option_as(&options->profile, "--ranks",
					 streq(value, "gpu") ? "auto" : value, "--nproc-per-node");
	report_add(report, FINDING_BAD_OPTION,
		   ABOUT(.origin = "--nproc-per-node",
			 .fix = "write a number, with --gpus none for ranks without GPUs"),
		   "cannot be '%s'", QUOTE(span_of(value)));
	*failed = true;
	return true;
}

/* Takes options for which torchrun has other names. */
static bool torchrun_option(struct plan_options *options, const char *name, const char *value,
			    gpumap_report *report, bool *failed)
{
	if (streq(name, "--nproc-per-node"))
		return local_ranks(options, value, report, failed);
	if (streq(name, "--max-restarts"))
		return restarts(options, value, report, failed);
	if (rendezvous_option(&options->rendezvous, name, value))
		return true;
	if (streq(name, "-r"))
		return profile_option_as(&options->profile, "--redirects", value, "-r");
	if (streq(name, "-t"))
		return profile_option_as(&options->profile, "--tee", value, "-t");
	if (!streq(name, "--standalone"))
		return false;
	options->standalone = true;
	return true;
}

bool plan_option(struct plan_options *options, const char *name, const char *value,
		 gpumap_report *report, bool *failed)
{
	if (streq(name, "--plan"))
		options->file = value;
	else if (streq(name, "--nnodes"))
		options->nnodes = value;
	else if (streq(name, "--node-rank"))
		options->node_rank = value;
	else if (streq(name, "-m") || streq(name, "--module"))
		options->module = name;
	else if (streq(name, "--no-python"))
		options->no_python = true;
	else
		return torchrun_option(options, name, value, report, failed) ||
		       profile_option(&options->profile, name, value);
	return true;
}

/* torchrun's MIN:MAX is a number if both are equal. */
static const char *plain_count(const char *nnodes)
{
	const char *colon = strchr(nnodes, ':');
	size_t length = colon ? (size_t)(colon - nnodes) : 0;

	return colon && span_is((struct span){nnodes, length}, colon + 1) ? colon + 1 : nnodes;
}

/* In a step of Slurm with one task on each node the task knows the node's number. */
static const char *slurm_node(int64_t nodes)
{
	static const char *const counts[] = {"SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"};
	const char *node = getenv("SLURM_NODEID");

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const char *count = getenv(counts[i]);

		if (!count || span_number(span_of(count), INT32_MAX) != nodes)
			return NULL;
	}
	return getenv("SLURM_PROCID") ? node : NULL;
}

/* torchrun numbers the nodes of a rendezvous by the order of arrival. */
static int find_node(struct plan_options *options, int64_t nodes, gpumap_report *report)
{
	const struct rendezvous *r = &options->rendezvous;

	if (nodes < 2 || options->node_rank || !(r->backend || r->endpoint))
		return GPUMAP_OK;
	options->node_rank = slurm_node(nodes);
	if (options->node_rank)
		return GPUMAP_OK;
	return report_fail(
		report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
		ABOUT(.origin = r->backend ? "--rdzv-backend" : "--rdzv-endpoint",
		      .fix = "write --node-rank 0 on the endpoint's host, 1 on the next one"),
		"gpumap needs --node-rank N on each of the %lld nodes", (long long)nodes);
}

int plan_options_settle(struct plan_options *options, bool here, gpumap_report *report)
{
	int64_t nodes = 1;
	int r;

	if (options->nnodes) {
		options->nnodes = plain_count(options->nnodes);
		nodes = span_number(span_of(options->nnodes), INT32_MAX);
	}
	r = rendezvous_settle(&options->rendezvous, &options->profile, options->standalone, report);
	if (r == GPUMAP_OK)
		r = rendezvous_check_nodes(&options->rendezvous, nodes, report);
	return r == GPUMAP_OK && here ? find_node(options, nodes, report) : r;
}

/* --- the program ----------------------------------------------------------------------- */

static void put_word(struct strbuf *buf, const char *word)
{
	strbuf_puts(buf, buf->length ? " " : "");
	words_quote(buf, word);
}

static bool is_python(const char *path)
{
	size_t length = strlen(path);

	return length > 3 && streq(path + length - 3, ".py");
}

/* Starts Python as torchrun does: unbuffered, by the interpreter that PYTHON_EXEC names. */
static void put_python(struct strbuf *buf)
{
	const char *python = getenv("PYTHON_EXEC");

	put_word(buf, python && *python ? python : "python3");
	put_word(buf, "-u");
}

int plan_set_program(gpumap_profile *profile, const struct plan_options *options,
		     gpumap_report *report)
{
	struct strbuf buf = {0};
	char **word = options->program;
	int r;

	if (options->module && !word)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = options->module, .fix = "write it after the options"),
			"no module is named");
	if (options->module) {
		put_python(&buf);
		put_word(&buf, "-m");
	} else if (word && *word && is_python(*word) && !options->no_python) {
		put_python(&buf);
	}
	for (; word && *word; word++)
		put_word(&buf, *word);
	if (buf.failed)
		r = report_nomem(report);
	else if (buf.length)
		r = gpumap_profile_set(profile, "command", buf.text, "command line", report);
	else
		r = GPUMAP_OK;
	strbuf_free(&buf);
	return r;
}

/* --- the plan ---------------------------------------------------------------------------- */

/* Options that make a plan have no meaning for one that is read. */
int plan_check_alone(const struct plan_options *options, const char *option, const char *file,
		     gpumap_report *report)
{
	const char *rendezvous = rendezvous_first_option(&options->rendezvous);
	const char *other = options->profile.count     ? options->profile.settings[0].origin
			    : options->profile.config  ? "--config"
			    : options->profile.profile ? "--profile"
			    : options->nnodes          ? "--nnodes"
			    : rendezvous               ? rendezvous
			    : options->module          ? options->module
			    : options->no_python       ? "--no-python"
			    : options->program         ? options->program[0]
						       : NULL;

	if (!other)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.origin = option, .fix = "leave one of them out"),
			   "%s has all settings, so '%s' cannot be added", QUOTE(span_of(file)),
			   QUOTE(span_of(other)));
}

/* `first` NULL: there is no host. */
static int check_standalone(const struct plan_options *options, size_t count, int64_t node,
			    const char *first, gpumap_report *report)
{
	if (!options->standalone || (count < 2 && node >= 0) || !first)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.origin = "--standalone", .fix = "leave it out, or name no hosts"),
			   count > 1 ? "this node alone, and %zu hosts, of which the first is '%s'"
				     : "this node alone, and %zu host, '%s', which is another one",
			   count, QUOTE(span_of(first)));
}

static int read_plan(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
		     gpumap_report *report)
{
	int r = plan_check_alone(options, "--plan", options->file, report);

	if (r == GPUMAP_OK)
		r = gpumap_plan_read(ret, options->file, report);
	if (r == GPUMAP_OK)
		r = plan_node(node, *ret, options->node_rank, report);
	if (r == GPUMAP_OK && job_host_count(*ret))
		r = check_standalone(options, job_host_count(*ret), *node, job_host(*ret, 0)->name,
				     report);
	if (r == GPUMAP_OK) {
		plan_judge(*ret, report);
		plan_judge_inside(*ret, options->one ? -1 : *node, -1, report);
	}
	return r;
}

int plan_profile_open(gpumap_profile **ret, const struct plan_options *options,
		      gpumap_report *report)
{
	gpumap_profile *profile = NULL;
	int r = profile_open(&profile, &options->profile, report);

	if (r == GPUMAP_OK)
		r = plan_set_program(profile, options, report);
	if (r != GPUMAP_OK) {
		gpumap_profile_free(profile);
		return r;
	}
	*ret = profile;
	return GPUMAP_OK;
}

int plan_make_quietly(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		      gpumap_report *report)
{
	gpumap_report *scratch = NULL;
	gpumap_plan *plan = NULL;
	int r = gpumap_report_new(&scratch);

	if (r == GPUMAP_OK)
		r = gpumap_plan_make(&plan, profile, hosts, scratch);
	report_copy_all(report, scratch,
			plan && job_all_have(plan, PKEY_PROFILE_share, PLAN_SHARE_LIST)
				? FINDING_UNKNOWN_USE
				: FINDING_COUNT);
	gpumap_report_free(scratch);
	if (r == GPUMAP_OK)
		*ret = plan;
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

int plan_from(gpumap_plan **ret, int64_t *node, gpumap_profile *profile,
	      const struct plan_options *options, gpumap_report *report)
{
	struct plan_hosts hosts = {.node = -1};
	int r = plan_set_program(profile, options, report);

	if (r == GPUMAP_OK && options->standalone && options->nnodes &&
	    !streq(options->nnodes, "1"))
		r = report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				ABOUT(.origin = "--standalone", .fix = "leave one of them out"),
				"this node alone, and --nnodes %s",
				QUOTE(span_of(options->nnodes)));
	if (r == GPUMAP_OK)
		r = plan_read_program(profile, report);
	if (r == GPUMAP_OK)
		r = plan_hosts_open(&hosts, profile, options->nnodes, options->node_rank, true,
				    report);
	if (r == GPUMAP_OK)
		r = check_standalone(options, gpumap_hosts_count(hosts.hosts), hosts.node,
				     gpumap_hosts_name(hosts.hosts, 0), report);
	if (r == GPUMAP_OK)
		r = rendezvous_check_nodes(&options->rendezvous,
					   (int64_t)gpumap_hosts_count(hosts.hosts), report);
	if (hosts.hosts)
		hosts.hosts->scheduled = options->scheduled;
	if (r == GPUMAP_OK)
		r = options->starts ? plan_make_quietly(ret, profile, hosts.hosts, report)
				    : gpumap_plan_make(ret, profile, hosts.hosts, report);
	if (r == GPUMAP_OK && gpumap_plan_set_run(*ret, options->rendezvous.id, 0) != GPUMAP_OK) {
		gpumap_plan_free(*ret);
		*ret = NULL;
		r = report_nomem(report);
	}
	if (r == GPUMAP_OK) {
		*node = hosts.node;
		plan_judge(*ret, report);
	}
	plan_hosts_free(&hosts);
	return r;
}

int plan_open(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
	      gpumap_report *report)
{
	gpumap_profile *profile = NULL;
	int r;

	if (options->file)
		return read_plan(ret, node, options, report);
	r = profile_open(&profile, &options->profile, report);
	if (r == GPUMAP_OK)
		r = plan_from(ret, node, profile, options, report);
	gpumap_profile_free(profile);
	/* A plan whose findings are not complete is not shown, written or started. */
	if (r == GPUMAP_OK && report_lacks_memory(report)) {
		gpumap_plan_free(*ret);
		*ret = NULL;
		r = GPUMAP_ENOMEM;
	}
	return r;
}
