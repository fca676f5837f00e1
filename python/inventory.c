/* SPDX-License-Identifier: MIT */
/* gpumap.Inventory: the GPUs that there are. */
#include "module.h"

#include "plan_hosts.h"

OBJECT(inventory)

/* --- opening ---------------------------------------------------------------------------- */

int probe_host(gpumap_inventory **ret, bool ask_driver, bool usage, gpumap_report *report)
{
	unsigned flags = (ask_driver ? GPUMAP_PROBE_FLAG_ASK_DRIVER : 0) |
			 (usage ? GPUMAP_PROBE_FLAG_USAGE : 0);
	int r;

	Py_BEGIN_ALLOW_THREADS
	r = gpumap_inventory_probe(ret, flags, NULL, report);
	Py_END_ALLOW_THREADS
	return unless_signalled(r);
}

int inventory_open_named(gpumap_inventory **ret, const char *what, gpumap_report *report)
{
	int r;

	Py_BEGIN_ALLOW_THREADS
	r = python_machine_open(ret, what, report);
	Py_END_ALLOW_THREADS
	return unless_signalled(r);
}

const gpumap_inventory *inventory_of(const struct module_state *state, PyObject *value,
				     gpumap_inventory **owned, gpumap_report *report)
{
	HELD *kept = NULL;
	const char *what;

	*owned = NULL;
	if (Py_TYPE(value) == (PyTypeObject *)state->types[TYPE_INVENTORY])
		return ((struct inventory *)value)->inventory;
	kept = PyList_New(0);
	what = kept ? argument_text("inventory", value, kept) : NULL;
	if (what && !succeeded(state, inventory_open_named(owned, what, report), report)) {
		gpumap_inventory_free(*owned);
		*owned = NULL;
	}
	return *owned;
}

static PyObject *inventory_new_object(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"what", NULL};
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	const char *text = "host";
	PyObject *what = NULL;
	HELD *kept = NULL;
	int r;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Inventory", names, &what))
		return NULL;
	kept = PyList_New(0);
	if (kept && what)
		text = argument_text("what", what, kept);
	if (!kept || !text)
		return NULL;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = inventory_open_named(&inventory, text, report);
	return inventory_wrap(type, r, inventory, report);
}

static PyObject *inventory_read(PyObject *type, PyObject *what)
{
	return PyObject_CallFunctionObjArgs(type, what, NULL);
}

static PyObject *inventory_parse(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"text", "origin", NULL};
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	const char *text, *origin = "text";
	Py_ssize_t size;
	int r;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s#|s:parse", names, &text, &size,
					 &origin))
		return NULL;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = gpumap_inventory_parse(&inventory, text, (size_t)size, origin, report);
	return inventory_wrap((PyTypeObject *)type, r, inventory, report);
}

static PyObject *inventory_probe(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"ask_driver", "usage", NULL};
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	int ask_driver = 0, usage = 0, r;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$pp:probe", names, &ask_driver,
					 &usage))
		return NULL;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = probe_host(&inventory, ask_driver, usage, report);
	return inventory_wrap((PyTypeObject *)type, r, inventory, report);
}

/* --- reading ---------------------------------------------------------------------------- */

static Py_ssize_t inventory_length(PyObject *self)
{
	return (Py_ssize_t)gpumap_inventory_count(((struct inventory *)self)->inventory);
}

static PyObject *inventory_item(PyObject *self, Py_ssize_t at)
{
	const struct inventory *i = (struct inventory *)self;
	const gpumap_device *gpu = at < 0 ? NULL : gpumap_inventory_get(i->inventory, (size_t)at);

	if (gpu)
		return record_new(i->head.state, RECORD_GPU, gpu);
	PyErr_SetString(PyExc_IndexError, "there is no such GPU");
	return NULL;
}

static PyObject *inventory_flag(PyObject *self, void *attribute)
{
	return PyBool_FromLong(
		gpumap_inventory_int(((struct inventory *)self)->inventory,
				     (enum gpumap_inventory_int_attr)(intptr_t)attribute) == 1);
}

FORMATTED(inventory, json, GPUMAP_FORMAT_JSON)
FORMATTED(inventory, ini, GPUMAP_FORMAT_INI)

