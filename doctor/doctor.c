/* SPDX-License-Identifier: MIT */
/* See doctor.h. */
#include "doctor_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "gather.h"
#include "memory.h"
#include "program.h"

/* A check of these names the cause if no GPU can be used; that it is so needs no second finding. */
static bool is_cause(enum finding_id id)
{
	static const enum finding_id causes[] = {
		FINDING_VERSIONS_DIFFER, FINDING_NOUVEAU_LOADED, FINDING_MODULE_NOT_BUILT,
		FINDING_MODULE_UNSIGNED, FINDING_GPUS_TAKEN,     FINDING_CONTAINER_NO_GPUS,
		FINDING_NODE_MISSING,    FINDING_NODE_DENIED,    FINDING_NODE_CGROUP,
	};

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (causes[i] == id)
			return true;
	return false;
}

static bool has_cause(const struct doctor *doctor)
{
	for (size_t i = 0; i < check_count(); i++)
		if (doctor->verdicts[i].outcome == OUTCOME_WRONG && is_cause(check_get(i)->finding))
			return true;
	return false;
}

static int64_t severity_of(enum finding_id id)
{
	return gpumap_finding_int(gpumap_finding_get(id), GPUMAP_FINDING_SEVERITY);
}

/* Adds the findings of one severity that another part has reported. */
static void relay(struct doctor *doctor, const gpumap_report *from, int64_t severity)
{
	for (size_t i = 0; i < gpumap_report_count(from); i++) {
		const gpumap_finding *f = gpumap_report_get(from, i);
		const char *text = gpumap_finding_str(f, GPUMAP_FINDING_TEXT);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
		enum finding_id id = finding_by_id(gpumap_finding_str(f, GPUMAP_FINDING_ID));

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) != severity ||
		    ((id == FINDING_NO_DRIVER || id == FINDING_NO_GPU) &&
		     (doctor->gpus_unseen || has_cause(doctor))))
			continue;
		if (fix && id == FINDING_NO_DRIVER && !strstr(fix, "container") &&
		    doctor->facts.container.sight == SEEN)
			fix = arena_printf(&doctor->arena, "on the host: %s", fix);
		text = discreet_text(&doctor->names, &doctor->arena, text);
		fix = discreet_text(&doctor->names, &doctor->arena, fix);
		report_add(
			doctor->found, id,
			ABOUT(.fix = fix, .origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN)),
			"%s", text);
	}
}

static void collect(struct doctor *doctor)
{
	for (int64_t severity = GPUMAP_SEVERITY_ERROR; severity >= GPUMAP_SEVERITY_REMARK;
	     severity--) {
		relay(doctor, doctor->facts.inventory_report, severity);
		for (size_t i = 0; i < check_count(); i++) {
			const struct verdict *v = &doctor->verdicts[i];

			if (v->outcome == OUTCOME_WRONG &&
			    severity_of(check_get(i)->finding) == severity)
				report_add(doctor->found, check_get(i)->finding,
					   ABOUT(.fix = discreet_text(&doctor->names,
								      &doctor->arena, v->fix)),
					   "%s",
					   discreet_text(&doctor->names, &doctor->arena, v->text));
		}
		relay(doctor, doctor->facts.environment_report, severity);
	}
}

static int read_program(struct facts *facts, const char *const *program, gpumap_report *report)
{
	int error = 0;

	if (program)
		error = program_read(facts, program);
	else
		pythons_read(facts);
	if (!error)
		return GPUMAP_OK;
	if (error == EISDIR)
		return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
				   ABOUT(.fix = "name the program in it, such as train.py or "
						"bin/python3; gpumap lint checks the programs of a "
						"folder"),
				   "%s is a folder, not a program", QUOTE(span_of(*program)));
	return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			   ABOUT(.fix = *facts->root ? "name its path in the recorded machine"
						     : "check the name, and PATH"),
			   "cannot open the program %s: %s", QUOTE(span_of(*program)),
			   strerror(error));
}

/* Why it is not known whether there is a GPU; NULL: it is known. */
static const char *why_gpus_unseen(const struct facts *facts)
{
	if (facts->tegra && !facts->gpu_count)
		return "the state of the GPUs: a Jetson's GPU is not asked";
	if (has_gpu(facts) || facts->module.sight == SEEN)
		return NULL;
	if (*facts->root && facts->bus.sight != SEEN)
		return "the GPUs: --root has no /sys/bus/pci/devices";
	return NULL;
}

