/* SPDX-License-Identifier: MIT */
/* What all types share. */
#include "module.h"

const struct module_state *state_of_type(PyTypeObject *type)
{
	PyObject *module;

	while (!(module = PyType_GetModule(type))) {
		PyErr_Clear();
		type = PyType_GetSlot(type, Py_tp_base);
	}
	return PyModule_GetState(module);
}

void *object_new(PyTypeObject *type, int code, gpumap_report *report)
{
	/* To find the state of a class that inherits clears exceptions. */
	const struct module_state *state = code == RAISED ? NULL : state_of_type(type);
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct object *object = NULL;

	if (state && succeeded(state, code, report))
		object = (struct object *)allocate(type, 0);
	if (!object) {
		gpumap_report_free(report);
		return NULL;
	}
	object->state = state;
	object->report = report;
	return object;
}

void object_free(void *object)
{
	PyTypeObject *type = Py_TYPE((PyObject *)object);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	gpumap_report_free(((struct object *)object)->report);
	release(object);
	Py_DECREF(type);
}

PyObject *object_item(PyObject *self, PyObject *at)
{
	Py_ssize_t number;

	if (PyObject_TypeCheck(at, &PySlice_Type)) {
		HELD *all = PySequence_Tuple(self);

		return all ? PyObject_GetItem(all, at) : NULL;
	}
	number = PyNumber_AsSsize_t(at, PyExc_IndexError);
	return number == -1 && PyErr_Occurred() ? NULL : PySequence_GetItem(self, number);
}

PyObject *object_findings(PyObject *self, void *unused)
{
	const struct object *object = (struct object *)self;

	return findings_tuple(object->state, object->report);
}
