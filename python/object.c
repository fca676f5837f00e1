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

void *object_new(PyTypeObject *type)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct object *object = (struct object *)allocate(type, 0);

	if (object)
		object->state = state_of_type(type);
	return object;
}

void object_free(void *object)
{
	PyTypeObject *type = Py_TYPE((PyObject *)object);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	release(object);
	Py_DECREF(type);
}
