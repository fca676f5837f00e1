/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <stdio.h>

#include "plans.h"
#include "profiles.h"
#include "strbuf.h"

static gpumap_inventory *open_machine(struct job_scene *scene, const char *machine)
{
	gpumap_inventory *inventory = plan_machine(machine);

	scene->inventories[scene->inventory_count++] = inventory;
	return inventory;
}

static void know(struct job_scene *scene, size_t from, const char *machine)
{
	gpumap_inventory *inventory = open_machine(scene, machine);

	for (size_t i = from; i < gpumap_hosts_count(scene->hosts); i++)
		ck_assert_int_eq(gpumap_hosts_set_inventory(scene->hosts, i, inventory), GPUMAP_OK);
}

static void add_hostfile(struct job_scene *scene, char *text)
{
	char *file = strchr(text, ' ');

	*file++ = '\0';
	ck_assert_int_eq(gpumap_hosts_parse_hostfile(scene->hosts, file, strlen(file), "hosts.txt",
						     scene->report),
			 GPUMAP_OK);
	know(scene, 0, text + 1);
}

static void add_hosts(struct job_scene *scene, char *text)
{
	char *next;

	for (; text; text = next) {
		size_t from = gpumap_hosts_count(scene->hosts);
		char *machine = strchr(text, '=');

		next = strstr(text, " + ");
		if (next) {
			*next = '\0';
			next += 3;
		}
		*machine++ = '\0';
		ck_assert_int_eq(
			gpumap_hosts_parse_list(scene->hosts, text, "--hosts", scene->report),
			GPUMAP_OK);
		know(scene, from, machine);
	}
}

static void set_environ(struct job_scene *scene, const char *text)
{
	const char *mark = strchr(text, '!');
	size_t node = mark ? (size_t)(*text - '0') : 0, count = 0;
	char *rest, *next;

	scene->environ_text = strdup(mark ? mark + 1 : text);
	for (rest = *scene->environ_text ? scene->environ_text : NULL; rest; rest = next) {
		next = strchr(rest, ';');
		if (next)
			*next++ = '\0';
		scene->environ[count++] = rest;
	}
	if (count && gpumap_hosts_count(scene->hosts))
		ck_assert_int_eq(
			gpumap_hosts_set_environ(scene->hosts, node, scene->environ, scene->report),
			GPUMAP_OK);
}

