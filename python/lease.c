/* SPDX-License-Identifier: MIT */
/* A lease, for pick() of the Python part. */
#include "module.h"

#include "lease_here.h"
#include "report.h"

struct lease {
	struct object head;
	gpumap_lease *lease; /* NULL: it was released */
};

static void lease_dealloc(PyObject *self)
{
	gpumap_lease_free(((struct lease *)self)->lease);
	object_free(self);
}

/* --- waiting ---------------------------------------------------------------------------- */

struct claiming {
	gpumap_claim *claim;
	gpumap_report *report;
};

struct wait {
	PyThreadState *thread;
	PyObject *told; /* called with what it waits for; None: nobody */
	bool raised;
};

/* Without the interpreter's lock. The exception of a signal stays in the thread. */
static int while_waiting(const char *text, void *data)
{
	struct wait *w = data;

	PyEval_RestoreThread(w->thread);
	w->raised = PyErr_CheckSignals() < 0;
	if (!w->raised && text && w->told != Py_None) {
		PyObject *value = text_value(text);
		PyObject *ret = value ? PyObject_CallFunctionObjArgs(w->told, value, NULL) : NULL;

		w->raised = !ret;
		Py_XDECREF(value);
		Py_XDECREF(ret);
	}
	w->thread = PyEval_SaveThread();
	return w->raised;
}

static int set_key(void *data, const char *key, const char *value, const char *origin)
{
	const struct claiming *to = data;

	return gpumap_claim_set(to->claim, key, value, origin, to->report);
}

static int take(gpumap_lease **ret, PyObject *settings, struct wait *wait, gpumap_report *report)
{
	static const char *const none[] = {NULL};
	struct claiming to = {NULL, report};
	int r = gpumap_claim_new(&to.claim);

	if (r == GPUMAP_OK)
		r = keywords_each(settings, none, NULL, set_key, &to);
	if (r == GPUMAP_OK)
		r = lease_here(to.claim, report);
	if (r == GPUMAP_OK) {
		wait->thread = PyEval_SaveThread();
		r = gpumap_lease_take(ret, to.claim, while_waiting, wait, report);
		PyEval_RestoreThread(wait->thread);
	}
	gpumap_claim_free(to.claim);
	return wait->raised ? RAISED : r;
}

static const void *gpu(const void *lease, size_t i)
{
	return gpumap_lease_device(lease, i);
}

/* _take(settings, told): (Lease, visible list, GPUs, findings) */
PyObject *lease_take_now(PyObject *module, PyObject *arguments)
{
	const struct module_state *state = PyModule_GetState(module);
	struct wait wait = {NULL, NULL, false};
	gpumap_report *report = NULL;
	gpumap_lease *taken = NULL;
	PyObject *settings, *ret = NULL;
	struct lease *lease = NULL;
	int r;

	if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &settings, &wait.told))
		return NULL;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = take(&taken, settings, &wait, report);
	if (succeeded(state, r, report))
		lease = object_new((PyTypeObject *)state->types[TYPE_LEASE]);
	if (lease) {
		lease->lease = taken;
		ret = Py_BuildValue(
			"(NNNN)", lease, text_value(gpumap_lease_visible(taken)),
			record_tuple(state, RECORD_GPU, gpumap_lease_count(taken), gpu, taken),
			findings_tuple(state, report));
	} else {
		gpumap_lease_free(taken);
	}
	gpumap_report_free(report);
	return ret;
}

static PyObject *lease_release(PyObject *self, PyObject *unused)
{
	struct lease *l = (struct lease *)self;
	gpumap_lease *lease = l->lease;

	(void)unused;
	l->lease = NULL;
	gpumap_lease_free(lease);
	Py_RETURN_NONE;
}

static PyObject *lease_descriptor_list(PyObject *self, void *unused)
{
	const gpumap_lease *lease = ((struct lease *)self)->lease;
	PyObject *list = PyList_New(0);
	int fd;

	(void)unused;
	for (size_t i = 0; list && lease && (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++) {
		PyObject *number = PyLong_FromLong(fd);

		if (!number || PyList_Append(list, number) < 0)
			Py_CLEAR(list);
		Py_XDECREF(number);
	}
	return list;
}

static PyGetSetDef members[] = {
	{"descriptors", lease_descriptor_list, NULL, "those that hold the lease", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"release", lease_release, METH_NOARGS, "Ends the lease."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "The locks of a lease."},
	{Py_tp_dealloc, (void *)lease_dealloc},
	{Py_tp_getset, members},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec lease_spec = {
	.name = "gpumap._Lease",
	.basicsize = sizeof(struct lease),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
