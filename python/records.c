/* SPDX-License-Identifier: MIT */
/* Values of the library as named tuples of Python. A row of a table is a member. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

struct record {
	const struct module_state *state;
	const void *object;
};

struct field {
	const char *name, *doc;
	enum { TEXT, NUMBER, FLAG, OTHER } form;
	int attribute;
	PyObject *(*other)(const struct record *record);
};

struct form {
	const char *name, *doc;
	const struct field *fields;
	int count;
	const char *(*text)(const void *object, int attribute);
	int64_t (*number)(const void *object, int attribute);
};

#define READERS(name, type, library) \
	static const char *name##_text(const void *object, int attribute) \
	{ \
		return gpumap_##library##_str(object, (enum gpumap_##type##_str_attr)attribute); \
	} \
	static int64_t name##_number(const void *object, int attribute) \
	{ \
		return gpumap_##library##_int(object, (enum gpumap_##type##_int_attr)attribute); \
	}
READERS(finding, finding, finding)
READERS(gpu, device, device)
READERS(process, process, process)
READERS(device, entry, entry)

static const char *step_text(const void *object, int attribute)
{
	return gpumap_step_str(object, (enum gpumap_step_str_attr)attribute);
}

static const char *rank_text(const void *object, int attribute)
{
	const struct rank_of *of = object;

	return gpumap_plan_rank_str(of->plan, of->rank, (enum gpumap_rank_str_attr)attribute);
}

static int64_t rank_number(const void *object, int attribute)
{
	const struct rank_of *of = object;

	return gpumap_plan_rank_int(of->plan, of->rank, (enum gpumap_rank_int_attr)attribute);
}

/* --- what is neither a text nor a number ------------------------------------------------ */

static PyObject *severity(const struct record *r)
{
	static const char *const words[] = {"remark", "warning", "error"};

	return text_value(words[gpumap_finding_int(r->object, GPUMAP_FINDING_SEVERITY)]);
}

static PyObject *nvlink_item(const void *gpu, size_t i)
{
	return number_value(gpumap_device_nvlink(gpu, i));
}

static PyObject *nvlink(const struct record *r)
{
	int count = gpumap_device_nvlink_count(r->object);

	return count < 0 ? text_value(NULL) : tuple_of((size_t)count, nvlink_item, r->object);
}

static const void *instance(const void *gpu, size_t i)
{
	return gpumap_device_mig(gpu, i);
}

static PyObject *instances(const struct record *r)
{
	return record_tuple(r->state, RECORD_GPU, gpumap_device_mig_count(r->object), instance,
			    r->object);
}

static const void *process(const void *gpu, size_t i)
{
	return gpumap_device_process(gpu, i);
}

static PyObject *processes(const struct record *r)
{
	int count = gpumap_device_process_count(r->object);

	return count < 0
		       ? text_value(NULL)
		       : record_tuple(r->state, RECORD_PROCESS, (size_t)count, process, r->object);
}

static PyObject *certainty(const struct record *r)
{
	return text_value(gpumap_certainty_name(
		(enum gpumap_certainty)gpumap_entry_int(r->object, GPUMAP_ENTRY_CERTAINTY)));
}

static PyObject *candidate(const void *entry, size_t i)
{
	return number_value(
		gpumap_device_int(gpumap_entry_candidate(entry, i), GPUMAP_DEVICE_PHYSICAL));
}

static PyObject *candidates(const struct record *r)
{
	return tuple_of(gpumap_entry_candidate_count(r->object), candidate, r->object);
}

static PyObject *loser(const void *step, size_t i)
{
	HELD *source = text_value(gpumap_step_loser_source(step, i));
	HELD *value = text_value(gpumap_step_loser_value(step, i));

	return source && value ? PyTuple_Pack(2, source, value) : NULL;
}

static PyObject *losers(const struct record *r)
{
	return tuple_of(gpumap_step_loser_count(r->object), loser, r->object);
}

static PyObject *rank_of_rank(const struct record *r)
{
	const struct rank_of *of = r->object;

	return number_value(of->rank);
}