void job_set(struct job_scene *scene, const char *files, const char *hosts, const char *environment)
{
	char *copy = strdup(hosts);

	*scene = (struct job_scene){.plan = NULL};
	ck_assert_int_eq(gpumap_report_new(&scene->report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_new(&scene->hosts), GPUMAP_OK);
	ck_assert_msg(load_files(&scene->profile, files, NULL, scene->report) == GPUMAP_OK, "%s%s",
		      files, findings_text(scene->report));
	if (*copy == '@')
		add_hostfile(scene, copy);
	else if (*copy)
		add_hosts(scene, copy);
	free(copy);
	set_environ(scene, environment);
	ck_assert_int_eq(gpumap_profile_set_environ(scene->profile, scene->environ, scene->report),
			 GPUMAP_OK);
}

void job_plan(struct job_scene *scene)
{
	scene->code = gpumap_plan_make(&scene->plan, scene->profile, scene->hosts, scene->report);
}

void job_free(struct job_scene *scene)
{
	gpumap_plan_free(scene->plan);
	gpumap_hosts_free(scene->hosts);
	gpumap_profile_free(scene->profile);
	for (size_t i = 0; i < scene->inventory_count; i++)
		gpumap_inventory_free(scene->inventories[i]);
	gpumap_report_free(scene->report);
	free(scene->environ_text);
}

/* --- what holds of a plan ----------------------------------------------------------- */

struct question {
	const gpumap_plan *plan;
	const char *const *envp;
	int64_t rank;
	const char *word; /* what is asked for */
	struct strbuf answer;
	bool found;
};

/* Both return true: the question is answered. */
static bool put(struct question *q, const char *text)
{
	strbuf_free(&q->answer);
	strbuf_puts(&q->answer, text ? text : "(null)");
	return true;
}

static bool put_int(struct question *q, int64_t n)
{
	strbuf_free(&q->answer);
	strbuf_printf(&q->answer, "%lld", (long long)n);
	return true;
}

static bool ask_plan(struct question *q)
{
	static const struct {
		const char *word;
		enum gpumap_plan_int_attr attr;
	} numbers[] = {
		{"answered", GPUMAP_PLAN_ANSWERED},
		{"world", GPUMAP_PLAN_WORLD_SIZE},
		{"hosts", GPUMAP_PLAN_HOSTS},
		{"port", GPUMAP_PLAN_MASTER_PORT},
	};
	static const struct {
		const char *word;
		enum gpumap_plan_str_attr attr;
	} texts[] = {
		{"addr", GPUMAP_PLAN_MASTER_ADDR},
		{"run", GPUMAP_PLAN_RUN},
		{"mode", GPUMAP_PLAN_MODE},
		{"profile", GPUMAP_PLAN_PROFILE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (streq(numbers[i].word, q->word))
			return put_int(q, gpumap_plan_int(q->plan, numbers[i].attr));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (streq(texts[i].word, q->word))
			return put(q, gpumap_plan_str(q->plan, texts[i].attr));
	return false;
}

static bool ask_rank(struct question *q)
{
	static const struct {
		const char *word;
		enum gpumap_rank_int_attr attr;
	} numbers[] = {
		{"node", GPUMAP_RANK_NODE},       {"local", GPUMAP_RANK_LOCAL_RANK},
		{"size", GPUMAP_RANK_LOCAL_SIZE}, {"gpu", GPUMAP_RANK_PHYSICAL},
		{"mig", GPUMAP_RANK_MIG},         {"logical", GPUMAP_RANK_LOGICAL},
		{"threads", GPUMAP_RANK_THREADS},
	};
	static const struct {
		const char *word;
		enum gpumap_rank_str_attr attr;
	} texts[] = {
		{"host", GPUMAP_RANK_HOST},           {"visible", GPUMAP_RANK_VISIBLE},
		{"uuid", GPUMAP_RANK_UUID},           {"pci", GPUMAP_RANK_PCI},
		{"name", GPUMAP_RANK_NAME},           {"cpus", GPUMAP_RANK_CPUS},
		{"memory", GPUMAP_RANK_MEMORY_NODES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (streq(numbers[i].word, q->word))
			return put_int(q, gpumap_plan_rank_int(q->plan, q->rank, numbers[i].attr));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (streq(texts[i].word, q->word))
			return put(q, gpumap_plan_rank_str(q->plan, q->rank, texts[i].attr));
	return false;
}

/* The last value of a variable wins. */
static int note_variable(const char *name, const char *value, void *data)
{
	struct question *q = data;

	if (streq(name, q->word)) {
		put(q, value ? value : "(unset)");
		q->found = true;
	}
	return 0;
}

static void ask_arguments(struct question *q)
{
	char **arguments = NULL;

	ck_assert_int_eq(gpumap_plan_rank_arguments(&arguments, q->plan, q->rank, NULL), GPUMAP_OK);
	for (char **a = arguments; *a; a++) {
		strbuf_printf(&q->answer, "<%s>", *a);
		free(*a);
	}
	free(arguments);
}

static bool ask_setting(struct question *q)
{
	char *value = NULL;
	int r = gpumap_plan_expand_setting(&value, q->plan, q->word, q->rank, "out", NULL);

	if (r == GPUMAP_OK)
		put(q, value);
	free(value);
	return r == GPUMAP_OK;
}

static void check_term(const char *name, struct question *q, char *term)
{
	char *mark = term + strcspn(term, ".$:>="), kind = *mark;
	char *word = kind == '=' ? term : mark + 1, *value = word + strcspn(word, "=!-");
	char how = kind == '>' ? '>' : *value;
	const char *want = how == '>' ? word : value + 1;
	bool known = true;

	q->rank = kind == '=' ? -1 : (int64_t)strtol(term, NULL, 10);
	q->found = false;
	strbuf_free(&q->answer);
	if (how != '>')
		*value = '\0';
	q->word = word;
	if (kind == '=')
		known = ask_plan(q);
	else if (kind == '.')
		known = ask_rank(q);
	else if (kind == ':')
		known = ask_setting(q);
	else if (kind == '>')
		ask_arguments(q);
	else
		ck_assert_int_eq(
			gpumap_plan_variable_each(q->plan, q->rank, q->envp, note_variable, q),
			GPUMAP_OK);
	ck_assert_msg(known, "%s: no such term: %s", name, term);
	if (how == '!')
		ck_assert_msg(!q->found, "%s: %s is %s", name, word, q->answer.text);
	else
		ck_assert_msg(
			streq(q->answer.text ? q->answer.text : "", how == '-' ? "(unset)" : want),
			"%s: %s is '%s', not '%s'", name, term,
			q->answer.text ? q->answer.text : "", want);
}

void job_holds(const char *name, const gpumap_plan *plan, const char *const *envp,
	       const char *terms)
{
	struct question q = {.plan = plan, .envp = envp};
	char *copy = strdup(terms), *term = copy, *next;

	for (; term && *term; term = next) {
		next = strchr(term, '|');
		if (next)
			*next++ = '\0';
		check_term(name, &q, term);
	}
	strbuf_free(&q.answer);
	free(copy);
}
