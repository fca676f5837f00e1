/* SPDX-License-Identifier: MIT */
/* Values between Python and the library. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "text.h"
#include "words.h"

PyObject *tuple_of(size_t count, PyObject *(*item)(const void *from, size_t i), const void *from)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; tuple && i < count; i++) {
		PyObject *value = item(from, i);

		if (!value || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

PyObject *text_value(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *number_value(int64_t number)
{
	if (number < 0)
		Py_RETURN_NONE;
	return PyLong_FromLongLong(number);
}

PyObject *text_for_print(PyObject *text)
{
	Py_ssize_t length = text ? PyUnicode_GetLength(text) : 0;
	PyObject *ret;

	if (length == 0 || PyUnicode_ReadChar(text, length - 1) != '\n')
		return text;
	ret = PyUnicode_Substring(text, 0, length - 1);
	Py_DECREF(text);
	return ret;
}

/* --- texts for the library -------------------------------------------------------------- */

/* Keeps a str as bytes. */
static const char *keep(PyObject *text, PyObject *kept)
{
	PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
	char *ret = NULL;

	if (bytes &&
	    (PyBytes_AsStringAndSize(bytes, &ret, NULL) < 0 || PyList_Append(kept, bytes) < 0))
		ret = NULL;
	Py_XDECREF(bytes);
	return ret;
}

const char *plain_text(PyObject *value, PyObject *kept)
{
	PyObject *text = PyUnicode_Check(value) ? Py_NewRef(value) : PyObject_Str(value);
	const char *ret = text ? keep(text, kept) : NULL;

	Py_XDECREF(text);
	return ret;
}

/* "2,3" of a list, tuple or range. */
static const char *joined(PyObject *values, PyObject *kept)
{
	PyObject *words = PySequence_List(values), *comma = NULL, *text = NULL;
	const char *ret = NULL;
	Py_ssize_t count = words ? PyList_Size(words) : -1, i = 0;

	for (; i < count; i++) {
		PyObject *word = PyObject_Str(PyList_GetItem(words, i));

		if (!word || PyList_SetItem(words, i, word) < 0)
			break;
	}
	if (words && i == count)
		comma = PyUnicode_FromString(",");
	if (comma)
		text = PyUnicode_Join(comma, words);
	if (text)
		ret = keep(text, kept);
	Py_XDECREF(text);
	Py_XDECREF(comma);
	Py_XDECREF(words);
	return ret;
}

const char *value_text(PyObject *value, PyObject *kept)
{
	if (PyBool_Check(value))
		return PyObject_IsTrue(value) ? "yes" : "no";
	if (PyUnicode_Check(value) || PyLong_Check(value))
		return plain_text(value, kept);
	if (PyList_Check(value) || PyTuple_Check(value) || PyObject_TypeCheck(value, &PyRange_Type))
		return joined(value, kept);
	if (PyAnySet_Check(value)) {
		PyErr_SetString(PyExc_TypeError, "a set has no order: write a list");
		return NULL;
	}
	return plain_text(value, kept);
}

/* "NAME=value"; "-NAME" for None. */
static const char *assignment(PyObject *name, PyObject *value, PyObject *kept)
{
	PyObject *text = value == Py_None ? PyUnicode_FromFormat("-%S", name)
					  : PyUnicode_FromFormat("%S=%S", name, value);
	const char *ret = text ? keep(text, kept) : NULL;

	Py_XDECREF(text);
	return ret;
}

const char **environ_words(PyObject *variables, PyObject *kept)
{
	PyObject *items = PyMapping_Items(variables);
	Py_ssize_t count = items ? PyList_Size(items) : -1, n = 0;
	const char **words = NULL;

	if (items)
		words = PyMem_Calloc((size_t)count + 1, sizeof(*words));
	if (items && !words)
		PyErr_NoMemory();
	for (; words && n < count; n++) {
		PyObject *name, *value;

		if (!PyArg_ParseTuple(PyList_GetItem(items, n), "UU;environ has str", &name,
				      &value) ||
		    !(words[n] = assignment(name, value, kept))) {
			PyMem_Free(words);
			words = NULL;
		}
	}
	Py_XDECREF(items);
	return words;
}

/* --- keywords --------------------------------------------------------------------------- */

/* Nothing is allocated, so no keyword is missed. */
PyObject *keyword(PyObject *keywords, const char *name)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	while (keywords && PyDict_Next(keywords, &at, &key, &value))
		if (PyUnicode_CompareWithASCIIString(key, name) == 0)
			return value == Py_None ? NULL : value;
	return NULL;
}

