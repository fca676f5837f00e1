/* SPDX-License-Identifier: MIT */
/* gpumap.Plan: the host, devices and environment of each rank. */
#include "module.h"

#include <stdlib.h>

#include "plan_hosts.h"
#include "report/report.h"

OBJECT(plan)

/* --- making ----------------------------------------------------------------------------- */

/* Without the interpreter's lock, because machines may be asked. */
static int make(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_inventory *all,
		const char **variables, gpumap_report *report)
{
	struct python_hosts hosts = {NULL, 0, 0, NULL, NULL};
	int r;

	Py_BEGIN_ALLOW_THREADS
	r = python_hosts_open(&hosts, profile, all, variables, report);
	if (r == GPUMAP_OK)
		r = gpumap_plan_make(ret, profile, hosts.hosts, report);
	python_hosts_free(&hosts);
	Py_END_ALLOW_THREADS
	return unless_signalled(r);
}

static PyObject *make_of(PyTypeObject *type, PyObject *profile_object, PyObject *inventory,
			 PyObject *variables)
{
	const struct module_state *state = state_of_type(type);
	const gpumap_profile *profile = profile_of(state, profile_object);
	const gpumap_inventory *all = NULL;
	OWNED(inventory) *owned = NULL;
	gpumap_report *report = NULL;
	gpumap_plan *plan = NULL;
	HELD *kept = PyList_New(0);
	PyObject *ret;
	const char **words = kept && variables ? environ_words(variables, kept) : NULL;
	int r = profile && kept && (words || !variables) ? gpumap_report_new(&report) : RAISED;

	if (r == GPUMAP_OK && inventory && !(all = inventory_of(state, inventory, &owned, report)))
		r = RAISED;
	if (r == GPUMAP_OK)
		r = make(&plan, profile, all, words, report);
	ret = plan_wrap(type, r, plan, report);
	PyMem_Free((void *)words);
	return ret;
}

/* Whether there are keywords besides `others`. */
static bool has_settings(PyObject *keywords, const char *const *others)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
		const char *const *other = others;

		while (*other && PyUnicode_CompareWithASCIIString(key, *other) != 0)
			other++;
		if (!*other)
			return true;
	}
	return false;
}

static PyObject *plan_new_object(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static const char *const all[] = {"inventory", "profile", "environ", NULL};
	const char *const *others = all + 1;
	const struct module_state *state = state_of_type(type);
	PyObject *inventory = keyword(keywords, "inventory"), *profile = NULL;
	HELD *made = NULL;
	bool object =
		inventory && Py_TYPE(inventory) == (PyTypeObject *)state->types[TYPE_INVENTORY];

	if (!PyArg_ParseTuple(arguments, "|O:Plan", &profile))
		return NULL;
	if (!argument_of(&profile, keywords, "profile"))
		return NULL;
	if (profile && has_settings(keywords, all)) {
		PyErr_SetString(PyExc_TypeError,
				"a profile has all settings: give them to Profile()");
		return NULL;
	}
	if (profile)
		return make_of(type, profile, inventory, keyword(keywords, "environ"));
	/* The name of a machine is a setting, too. */
	made = profile_make(state, keywords, object ? all : others);
	return made ? make_of(type, made, object ? inventory : NULL, keyword(keywords, "environ"))
		    : NULL;
}

static PyObject *plan_read(PyObject *type, PyObject *path)
{
	gpumap_report *report = NULL;
	gpumap_plan *plan = NULL;
	HELD *kept = PyList_New(0);
	const char *name = kept ? plain_text(path, kept) : NULL;
	int r = name ? gpumap_report_new(&report) : RAISED;

	if (r == GPUMAP_OK)
		r = python_file_given(name, report);
	if (r == GPUMAP_OK)
		r = gpumap_plan_read(&plan, name, report);
	return plan_wrap((PyTypeObject *)type, r, plan, report);
}

/* --- reading ---------------------------------------------------------------------------- */

static Py_ssize_t plan_length(PyObject *self)
{
	int64_t count = gpumap_plan_int(((struct plan *)self)->plan, GPUMAP_PLAN_WORLD_SIZE);

	return count > 0 ? (Py_ssize_t)count : 0;
}

static PyObject *no_such_rank(void)
{
	PyErr_SetString(PyExc_IndexError, "there is no such rank");
	return NULL;
}

static PyObject *plan_item(PyObject *self, Py_ssize_t at)
{
	const struct plan *p = (struct plan *)self;
	const struct rank_of rank = {p->plan, at};

	if (at >= 0 && at < plan_length(self))
		return record_new(p->head.state, RECORD_RANK, &rank);
	return no_such_rank();
}

static PyObject *plan_number(PyObject *self, void *attribute)
{
	return number_value(gpumap_plan_int(((struct plan *)self)->plan,
					    (enum gpumap_plan_int_attr)(intptr_t)attribute));
}

/* "if gpumap.Plan(...):" */
static int plan_bool(PyObject *self)
{
	return gpumap_plan_int(((struct plan *)self)->plan, GPUMAP_PLAN_ANSWERED) == 1;
}

static PyObject *plan_answered(PyObject *self, void *unused)
{
	return PyBool_FromLong(plan_bool(self));
}

static PyObject *plan_setting(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"key", "rank", NULL};
	const char *key, *value;
	PyObject *of = Py_None;
	Py_ssize_t rank = -1;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|O:setting", names, &key, &of))
		return NULL;
	if (of != Py_None) {
		rank = PyNumber_AsSsize_t(of, PyExc_IndexError);
		if (rank == -1 && PyErr_Occurred())
			return NULL;
		if (rank < 0 || rank >= plan_length(self))
			return no_such_rank();
	}
	value = gpumap_plan_setting(((struct plan *)self)->plan, key, rank);
	if (value)
		return text_value(value);
	PyErr_SetString(PyExc_KeyError, key);
	return NULL;
}