/* False with an exception: only memory can lack. */
static bool well(int code)
{
	if (code == GPUMAP_ENOMEM)
		PyErr_NoMemory();
	else if (code != GPUMAP_OK && code != RAISED)
		PyErr_SetString(PyExc_RuntimeError, gpumap_strerror(code));
	return code == GPUMAP_OK;
}

static PyObject *argument(const void *arguments, size_t i)
{
	return text_value(((char *const *)arguments)[i]);
}

static PyObject *arguments(const struct record *r)
{
	const struct rank_of *of = r->object;
	char **words = NULL;
	size_t count = 0;
	PyObject *ret = NULL;

	if (well(gpumap_plan_rank_arguments(&words, of->plan, of->rank, NULL))) {
		while (words[count])
			count++;
		ret = tuple_of(count, argument, words);
	}
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
	return ret;
}

static int add_variable(const char *name, const char *value, void *data)
{
	HELD *key = text_value(name), *text = text_value(value);

	return key && text && PyObject_SetItem(data, key, text) == 0 ? 0 : RAISED;
}

static PyObject *variables(const struct record *r)
{
	const struct rank_of *of = r->object;
	PyObject *dict = PyDict_New();
	int code = dict ? gpumap_plan_variable_each(of->plan, of->rank, NULL, add_variable, dict)
			: RAISED;

	if (!well(code))
		Py_CLEAR(dict);
	return dict;
}

/* --- the tables ------------------------------------------------------------------------- */