static int look(struct doctor *doctor, const struct doctor_options *options, gpumap_report *report)
{
	int r;

	gather(&doctor->facts, options->root, options->environ);
	r = read_program(&doctor->facts, options->program, report);
	if (r != GPUMAP_OK)
		return r;
	doctor->names = discreet_names(&doctor->facts, options->all);
	doctor->verdicts = arena_alloc(&doctor->arena, check_count(), sizeof(*doctor->verdicts));
	gpumap_report_new(&doctor->found);
	for (size_t i = 0; i < check_count(); i++)
		judge(check_get(i), &doctor->facts, &doctor->arena, &doctor->verdicts[i]);
	doctor->gpus_unseen = why_gpus_unseen(&doctor->facts);
	doctor->program_unseen = program_unchecked(&doctor->facts, &doctor->arena);
	collect(doctor);
	return GPUMAP_OK;
}

/* Whether the root is a folder that can be opened. */
static int check_root(const char *root, gpumap_report *report)
{
	int fd;

	if (!*root)
		return GPUMAP_OK;
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return report_fail(
			report, GPUMAP_EFILE, FINDING_FILE_ACCESS,
			ABOUT(.origin = "--root",
			      .fix = "name a folder with a copy of a machine's /etc, /proc, "
				     "/sys, /dev and /usr/lib*"),
			"cannot open the folder %s: %s", QUOTE(span_of(root)), strerror(errno));
	close(fd);
	return GPUMAP_OK;
}

int doctor_new(struct doctor **ret, const struct doctor_options *options, gpumap_report *report)
{
	struct doctor *doctor;
	int r = check_root(options->root, report);

	if (r != GPUMAP_OK)
		return r;
	doctor = xcalloc(1, sizeof(*doctor));
	r = look(doctor, options, report);
	if (r == GPUMAP_OK)
		*ret = doctor;
	else
		doctor_free(doctor);
	return r;
}

void doctor_free(struct doctor *doctor)
{
	if (!doctor)
		return;
	gpumap_report_free(doctor->found);
	facts_free(&doctor->facts);
	arena_free(&doctor->arena);
	free(doctor);
}

bool doctor_without_gpu(const struct doctor *doctor)
{
	const gpumap_inventory *inventory = doctor->facts.inventory;

	return !doctor->gpus_unseen && (!gpumap_inventory_count(inventory) ||
					gpumap_inventory_str(inventory, GPUMAP_INVENTORY_NO_GPU));
}

bool doctor_blind(const struct doctor *doctor)
{
	return doctor->gpus_unseen && !doctor->facts.tegra;
}

bool doctor_wrong(const struct doctor *doctor)
{
	return doctor_without_gpu(doctor) || doctor_blind(doctor) || doctor->program_unseen ||
	       gpumap_report_worst(doctor->found) >= GPUMAP_SEVERITY_WARNING;
}

/* Whether a check before that place has the text: several may need the same thing. */
static bool is_listed(const struct doctor *doctor, size_t place, const char *text)
{
	for (size_t i = 0; i < place; i++)
		if (doctor->verdicts[i].outcome == OUTCOME_UNSEEN &&
		    streq(doctor->verdicts[i].text, text))
			return true;
	return false;
}

const char *doctor_unseen(const struct doctor *doctor, size_t i)
{
	bool hidden = !doctor->facts.environ && !doctor->facts.program.name;
	const char *others[] = {doctor->gpus_unseen, doctor->program_unseen,
				hidden ? "python3: --root has no /proc/self/environ" : NULL};

	for (size_t k = 0; k < check_count(); k++) {
		const struct verdict *v = &doctor->verdicts[k];

		if (v->outcome == OUTCOME_UNSEEN && !is_listed(doctor, k, v->text) && !i--)
			return v->text;
	}
	for (size_t k = 0; k < ARRAY_SIZE(others); k++)
		if (others[k] && !is_listed(doctor, check_count(), others[k]) && !i--)
			return others[k];
	return NULL;
}
