/* SPDX-License-Identifier: MIT */
/* gpumap.Mapping: the answer. */
#include "module.h"

#include <limits.h>

#include "cli/which_machine.h"
#include "report/report.h"
#include "resolve/resolve.h"

OBJECT(mapping)

/* --- the question ----------------------------------------------------------------------- */

struct asking {
	const struct module_state *state;
	PyObject *keywords, *kept;
	const char **variables;
	gpumap_request *request;
	gpumap_inventory *owned;           /* to be freed */
	const gpumap_inventory *inventory; /* NULL: a what-if */
	gpumap_report *report;
};

static const char *const not_statements[] = {"inventory", "environ", "ask_driver", "_origins",
					     NULL};

static int set_statement(void *data, const char *key, const char *value, const char *origin)
{
	const struct asking *a = data;

	return gpumap_request_set(a->request, key, value, origin, a->report);
}

static int read_statements(struct asking *a)
{
	PyObject *variables = keyword(a->keywords, "environ");
	int r = keywords_each(a->keywords, not_statements, keyword(a->keywords, "_origins"),
			      set_statement, a);

	if (r != GPUMAP_OK || !variables)
		return r;
	a->variables = environ_words(variables, a->kept);
	if (!a->variables)
		return RAISED;
	return gpumap_request_set_environ(a->request, a->variables, a->report);
}

/* As the command finds it, except that a list in the statements is not compared with this host:
 * that would take milliseconds, for a what-if. */
static int find_machine(struct asking *a)
{
	struct question question = {.request = a->request};
	const char *named =
		a->variables ? environ_nonempty(a->variables, "GPUMAP_INVENTORY") : NULL;
	enum list_from from;
	int r;

	if (named)
		return inventory_open_named(&a->owned, named, a->report);
	r = resolve_list_from(&from, a->request);
	if (r != GPUMAP_OK || from == LIST_FROM_KEYS)
		return r;
	Py_BEGIN_ALLOW_THREADS
	r = question_machine(&question, a->report);
	Py_END_ALLOW_THREADS
	a->owned = question.machine;
	gpumap_inventory_free(question.host);
	return unless_signalled(r);
}

static int choose_machine(struct asking *a)
{
	PyObject *inventory = keyword(a->keywords, "inventory");
	PyObject *ask_driver = keyword(a->keywords, "ask_driver");
	int r = GPUMAP_OK, asks = ask_driver ? PyObject_IsTrue(ask_driver) : 0;

	if (asks < 0)
		return RAISED;
	if (asks) {
		if (!inventory) {
			r = probe_host(&a->owned, true, false, a->report);
		} else {
			PyErr_SetString(PyExc_TypeError,
					"ask_driver asks this machine: leave inventory out");
			return RAISED;
		}
	} else if (inventory) {
		a->inventory = inventory_of(a->state, inventory, &a->owned, a->report);
		return a->inventory ? GPUMAP_OK : RAISED;
	} else {
		r = find_machine(a);
	}
	a->inventory = a->owned;
	return r;
}

static int ask(struct asking *a, gpumap_mapping **ret)
{
	int r = gpumap_report_new(&a->report);

	if (r == GPUMAP_OK)
		r = gpumap_request_new(&a->request);
	if (r == GPUMAP_OK)
		r = read_statements(a);
	if (r == GPUMAP_OK)
		r = choose_machine(a);
	return r == GPUMAP_OK ? gpumap_resolve(ret, a->request, a->inventory, a->report) : r;
}

static PyObject *mapping_new_object(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	struct asking a = {.state = state_of_type(type), .keywords = keywords};
	gpumap_mapping *mapping = NULL;
	PyObject *ret;
	int r;

	if (PyTuple_Size(arguments)) {
		PyErr_SetString(PyExc_TypeError, "resolve takes keywords, as in "
						 "resolve(visible='2,3', device=1)");
		return NULL;
	}
	a.kept = PyList_New(0);
	r = a.kept ? ask(&a, &mapping) : RAISED;
	ret = mapping_wrap(type, r, mapping, a.report);
	gpumap_request_free(a.request);
	gpumap_inventory_free(a.owned);
	PyMem_Free((void *)a.variables);
	Py_XDECREF(a.kept);
	return ret;
}

/* --- the answer ------------------------------------------------------------------------- */

static PyObject *device_or_none(const struct mapping *m, const gpumap_entry *entry)
{
	return entry ? record_new(m->head.state, RECORD_DEVICE, entry) : text_value(NULL);
}

