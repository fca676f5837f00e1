/* SPDX-License-Identifier: MIT */
/* The report for programs; gpumap(1) describes its members. */
#include "doctor_private.h"
#include "explain/json.h"
#include "fact_lines.h"

static json_t *checks_json(const struct doctor *doctor)
{
	static const char *const results[] = {"does not apply", "fine", "not visible", "wrong"};
	static const char *const severities[] = {"remark", "warning", "error"};
	json_t *list = json_array();

	for (size_t i = 0; i < check_count(); i++) {
		const struct check *check = check_get(i);
		const struct verdict *v = &doctor->verdicts[i];
		const gpumap_finding *f = gpumap_finding_get(check->finding);
		const char *id = gpumap_finding_str(f, GPUMAP_FINDING_ID);
		int64_t severity = gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY);

		json_push(&list,
			  JSON_OBJECT({"id", json_text(id)}, {"title", json_text(check->title)},
				      {"result", json_text(results[v->outcome])},
				      {"severity", json_text(severities[severity])},
				      {"source", json_text(check->source)}));
	}
	return list;
}

static json_t *seen_json(const struct doctor *doctor, struct arena *arena)
{
	struct seen_line lines[MAX_SEEN];
	size_t count = seen_lines(&doctor->facts, arena, lines);
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++) {
		const struct fact *fact = &lines[i].fact;
		const char *text = fact->sight == SEEN ? fact->text : NULL;

		json_put(&object, lines[i].key,
			 json_text(discreet_text(&doctor->names, arena, text)));
	}
	/* The text has no line for a list that is not set. */
	if (!json_object_get(object, "visible"))
		json_put(&object, "visible", json_null());
	return object;
}

static json_t *gpu_json(const struct gpu *gpu)
{
	return JSON_OBJECT({"index", json_number(gpu->index)}, {"name", json_text(gpu->name)},
			   {"memory", json_number(gpu->memory)}, {"used", json_number(gpu->used)},
			   {"processes", json_number(gpu->processes)});
}

static json_t *library_json(const struct doctor *doctor, struct arena *arena,
			    const struct needed *n)
{
	return JSON_OBJECT({"name", json_text(n->name)},
			   {"by", json_text(discreet_text(&doctor->names, arena, n->by))},
			   {"path", json_text(discreet_text(&doctor->names, arena, n->path))},
			   {"version", json_text(n->version)});
}

static json_t *package_json(const struct doctor *doctor, struct arena *arena,
			    const struct package *package, const char *name)
{
	const struct facts *facts = &doctor->facts;
	const struct fact *cuda = &package->cuda;
	bool known = cuda->sight == SEEN && facts->cuda.sight == SEEN;

	return JSON_OBJECT(
		{"name", json_text(name)}, {"version", json_text(package->version)},
		{"cuda", json_text(cuda->sight == SEEN ? cuda->text : NULL)},
		{"built_for_cuda",
		 cuda->sight == UNSEEN ? json_null() : json_boolean(cuda->sight == SEEN)},
		{"driver_supports",
		 known ? json_boolean(!needs_newer_driver(facts, cuda->number)) : json_null()},
		{"folder", json_text(discreet_text(&doctor->names, arena, package->site))});
}

static json_t *python_json(const struct doctor *doctor, struct arena *arena,
			   const struct python *python)
{
	const struct discreet *names = &doctor->names;
	json_t *from = json_array(), *packages = json_array();

	for (enum python_source i = 0; i < PYTHON_SOURCES; i++)
		if (python->from[i])
			json_push(&from, json_text(python_source_name(i)));
	for (enum package_kind i = 0; i < PACKAGE_KINDS; i++)
		if (python->packages[i].site)
			json_push(&packages, package_json(doctor, arena, &python->packages[i],
							  package_name(i)));
	return JSON_OBJECT({"from", from},
			   {"interpreter", json_text(discreet_text(names, arena, python->path))},
			   {"prefix", json_text(discreet_text(names, arena, python->prefix))},
			   {"version", json_text(python->version)},
			   {"not_visible", json_text(discreet_text(names, arena, python->why))},
			   {"packages", packages});
}

static json_t *plain_json(const struct doctor *doctor, struct arena *arena)
{
	const char *text = seen_plain_python(&doctor->facts, arena);

	return json_text(discreet_text(&doctor->names, arena, text));
}

static json_t *unseen_json(const struct doctor *doctor, struct arena *arena)
{
	json_t *list = json_array();
	const char *text;

	for (size_t i = 0; (text = doctor_unseen(doctor, i)); i++)
		json_push(&list, json_text(discreet_text(&doctor->names, arena, text)));
	return list;
}

void doctor_json(struct strbuf *buf, const struct doctor *doctor)
{
	CLEANUP(arena_free) struct arena arena = {0};
	const struct facts *facts = &doctor->facts;
	const struct program_facts *program = &facts->program;
	json_t *root = JSON_DOCUMENT(
		"doctor", {"wrong", json_boolean(doctor_wrong(doctor))},
		{"seen", seen_json(doctor, &arena)},
		{"libraries", JSON_LIST(i, program->needed_count,
					library_json(doctor, &arena, &program->needed[i]))},
		{"pythons", JSON_LIST(i, facts->python_count,
				      python_json(doctor, &arena, &facts->pythons[i]))},
		{"python", plain_json(doctor, &arena)},
		{"gpus", JSON_LIST(i, facts->gpu_count, gpu_json(&facts->gpus[i]))},
		{"not_visible", unseen_json(doctor, &arena)}, {"checks", checks_json(doctor)},
		{"findings", json_findings(doctor->found)});

	json_dump(buf, root);
}