static const struct field finding_fields[] = {
	{"id", "permanent, 'GM012'", TEXT, GPUMAP_FINDING_ID, NULL},
	{"severity", "'error', 'warning' or 'remark'", OTHER, 0, severity},
	{"rule", "its rule, 'V5', or None", TEXT, GPUMAP_FINDING_RULE, NULL},
	{"text", "one line", TEXT, GPUMAP_FINDING_TEXT, NULL},
	{"fix", "the remedy, or None", TEXT, GPUMAP_FINDING_FIX, NULL},
	{"origin", "file, option or variable, or None", TEXT, GPUMAP_FINDING_ORIGIN, NULL},
	{"line", "from 1, or None", NUMBER, GPUMAP_FINDING_LINE, NULL},
	{"column", "from 1, or None", NUMBER, GPUMAP_FINDING_COLUMN, NULL},
};
static const struct field gpu_fields[] = {
	{"physical", "nvidia-smi's number", NUMBER, GPUMAP_DEVICE_PHYSICAL, NULL},
	{"uuid", "'GPU-...' or 'MIG-...'", TEXT, GPUMAP_DEVICE_UUID, NULL},
	{"pci", "'0000:07:00.0'", TEXT, GPUMAP_DEVICE_PCI, NULL},
	{"name", "'NVIDIA H100 80GB HBM3'", TEXT, GPUMAP_DEVICE_NAME, NULL},
	{"memory", "bytes", NUMBER, GPUMAP_DEVICE_MEMORY, NULL},
	{"minor", "N of /dev/nvidiaN", NUMBER, GPUMAP_DEVICE_MINOR, NULL},
	{"numa", "NUMA nodes, '0-1'", TEXT, GPUMAP_DEVICE_NUMA, NULL},
	{"cpus", "CPUs near the GPU, '0-31'", TEXT, GPUMAP_DEVICE_CPUS, NULL},
	{"nvlink", "the numbers of GPUs that NVLink connects with it", OTHER, 0, nvlink},
	{"mig", "whether MIG is enabled", FLAG, GPUMAP_DEVICE_MIG_ENABLED, NULL},
	{"instances", "its MIG instances", OTHER, 0, instances},
	{"profile", "of a MIG instance, '1g.10gb'", TEXT, GPUMAP_DEVICE_MIG_PROFILE, NULL},
	{"gi", "GPU instance of a MIG instance", NUMBER, GPUMAP_DEVICE_MIG_GI, NULL},
	{"ci", "compute instance of a MIG instance", NUMBER, GPUMAP_DEVICE_MIG_CI, NULL},
	{"memory_used", "bytes", NUMBER, GPUMAP_DEVICE_MEMORY_USED, NULL},
	{"memory_free", "bytes", NUMBER, GPUMAP_DEVICE_MEMORY_FREE, NULL},
	{"utilization", "percent", NUMBER, GPUMAP_DEVICE_UTILIZATION, NULL},
	{"temperature", "degrees Celsius", NUMBER, GPUMAP_DEVICE_TEMPERATURE, NULL},
	{"processes", "those that use it", OTHER, 0, processes},
};
static const struct field process_fields[] = {
	{"pid", "its number", NUMBER, GPUMAP_PROCESS_PID, NULL},
	{"memory", "bytes of the GPU", NUMBER, GPUMAP_PROCESS_MEMORY, NULL},
	{"user", "name of its user", TEXT, GPUMAP_PROCESS_USER, NULL},
	{"uid", "number of its user", NUMBER, GPUMAP_PROCESS_UID, NULL},
	{"command", "the command line", TEXT, GPUMAP_PROCESS_COMMAND, NULL},
	{"container", "'docker:3f2a91c07d4e' or a job", TEXT, GPUMAP_PROCESS_CONTAINER, NULL},
	{"start", "'2026-11-21T10:00:00Z'", TEXT, GPUMAP_PROCESS_START, NULL},
	{"mig", "index of its MIG instance", NUMBER, GPUMAP_PROCESS_MIG, NULL},
	{"visible", "whether it can be seen here", FLAG, GPUMAP_PROCESS_VISIBLE, NULL},
};
static const struct field device_fields[] = {
	{"logical", "N of cuda:N", NUMBER, GPUMAP_ENTRY_LOGICAL, NULL},
	{"physical", "nvidia-smi's number; None: not decided", NUMBER, GPUMAP_ENTRY_PHYSICAL, NULL},
	{"uuid", "'GPU-...' or 'MIG-...'", TEXT, GPUMAP_ENTRY_UUID, NULL},
	{"pci", "'0000:07:00.0'", TEXT, GPUMAP_ENTRY_PCI, NULL},
	{"name", "'NVIDIA H100 80GB HBM3'", TEXT, GPUMAP_ENTRY_NAME, NULL},
	{"mig", "index of the MIG instance; None: a whole GPU", NUMBER, GPUMAP_ENTRY_MIG, NULL},
	{"certainty", "'certain', 'likely', 'assumed' or 'undecidable'", OTHER, 0, certainty},
	{"candidates", "nvidia-smi's numbers of the GPUs that it can be", OTHER, 0, candidates},
};
static const struct field step_fields[] = {
	{"rule", "'S2'", TEXT, GPUMAP_STEP_RULE, NULL},
	{"text", "one line", TEXT, GPUMAP_STEP_TEXT, NULL},
	{"origin", "where the statement comes from, or None", TEXT, GPUMAP_STEP_ORIGIN, NULL},
	{"losers", "the statements that it overrides: (key, value)", OTHER, 0, losers},
};
static const struct field rank_fields[] = {
	{"rank", "from 0", OTHER, 0, rank_of_rank},
	{"host", "its name", TEXT, GPUMAP_RANK_HOST, NULL},
	{"node", "node rank", NUMBER, GPUMAP_RANK_NODE, NULL},
	{"local_rank", "on its host", NUMBER, GPUMAP_RANK_LOCAL_RANK, NULL},
	{"local_size", "ranks on its host", NUMBER, GPUMAP_RANK_LOCAL_SIZE, NULL},
	{"visible", "the value of CUDA_VISIBLE_DEVICES", TEXT, GPUMAP_RANK_VISIBLE, NULL},
	{"logical", "N of the cuda:N that it uses", NUMBER, GPUMAP_RANK_LOGICAL, NULL},
	{"physical", "nvidia-smi's number of that device", NUMBER, GPUMAP_RANK_PHYSICAL, NULL},
	{"mig", "index of the MIG instance", NUMBER, GPUMAP_RANK_MIG, NULL},
	{"uuid", "'GPU-...' or 'MIG-...'", TEXT, GPUMAP_RANK_UUID, NULL},
	{"pci", "'0000:07:00.0'", TEXT, GPUMAP_RANK_PCI, NULL},
	{"name", "'NVIDIA H100 80GB HBM3'", TEXT, GPUMAP_RANK_NAME, NULL},
	{"cpus", "'0-7,64-71'; None: not bound", TEXT, GPUMAP_RANK_CPUS, NULL},
	{"memory_nodes", "NUMA nodes; None: not bound", TEXT, GPUMAP_RANK_MEMORY_NODES, NULL},
	{"threads", "OMP_NUM_THREADS; 0: unchanged", NUMBER, GPUMAP_RANK_THREADS, NULL},
	{"arguments", "of the program", OTHER, 0, arguments},
	{"environ", "variables that are set; None: unset", OTHER, 0, variables},
};