static PyObject *mapping_device(PyObject *self, void *unused)
{
	const struct mapping *m = (struct mapping *)self;

	return device_or_none(m, gpumap_mapping_chosen(m->mapping));
}

static PyObject *mapping_master(PyObject *self, void *unused)
{
	const struct mapping *m = (struct mapping *)self;

	return device_or_none(m, gpumap_mapping_master(m->mapping));
}

/* Of the device that the program uses. */
static PyObject *device_number(PyObject *self, void *attribute)
{
	return number_value(
		gpumap_entry_int(gpumap_mapping_chosen(((struct mapping *)self)->mapping),
				 (enum gpumap_entry_int_attr)(intptr_t)attribute));
}

static PyObject *device_text(PyObject *self, void *attribute)
{
	return text_value(gpumap_entry_str(gpumap_mapping_chosen(((struct mapping *)self)->mapping),
					   (enum gpumap_entry_str_attr)(intptr_t)attribute));
}

static PyObject *device_certainty(PyObject *self, void *unused)
{
	const gpumap_entry *entry = gpumap_mapping_chosen(((struct mapping *)self)->mapping);

	return text_value(entry ? gpumap_certainty_name((enum gpumap_certainty)gpumap_entry_int(
					  entry, GPUMAP_ENTRY_CERTAINTY))
				: NULL);
}

static PyObject *mapping_answered(PyObject *self, void *unused)
{
	return PyBool_FromLong(gpumap_mapping_int(((struct mapping *)self)->mapping,
						  GPUMAP_MAPPING_ANSWERED) == 1);
}

/* The getter mapping_all(), of records that gpumap_mapping_one() gives. */
#define RECORDS(all, one, kind) \
	static const void *one(const void *mapping, size_t i) \
	{ \
		return gpumap_mapping_##one(mapping, i); \
	} \
	static PyObject *mapping_##all(PyObject *self, void *unused) \
	{ \
		const struct mapping *m = (struct mapping *)self; \
\
		(void)unused; \
		return record_tuple(m->head.state, kind, gpumap_mapping_##one##_count(m->mapping), \
				    one, m->mapping); \
	}
RECORDS(visible, visible, RECORD_DEVICE)
RECORDS(replicas, replica, RECORD_DEVICE)
RECORDS(steps, step, RECORD_STEP)

static PyObject *samples(const void *mapping, size_t i)
{
	return number_value(gpumap_mapping_replica_samples(mapping, i));
}

static PyObject *mapping_samples(PyObject *self, void *unused)
{
	const gpumap_mapping *m = ((struct mapping *)self)->mapping;
	size_t count = gpumap_mapping_replica_count(m), n = 0;

	while (n < count && gpumap_mapping_replica_samples(m, n) >= 0)
		n++;
	return tuple_of(n, samples, m);
}

/* --- as text ---------------------------------------------------------------------------- */

FORMATTED(mapping, plain, GPUMAP_FORMAT_TEXT)
FORMATTED(mapping, json, GPUMAP_FORMAT_JSON)
FORMATTED(mapping, svg, GPUMAP_FORMAT_SVG)

static PyObject *mapping_str(PyObject *self)
{
	return text_for_print(mapping_plain(self, NULL));
}

static PyObject *mapping_repr(PyObject *self)
{
	const gpumap_mapping *m = ((struct mapping *)self)->mapping;
	const gpumap_entry *entry = gpumap_mapping_chosen(m);
	int64_t physical = gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL);

	if (!entry)
		return PyUnicode_FromFormat("<gpumap.Mapping no GPU, %zu visible>",
					    gpumap_mapping_visible_count(m));
	if (physical < 0)
		return PyUnicode_FromFormat(
			"<gpumap.Mapping cuda:%lld is one of %zu GPUs>",
			(long long)gpumap_entry_int(entry, GPUMAP_ENTRY_LOGICAL),
			gpumap_entry_candidate_count(entry));
	return PyUnicode_FromFormat("<gpumap.Mapping cuda:%lld is GPU %lld>",
				    (long long)gpumap_entry_int(entry, GPUMAP_ENTRY_LOGICAL),
				    (long long)physical);
}

static PyObject *mapping_logical_of(PyObject *self, PyObject *physical)
{
	int overflow;
	long number = PyLong_AsLongAndOverflow(physical, &overflow);

	if (PyErr_Occurred())
		return NULL;
	if (overflow || number < 0 || number > INT_MAX)
		Py_RETURN_NONE;
	return number_value(gpumap_mapping_logical(((struct mapping *)self)->mapping, (int)number));
}

