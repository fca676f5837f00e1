/* SPDX-License-Identifier: MIT */
/* A lease, for pick() of the Python part. */
#include "module.h"

#include <errno.h>
#include <unistd.h>

#include "pick/lease_end.h"
#include "pick/lease_here.h"
#include "report/report.h"

struct lease {
	struct object head;
	gpumap_lease *lease; /* NULL: it was released */
	gpumap_claim *claim;
	struct lease_limits limits;
	struct lease_end end;
	pid_t pid; /* which took it */
};

/* A process that was forked since has copies of the descriptors, and no note. */
static void let_go(struct lease *l)
{
	gpumap_lease *lease = l->lease;

	l->lease = NULL;
	if (l->pid != getpid()) {
		if (l->end.timer >= 0)
			close(l->end.timer);
		l->end.timer = -1;
	} else if (lease) {
		lease_end_close(&l->end);
	}
	gpumap_lease_free(lease);
}

static void lease_dealloc(PyObject *self)
{
	struct lease *l = (struct lease *)self;

	let_go(l);
	gpumap_claim_free(l->claim);
	object_free(l);
}

/* --- waiting ---------------------------------------------------------------------------- */

struct claiming {
	struct lease *lease;
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
		HELD *value = text_value(text);
		HELD *ret = value ? PyObject_CallFunctionObjArgs(w->told, value, NULL) : NULL;

		w->raised = !ret;
	}
	w->thread = PyEval_SaveThread();
	return w->raised;
}

static int set_key(void *data, const char *key, const char *value, const char *origin)
{
	const struct claiming *to = data;
	int r = lease_limits_option(&to->lease->limits, origin, value, to->report);

	if (r != GPUMAP_OK || streq(key, "idle"))
		return r;
	return gpumap_claim_set(to->lease->claim, key, value, origin, to->report);
}

static int begin_end(struct lease *l)
{
	l->limits.claim = l->claim;
	if (lease_end_begin(&l->end, &l->limits, l->lease, l->pid))
		return GPUMAP_OK;
	if (errno == ENOMEM)
		return GPUMAP_ENOMEM;
	PyErr_SetFromErrno(PyExc_OSError);
	return RAISED;
}

static int take(struct lease *l, PyObject *settings, struct wait *wait, gpumap_report *report)
{
	static const char *const none[] = {NULL};
	struct claiming to = {l, report};
	int r = gpumap_claim_new(&l->claim);

	if (r == GPUMAP_OK)
		r = keywords_each(settings, none, NULL, set_key, &to);
	if (r == GPUMAP_OK)
		r = lease_here(l->claim, report);
	if (r == GPUMAP_OK)
		r = lease_limits_bound(&l->limits, l->claim, report);
	if (r == GPUMAP_OK) {
		wait->thread = PyEval_SaveThread();
		r = gpumap_lease_take(&l->lease, l->claim, while_waiting, wait, report);
		PyEval_RestoreThread(wait->thread);
	}
	if (wait->raised)
		return RAISED;
	if (r == GPUMAP_OK)
		r = lease_limits_check(&l->limits, l->lease, report);
	return r == GPUMAP_OK ? begin_end(l) : r;
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
	OWNED(report) *report = NULL;
	PyObject *settings;
	HELD *made = NULL;
	struct lease *l;
	int r;

	if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &settings, &wait.told))
		return NULL;
	l = object_new((PyTypeObject *)state->types[TYPE_LEASE], GPUMAP_OK, NULL);
	made = (PyObject *)l;
	if (!l)
		return NULL;
	l->pid = getpid();
	l->end.timer = l->end.note.fd = -1;
	r = gpumap_report_new(&report);
	if (r == GPUMAP_OK)
		r = take(l, settings, &wait, report);
	if (!succeeded(state, r, report))
		return NULL;
	return Py_BuildValue(
		"(ONNN)", l, text_value(gpumap_lease_visible(l->lease)),
		record_tuple(state, RECORD_GPU, gpumap_lease_count(l->lease), gpu, l->lease),
		findings_tuple(state, report));
}

/* Looks whether its end is near or has come: a line for the user, or None. */
static PyObject *lease_look(PyObject *self, PyObject *unused)
{
	struct lease *l = (struct lease *)self;
	char text[LEASE_END_TEXT];
	const char *told = NULL;

	if (!l->lease || l->end.timer < 0)
		return text_value(NULL);
	Py_BEGIN_ALLOW_THREADS
	told = lease_end_look(&l->end, text);
	Py_END_ALLOW_THREADS
	return text_value(told);
}

static PyObject *lease_timer(PyObject *self, void *unused)
{
	return PyLong_FromLong(((struct lease *)self)->end.timer);
}

static PyObject *lease_ended(PyObject *self, void *unused)
{
	const struct lease *l = (struct lease *)self;

	return PyBool_FromLong(!l->lease || (lease_limits_given(&l->limits) && l->end.timer < 0));
}

static PyObject *lease_release(PyObject *self, PyObject *unused)
{
	let_go((struct lease *)self);
	Py_RETURN_NONE;
}

static PyObject *lease_descriptor_list(PyObject *self, void *unused)
{
	const gpumap_lease *lease = ((struct lease *)self)->lease;
	PyObject *list = PyList_New(0);
	int fd;

	for (size_t i = 0; list && lease && (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++) {
		HELD *number = PyLong_FromLong(fd);

		if (!number || PyList_Append(list, number) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyGetSetDef members[] = {
	{"descriptors", lease_descriptor_list, NULL, "those that hold the lease", NULL},
	{"ended", lease_ended, NULL, "by release(), or by its time", NULL},
	{"timer", lease_timer, NULL, "readable when look() is due; -1: it has no end of its own",
	 NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"look", lease_look, METH_NOARGS,
	 "look($self, /)\n--\n\nA line if its end is near or has come, or None."},
	{"release", lease_release, METH_NOARGS, "release($self, /)\n--\n\nEnds the lease."},
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