struct setting {
	PyObject *key, *value, *kept, *origins;
	const char *name;
	char option[64], plain[64];
	int (*set)(void *data, const char *key, const char *value, const char *origin);
	void *data;
};

/* "set_device" is the option --set-device; "from_" is written for the key "from". */
static void name_option(struct setting *s)
{
	size_t n = 0;

	for (; s->name[n] && n < sizeof(s->plain) - 3; n++)
		s->plain[n] = s->name[n];
	while (n > 1 && s->plain[n - 1] == '_')
		n--;
	s->plain[n] = '\0';
	s->option[0] = s->option[1] = '-';
	for (size_t i = 0; i <= n; i++)
		s->option[i + 2] = s->plain[i];
	for (char *c = s->option; *c; c++)
		*c = *c == '_' ? '-' : *c;
}

/* The words of a command, quoted so that they are read back the same. */
static const char *command_text(PyObject *words, PyObject *kept)
{
	struct strbuf buf = {0};
	PyObject *text = NULL;
	const char *ret = NULL;
	Py_ssize_t count = PySequence_Size(words);

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(words, i);
		const char *word = item ? plain_text(item, kept) : NULL;

		Py_XDECREF(item);
		if (!word) {
			strbuf_free(&buf);
			return NULL;
		}
		strbuf_puts(&buf, i ? " " : "");
		words_quote(&buf, word);
	}
	text = buf.failed ? PyErr_NoMemory() : text_value(buf.text ? buf.text : "");
	if (text)
		ret = keep(text, kept);
	strbuf_free(&buf);
	Py_XDECREF(text);
	return ret;
}

static const char *setting_text(const char *key, PyObject *value, PyObject *kept)
{
	if (streq(key, "command") && (PyList_Check(value) || PyTuple_Check(value)))
		return command_text(value, kept);
	return value_text(value, kept);
}

/* The members of a dict, "NAME=value". */
static int set_variables(struct setting *s, PyObject *variables, const char *origin)
{
	PyObject *items = PyMapping_Items(variables), *name, *value;
	Py_ssize_t count = items ? PyList_Size(items) : -1;
	int r = items ? GPUMAP_OK : RAISED;

	for (Py_ssize_t i = 0; r == GPUMAP_OK && i < count; i++) {
		const char *text = NULL;

		if (PyArg_ParseTuple(PyList_GetItem(items, i), "OO", &name, &value))
			text = assignment(name, value, s->kept);
		r = text ? s->set(s->data, s->plain, text, origin) : RAISED;
	}
	Py_XDECREF(items);
	return r;
}

static bool has_dict(PyObject *values)
{
	Py_ssize_t count = PyList_Check(values) ? PyList_Size(values) : 0;

	while (count > 0 && !PyDict_Check(PyList_GetItem(values, count - 1)))
		count--;
	return count > 0;
}

static int set_value(struct setting *s, PyObject *value, const char *origin)
{
	const char *text;
	int r = GPUMAP_OK;

	if (PyDict_Check(value))
		return set_variables(s, value, origin);
	if (!has_dict(value)) {
		text = setting_text(s->plain, value, s->kept);
		return text ? s->set(s->data, s->plain, text, origin) : RAISED;
	}
	for (Py_ssize_t i = 0; r == GPUMAP_OK && i < PyList_Size(value); i++) {
		PyObject *item = Py_NewRef(PyList_GetItem(value, i));

		r = set_value(s, item, origin);
		Py_DECREF(item);
	}
	return r;
}

static int set_one(struct setting *s)
{
	PyObject *origin = s->origins ? PyDict_GetItem(s->origins, s->key) : NULL;
	const char *from = origin ? plain_text(origin, s->kept) : s->option;

	return from ? set_value(s, s->value, from) : RAISED;
}

int keywords_each(PyObject *keywords, const char *const *others, PyObject *origins,
		  int (*set)(void *data, const char *key, const char *value, const char *origin),
		  void *data)
{
	struct setting s = {.kept = PyList_New(0), .origins = origins, .set = set, .data = data};
	Py_ssize_t at = 0;
	int r = s.kept ? GPUMAP_OK : RAISED;

	while (keywords && r == GPUMAP_OK && PyDict_Next(keywords, &at, &s.key, &s.value)) {
		const char *const *other = others;

		s.name = plain_text(s.key, s.kept);
		if (!s.name) {
			r = RAISED;
			break;
		}
		while (*other && strcmp(*other, s.name) != 0)
			other++;
		if (*other || s.value == Py_None)
			continue;
		name_option(&s);
		r = set_one(&s);
	}
	Py_XDECREF(s.kept);
	return r;
}