/* The command gives the same in one object of JSON. */
static PyObject *mapping_to_dict(PyObject *self, PyObject *unused)
{
	HELD *json = PyImport_ImportModule("json");
	HELD *text = json ? mapping_json(self, unused) : NULL;

	return text ? PyObject_CallMethod(json, "loads", "O", text) : NULL;
}

static PyGetSetDef members[] = {
	{"answered", mapping_answered, NULL, "False: the answer is an error of findings", NULL},
	{"physical", device_number, NULL, "nvidia-smi's number of the GPU that is used, or None",
	 ATTRIBUTE(GPUMAP_ENTRY_PHYSICAL)},
	{"logical", device_number, NULL, "N of the cuda:N that is used, or None",
	 ATTRIBUTE(GPUMAP_ENTRY_LOGICAL)},
	{"mig", device_number, NULL, "index of the MIG instance that is used, or None",
	 ATTRIBUTE(GPUMAP_ENTRY_MIG)},
	{"uuid", device_text, NULL, "of the GPU that is used, or None",
	 ATTRIBUTE(GPUMAP_ENTRY_UUID)},
	{"certainty", device_certainty, NULL,
	 "'certain', 'likely', 'assumed', 'undecidable', or None", NULL},
	{"device", mapping_device, NULL, "the Device that is used, or None", NULL},
	{"master", mapping_master, NULL, "the Device that is DataParallel's master, or None", NULL},
	{"visible", mapping_visible, NULL, "the devices that the program sees, in its order", NULL},
	{"replicas", mapping_replicas, NULL, "the devices of replicas or stages", NULL},
	{"samples", mapping_samples, NULL, "how many samples of the batch each replica gets", NULL},
	{"mode", mapping_text, NULL, "'single', 'dp', 'ddp' or 'mp'",
	 ATTRIBUTE(GPUMAP_MAPPING_MODE)},
	{"assumption", mapping_text, NULL, "what the answer assumes, or None",
	 ATTRIBUTE(GPUMAP_MAPPING_ASSUMPTION)},
	{"steps", mapping_steps, NULL, "the rules that were used, in order", NULL},
	{"findings", object_findings, NULL, "errors, warnings and remarks", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

/* "if gpumap.resolve(...):" */
static int mapping_bool(PyObject *self)
{
	const struct mapping *m = (struct mapping *)self;

	return gpumap_mapping_int(m->mapping, GPUMAP_MAPPING_ANSWERED) == 1;
}

static PyMethodDef methods[] = {
	{"json", mapping_json, METH_NOARGS,
	 "json($self, /)\n--\n\nJSON, as the command prints it."},
	{"svg", mapping_svg, METH_NOARGS,
	 "svg($self, /)\n--\n\nA picture, as the command makes it."},
	{"_repr_svg_", mapping_svg, METH_NOARGS,
	 "_repr_svg_($self, /)\n--\n\nThe picture, for notebooks."},
	{"to_dict", mapping_to_dict, METH_NOARGS,
	 "to_dict($self, /)\n--\n\nThe JSON as dicts and lists."},
	{"logical_of", mapping_logical_of, METH_O,
	 "logical_of($self, physical, /)\n--\n\n"
	 "N of the cuda:N that is this GPU, or None.\n\n"
	 ">>> import gpumap\n"
	 ">>> gpumap.resolve(visible='2,3').logical_of(3)\n"
	 "1\n"},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
	 "Mapping(**statements)\n--\n\n"
	 "Which physical GPU a program will use, and why, as resolve() gives it; str() is\n"
	 "the explanation. It is false if there is no answer: findings has the reason.\n\n"
	 ">>> import gpumap\n"
	 ">>> answer = gpumap.resolve(visible='2,3', device=1)\n"
	 ">>> answer\n"
	 "<gpumap.Mapping cuda:1 is GPU 3>\n"
	 ">>> [step.rule for step in answer.steps]\n"
	 "['S1', 'V1', 'D1']\n"},
	{Py_tp_new, (void *)mapping_new_object},
	{Py_tp_dealloc, (void *)mapping_dealloc},
	{Py_tp_repr, (void *)mapping_repr},
	{Py_tp_str, (void *)mapping_str},
	{Py_nb_bool, (void *)mapping_bool},
	{Py_tp_getset, members},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec mapping_spec = {
	.name = "gpumap.Mapping",
	.basicsize = sizeof(struct mapping),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
