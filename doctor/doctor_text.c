/* SPDX-License-Identifier: MIT */
/* The report for people: what is wrong, what was seen, and what was not visible. */
#include "doctor_private.h"
#include "fact_lines.h"
#include "style.h"

static void put_finding(struct strbuf *buf, const gpumap_finding *f)
{
	static const char *const words[] = {"remark", "warning", "error"};
	static const enum style styles[] = {STYLE_REMARK, STYLE_WARNING, STYLE_ERROR};
	int64_t severity = gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY);
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

	style_set(buf, styles[severity]);
	strbuf_printf(buf, "%s:", words[severity]);
	style_set(buf, STYLE_PLAIN);
	if (origin)
		strbuf_printf(buf, " %s:", origin);
	strbuf_printf(buf, " %s ", gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	style_set(buf, STYLE_FAINT);
	strbuf_printf(buf, "[%s]", gpumap_finding_str(f, GPUMAP_FINDING_ID));
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
	if (fix)
		strbuf_printf(buf, "  remedy: %s\n", fix);
}

static size_t count_of(const struct doctor *doctor, enum outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < check_count(); i++)
		count += doctor->verdicts[i].outcome == outcome;
	return count;
}

/* The first line. What is wrong here can only be remarks. */
static void put_nothing_wrong(struct strbuf *buf, const struct doctor *doctor, struct arena *arena)
{
	size_t passed = count_of(doctor, OUTCOME_FINE), remarks = count_of(doctor, OUTCOME_WRONG);
	size_t blind = count_of(doctor, OUTCOME_UNSEEN);
	bool fits;
	const char *torch = seen_torch(&doctor->facts, arena, &fits);

	torch = discreet_text(&doctor->names, arena, torch);
	strbuf_printf(buf, "%s: %zu check%s passed",
		      doctor->program_unseen
			      ? "The program could not be checked. Nothing else wrong was found"
			      : "Nothing wrong was found",
		      passed, passed == 1 ? "" : "s");
	if (remarks)
		strbuf_printf(buf, ", %zu gave a remark", remarks);
	if (blind)
		strbuf_printf(buf, ", %zu could not look", blind);
	strbuf_puts(buf, !torch || fits ? ", the rest do not apply." : ".");
	if (!torch)
		return;
	strbuf_puts(buf, fits ? " " : " PyTorch was not checked (");
	escape_all(buf, torch);
	strbuf_puts(buf, fits ? "." : ").");
}

static void put_answer(struct strbuf *buf, const struct doctor *doctor, struct arena *arena)
{
	style_set(buf, STYLE_ANSWER);
	if (doctor_without_gpu(doctor))
		strbuf_puts(buf, "No NVIDIA GPU can be used.");
	else if (doctor_blind(doctor))
		strbuf_puts(buf, "Whether there is a GPU is not visible.");
	else if (gpumap_report_worst(doctor->found) >= GPUMAP_SEVERITY_WARNING)
		strbuf_puts(buf, "Something is wrong.");
	else
		put_nothing_wrong(buf, doctor, arena);
	style_set(buf, STYLE_PLAIN);
	strbuf_puts(buf, "\n");
}

static void put_heading(struct strbuf *buf, const char *text)
{
	strbuf_puts(buf, "\n");
	style_puts(buf, STYLE_HEADING, text);
	strbuf_puts(buf, "\n");
}

/* A line of a table. A label can be the name of a library, so both are made safe for a terminal. */
static void put_line(struct strbuf *buf, const struct doctor *doctor, struct arena *arena,
		     const char *label, const char *text)
{
	size_t begin;

	text = discreet_text(&doctor->names, arena, text);
	strbuf_puts(buf, "  ");
	begin = buf->length;
	escape_all(buf, label);
	while (buf->length < begin + 18)
		strbuf_puts(buf, " ");
	strbuf_puts(buf, " ");
	escape_all(buf, text);
	strbuf_puts(buf, "\n");
}

/* The packages of an environment. PyTorch is among the lines of a program. */
static void put_packages(struct strbuf *buf, const struct doctor *doctor, struct arena *arena,
			 const struct python *python)
{
	const struct facts *facts = &doctor->facts;
	bool named = facts->program.name;

	for (enum package_kind i = named ? PACKAGE_JAX : PACKAGE_TORCH; i < PACKAGE_KINDS; i++)
		if (python->packages[i].site)
			put_line(buf, doctor, arena,
				 FORMAT("%s%s", named ? "" : "  ", package_name(i)),
				 seen_package(facts, &python->packages[i], arena));
}

static void put_seen(struct strbuf *buf, const struct doctor *doctor, struct arena *arena)
{
	struct seen_line lines[MAX_SEEN];
	const struct facts *facts = &doctor->facts;
	size_t count = seen_lines(facts, arena, lines);

	put_heading(buf, "Seen");
	for (size_t i = 0; i < count; i++) {
		const struct fact *fact = &lines[i].fact;

		if (fact->sight == UNSEEN)
			put_line(buf, doctor, arena, lines[i].label, "not visible");
		else
			put_line(buf, doctor, arena, lines[i].label,
				 fact->sight == SEEN ? fact->text : "none");
	}
	if (facts->program.name)
		put_packages(buf, doctor, arena, facts->pythons);
	for (size_t i = 0; i < facts->program.needed_count; i++)
		put_line(buf, doctor, arena, facts->program.needed[i].name,
			 seen_needed(&facts->program.needed[i], arena));
	for (size_t i = 0; i < facts->gpu_count; i++)
		put_line(buf, doctor, arena, FORMAT("GPU %u", facts->gpus[i].index),
			 seen_gpu(&facts->gpus[i], arena));
}

/* Without a program: the interpreters that were looked at. */
static void put_pythons(struct strbuf *buf, const struct doctor *doctor, struct arena *arena)
{
	const struct facts *facts = &doctor->facts;
	const char *text = discreet_text(&doctor->names, arena, seen_plain_python(facts, arena));

	if (facts->program.name || !facts->python_count)
		return;
	put_heading(buf, "Python");
	for (size_t i = 0; i < facts->python_count; i++) {
		const struct python *python = &facts->pythons[i];

		put_line(buf, doctor, arena, seen_sources(python, arena),
			 seen_python(python, arena));
		put_packages(buf, doctor, arena, python);
	}
	if (!text)
		return;
	strbuf_puts(buf, "  ");
	escape_all(buf, text);
	strbuf_puts(buf, "\n");
}

void doctor_text(struct strbuf *buf, const struct doctor *doctor)
{
	CLEANUP(arena_free) struct arena arena = {0};
	const char *unseen_text;

	put_answer(buf, doctor, &arena);
	for (size_t i = 0; i < gpumap_report_count(doctor->found); i++)
		put_finding(buf, gpumap_report_get(doctor->found, i));
	put_seen(buf, doctor, &arena);
	put_pythons(buf, doctor, &arena);
	if (doctor_unseen(doctor, 0))
		put_heading(buf, "Not visible");
	for (size_t i = 0; (unseen_text = doctor_unseen(doctor, i)); i++) {
		unseen_text = discreet_text(&doctor->names, &arena, unseen_text);
		strbuf_puts(buf, "  ");
		escape_all(buf, unseen_text);
		strbuf_puts(buf, "\n");
	}
}