/* --- as text ---------------------------------------------------------------------------- */

FORMATTED(plan, plain, GPUMAP_FORMAT_TEXT)
FORMATTED(plan, json, GPUMAP_FORMAT_JSON)
FORMATTED(plan, svg, GPUMAP_FORMAT_SVG)

static PyObject *plan_str(PyObject *self)
{
	return text_for_print(plan_plain(self, NULL));
}

static PyObject *plan_emit(PyObject *self, PyObject *target)
{
	const struct plan *p = (struct plan *)self;
	OWNED(report) *report = NULL;
	CLEANUP_FREE char *text = NULL;
	int emitted = 0, r = gpumap_report_new(&report);
	HELD *kept = PyList_New(0);
	const char *name = kept ? plain_text(target, kept) : NULL;

	if (r == GPUMAP_OK)
		r = name ? gpumap_plan_emit(&text, &emitted, p->plan, name, GPUMAP_FORMAT_TEXT, 0,
					    report)
			 : RAISED;
	if (!succeeded(p->head.state, r, report))
		return NULL;
	return emitted ? text_value(text) : raise_code(p->head.state, GPUMAP_EINPUT, report);
}

static PyObject *plan_repr(PyObject *self)
{
	const gpumap_plan *p = ((struct plan *)self)->plan;
	long long hosts = gpumap_plan_int(p, GPUMAP_PLAN_HOSTS);
	Py_ssize_t ranks = plan_length(self);

	return PyUnicode_FromFormat("<gpumap.Plan %zd rank%s, %lld host%s%s>", ranks,
				    ranks == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s",
				    plan_bool(self) ? "" : ", cannot be started");
}

static PyGetSetDef members[] = {
	{"answered", plan_answered, NULL, "False: it cannot be started; findings has the reason",
	 NULL},
	{"mode", plan_text, NULL, "'single', 'dp', 'ddp' or 'mp'", ATTRIBUTE(GPUMAP_PLAN_MODE)},
	{"profile", plan_text, NULL, "the name of its profile, or None",
	 ATTRIBUTE(GPUMAP_PLAN_PROFILE)},
	{"master_addr", plan_text, NULL, "where ranks meet", ATTRIBUTE(GPUMAP_PLAN_MASTER_ADDR)},
	{"master_port", plan_number, NULL, "where ranks meet; 0: a free port",
	 ATTRIBUTE(GPUMAP_PLAN_MASTER_PORT)},
	{"world_size", plan_number, NULL, "the number of ranks", ATTRIBUTE(GPUMAP_PLAN_WORLD_SIZE)},
	{"hosts", plan_number, NULL, "the number of hosts", ATTRIBUTE(GPUMAP_PLAN_HOSTS)},
	{"findings", object_findings, NULL, "errors, warnings and remarks", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"read", plan_read, METH_O | METH_CLASS,
	 "read($type, path, /)\n--\n\nA plan that gpumap plan -o has written."},
	{"setting", (PyCFunction)(void (*)(void))plan_setting, METH_VARARGS | METH_KEYWORDS,
	 "setting($self, /, key, rank=None)\n--\n\nThe value of a setting for a rank, or for the "
	 "job."},
	{"emit", plan_emit, METH_O,
	 "emit($self, launcher, /)\n--\n\nThe plan as a command or script of another launcher, "
	 "'srun'."},
	{"json", plan_json, METH_NOARGS, "json($self, /)\n--\n\nJSON, which read() takes."},
	{"svg", plan_svg, METH_NOARGS, "svg($self, /)\n--\n\nA picture, as the command makes it."},
	{"_repr_svg_", plan_svg, METH_NOARGS,
	 "_repr_svg_($self, /)\n--\n\nThe picture, for notebooks."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Plan(profile=None, *, inventory=None, environ=None, **settings)\n--\n\n"
		    "The ranks of a job: a sequence of Rank. profile is a Profile; or else its\n"
		    "settings are keywords. inventory is the machine of all hosts. It is false\n"
		    "if it cannot be started: findings has the reason.\n\n"
		    ">>> import gpumap\n"
		    ">>> plan = gpumap.Plan(inventory=4, gpus=[2, 3], device='cuda:%l',\n"
		    "...                    ids='index', command=['python3', 'train.py'])\n"
		    ">>> [(r.rank, r.physical) for r in plan]\n"
		    "[(0, 2), (1, 3)]\n"
		    ">>> plan[1].environ['CUDA_VISIBLE_DEVICES']\n"
		    "'2,3'\n"},
	{Py_tp_new, (void *)plan_new_object},
	{Py_tp_dealloc, (void *)plan_dealloc},
	{Py_tp_repr, (void *)plan_repr},
	{Py_tp_str, (void *)plan_str},
	{Py_tp_getset, members},
	{Py_tp_methods, methods},
	{Py_tp_iter, (void *)PySeqIter_New},
	{Py_sq_length, (void *)plan_length},
	{Py_sq_item, (void *)plan_item},
	{Py_mp_length, (void *)plan_length},
	{Py_mp_subscript, (void *)object_item},
	{Py_nb_bool, (void *)plan_bool},
	{0, NULL},
};

PyType_Spec plan_spec = {
	.name = "gpumap.Plan",
	.basicsize = sizeof(struct plan),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