static PyObject *inventory_save(PyObject *self, PyObject *path)
{
	const struct inventory *i = (struct inventory *)self;
	OWNED(report) *report = NULL;
	HELD *kept = PyList_New(0);
	const char *name = kept ? plain_text(path, kept) : NULL;
	int r = name ? gpumap_report_new(&report) : RAISED;

	if (r == GPUMAP_OK)
		r = gpumap_inventory_save(i->inventory, name, report);
	return succeeded(i->head.state, r, report) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *inventory_repr(PyObject *self)
{
	const gpumap_inventory *i = ((struct inventory *)self)->inventory;
	const char *host = gpumap_inventory_str(i, GPUMAP_INVENTORY_HOST);
	const char *source = gpumap_inventory_str(i, GPUMAP_INVENTORY_SOURCE);

	return PyUnicode_FromFormat("<gpumap.Inventory %zu GPUs, %s%s%s>",
				    gpumap_inventory_count(i), source ? source : "?",
				    host ? ", " : "", host ? host : "");
}

static PyGetSetDef members[] = {
	{"source", inventory_text, NULL, "'nvml', 'proc', 'snapshot', 'nvidia-smi -L', ...",
	 ATTRIBUTE(GPUMAP_INVENTORY_SOURCE)},
	{"origin", inventory_text, NULL, "file, host or text that it was made from",
	 ATTRIBUTE(GPUMAP_INVENTORY_ORIGIN)},
	{"driver", inventory_text, NULL, "version of the driver",
	 ATTRIBUTE(GPUMAP_INVENTORY_DRIVER)},
	{"host", inventory_text, NULL, "name of the host", ATTRIBUTE(GPUMAP_INVENTORY_HOST)},
	{"date", inventory_text, NULL, "when it was recorded", ATTRIBUTE(GPUMAP_INVENTORY_DATE)},
	{"no_gpu", inventory_text, NULL, "why no program can use a GPU here, or None",
	 ATTRIBUTE(GPUMAP_INVENTORY_NO_GPU)},
	{"assumed", inventory_flag, NULL, "whether its GPUs may not exist",
	 ATTRIBUTE(GPUMAP_INVENTORY_ASSUMED)},
	{"partial", inventory_flag, NULL, "whether GPUs may be missing",
	 ATTRIBUTE(GPUMAP_INVENTORY_PARTIAL)},
	{"usage", inventory_flag, NULL, "whether the use of its GPUs was read",
	 ATTRIBUTE(GPUMAP_INVENTORY_USAGE)},
	{"findings", object_findings, NULL, "what was found when it was read", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"probe", (PyCFunction)(void (*)(void))inventory_probe,
	 METH_VARARGS | METH_KEYWORDS | METH_CLASS,
	 "probe($type, /, *, ask_driver=False, usage=False)\n--\n\n"
	 "The GPUs of this host, from NVML or /proc; no CUDA context is made.\n"
	 "usage: with the load, memory and processes of each GPU. ask_driver: CUDA's own\n"
	 "order is measured, in another process."},
	{"read", inventory_read, METH_O | METH_CLASS,
	 "read($type, what, /)\n--\n\n"
	 "The machine that --inventory takes: a file, 'host', 8 or '8xH100'.\n\n"
	 ">>> import gpumap\n"
	 ">>> [gpu.name for gpu in gpumap.Inventory.read('1xH100+1xA100')]\n"
	 "['H100', 'A100']\n"},
	{"parse", (PyCFunction)(void (*)(void))inventory_parse,
	 METH_VARARGS | METH_KEYWORDS | METH_CLASS,
	 "parse($type, /, text, origin='text')\n--\n\n"
	 "The machine that a text describes: what nvidia-smi or gpumap has printed."},
	{"json", inventory_json, METH_NOARGS,
	 "json($self, /)\n--\n\nJSON, as the command prints it."},
	{"ini", inventory_ini, METH_NOARGS, "ini($self, /)\n--\n\nA snapshot, which read() takes."},
	{"save", inventory_save, METH_O, "save($self, path, /)\n--\n\nWrites the snapshot."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Inventory(what='host')\n--\n\n"
		    "The GPUs that there are: a sequence of GPU.\n\n"
		    ">>> import gpumap\n"
		    ">>> machine = gpumap.Inventory('4xH100')\n"
		    ">>> len(machine), machine[-1].physical\n"
		    "(4, 3)\n"},
	{Py_tp_new, (void *)inventory_new_object},
	{Py_tp_dealloc, (void *)inventory_dealloc},
	{Py_tp_repr, (void *)inventory_repr},
	{Py_tp_getset, members},
	{Py_tp_methods, methods},
	{Py_tp_iter, (void *)PySeqIter_New},
	{Py_sq_length, (void *)inventory_length},
	{Py_sq_item, (void *)inventory_item},
	{Py_mp_length, (void *)inventory_length},
	{Py_mp_subscript, (void *)object_item},
	{0, NULL},
};

PyType_Spec inventory_spec = {
	.name = "gpumap.Inventory",
	.basicsize = sizeof(struct inventory),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