#define FIELDS(fields) (fields), ARRAY_SIZE(fields)
static const struct form forms[RECORD_COUNT] = {
	[RECORD_FINDING] = {"gpumap.Finding", "An error, warning or remark.",
			    FIELDS(finding_fields), finding_text, finding_number},
	[RECORD_GPU] = {"gpumap.GPU", "A GPU, or a MIG instance of one; None is not known.",
			FIELDS(gpu_fields), gpu_text, gpu_number},
	[RECORD_PROCESS] = {"gpumap.Process", "A process that uses a GPU; None is not known.",
			    FIELDS(process_fields), process_text, process_number},
	[RECORD_DEVICE] = {"gpumap.Device", "A device as a program sees it.", FIELDS(device_fields),
			   device_text, device_number},
	[RECORD_STEP] = {"gpumap.Step", "A rule that was used.", FIELDS(step_fields), step_text,
			 NULL},
	[RECORD_RANK] = {"gpumap.Rank", "A rank of a plan; None is not known.", FIELDS(rank_fields),
			 rank_text, rank_number},
};

/* --- records ---------------------------------------------------------------------------- */

bool records_add(PyObject *module, struct module_state *state)
{
	for (int i = 0; i < RECORD_COUNT; i++) {
		PyStructSequence_Field fields[32] = {{NULL, NULL}};
		PyStructSequence_Desc desc = {forms[i].name, forms[i].doc, fields, forms[i].count};

		for (int k = 0; k < forms[i].count; k++)
			fields[k] = (PyStructSequence_Field){forms[i].fields[k].name,
							     forms[i].fields[k].doc};
		state->records[i] = (PyObject *)PyStructSequence_NewType(&desc);
		if (!state->records[i] ||
		    PyModule_AddObjectRef(module, strchr(forms[i].name, '.') + 1,
					  state->records[i]) < 0)
			return false;
	}
	return true;
}

static PyObject *field_value(const struct form *form, const struct field *field,
			     const struct record *record)
{
	int64_t number;

	switch (field->form) {
	case TEXT:
		return text_value(form->text(record->object, field->attribute));
	case NUMBER:
		return number_value(form->number(record->object, field->attribute));
	case FLAG:
		number = form->number(record->object, field->attribute);
		return number < 0 ? text_value(NULL) : PyBool_FromLong(number != 0);
	default:
		return field->other(record);
	}
}

PyObject *record_new(const struct module_state *state, enum python_record kind, const void *object)
{
	const struct form *form = &forms[kind];
	const struct record record = {state, object};
	PyObject *ret = PyStructSequence_New((PyTypeObject *)state->records[kind]);

	for (int i = 0; ret && i < form->count; i++) {
		PyObject *value = field_value(form, &form->fields[i], &record);

		if (value)
			PyStructSequence_SetItem(ret, i, value);
		else
			Py_CLEAR(ret);
	}
	return ret;
}

struct source {
	const struct module_state *state;
	enum python_record kind;
	const void *(*get)(const void *from, size_t i);
	const void *from;
};

static PyObject *record(const void *source, size_t i)
{
	const struct source *s = source;

	return record_new(s->state, s->kind, s->get(s->from, i));
}

PyObject *record_tuple(const struct module_state *state, enum python_record kind, size_t count,
		       const void *(*get)(const void *from, size_t i), const void *from)
{
	const struct source source = {state, kind, get, from};

	return tuple_of(count, record, &source);
}

static const void *finding(const void *report, size_t i)
{
	return gpumap_report_get(report, i);
}

PyObject *findings_tuple(const struct module_state *state, const gpumap_report *report)
{
	return record_tuple(state, RECORD_FINDING, gpumap_report_count(report), finding, report);
}
