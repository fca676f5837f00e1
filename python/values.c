/* SPDX-License-Identifier: MIT */
/* Values between Python and the library. */
#include "module.h"

#include <stdio.h>
#include <string.h>

#include "base.h"
#include "text.h"
#include "text/words.h"

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
	HELD *whole = NULL;

	if (length == 0 || PyUnicode_ReadChar(text, length - 1) != '\n')
		return text;
	whole = text;
	return PyUnicode_Substring(whole, 0, length - 1);
}

/* --- texts for the library -------------------------------------------------------------- */

/* Takes a str, and keeps it as bytes. */
static const char *keep(PyObject *text, PyObject *kept)
{
	HELD *taken = text;
	HELD *bytes = taken ? PyUnicode_AsEncodedString(taken, "utf-8", "surrogateescape") : NULL;
	char *ret;

	return bytes && PyBytes_AsStringAndSize(bytes, &ret, NULL) == 0 &&
			       PyList_Append(kept, bytes) == 0
		       ? ret
		       : NULL;
}

static PyObject *path_text(PyObject *value)
{
	PyObject *path = PyOS_FSPath(value);
	HELD *bytes = NULL;

	if (!path || PyUnicode_Check(path))
		return path;
	bytes = path;
	return PyUnicode_FromEncodedObject(bytes, "utf-8", "surrogateescape");
}

const char *plain_text(PyObject *value, PyObject *kept)
{
	return keep(path_text(value), kept);
}

/* TypeError: "visible: a list, str or int is expected, not generator". */
static void *refuse(const char *name, const char *expected, PyObject *value)
{
	HELD *type = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");

	if (type && PyAnySet_Check(value))
		PyErr_Format(PyExc_TypeError, "%s: a set has no order: write a list", name);
	else if (type)
		PyErr_Format(PyExc_TypeError, "%s: %s is expected, not %S", name, expected, type);
	return NULL;
}

/* A str, a whole number or a path. Numbers may be of a class of their own, whose str() is something
 * else. */
static PyObject *word_of(const char *name, const char *expected, PyObject *value)
{
	HELD *number = NULL;
	PyObject *text;

	if (PyUnicode_Check(value))
		return Py_NewRef(value);
	if (PyBool_Check(value) || PyBytes_Check(value))
		return refuse(name, expected, value);
	if (PyIndex_Check(value)) {
		number = PyNumber_Index(value);
		return number ? PyNumber_ToBase(number, 10) : NULL;
	}
	text = path_text(value);
	if (text || !PyErr_ExceptionMatches(PyExc_TypeError))
		return text;
	PyErr_Clear();
	return refuse(name, expected, value);
}

const char *argument_text(const char *name, PyObject *value, PyObject *kept)
{
	return keep(word_of(name, "a str, int or path", value), kept);
}

/* "2,3" of a list, tuple or range. */
static PyObject *joined(const char *name, PyObject *values)
{
	HELD *words = PySequence_List(values), *comma = NULL;
	Py_ssize_t count = words ? PyList_Size(words) : -1, i = 0;

	for (; i < count; i++) {
		PyObject *word = word_of(name, "a list of str or int", PyList_GetItem(words, i));

		if (!word || PyList_SetItem(words, i, word) < 0)
			break;
	}
	if (words && i == count)
		comma = PyUnicode_FromString(",");
	return comma ? PyUnicode_Join(comma, words) : NULL;
}

struct form {
	const char *key, *value;
};

static int find_form(const gpumap_key *key, void *data)
{
	struct form *form = data;

	if (!streq(gpumap_key_str(key, GPUMAP_KEY_NAME), form->key))
		return 0;
	form->value = gpumap_key_str(key, GPUMAP_KEY_VALUE);
	return 1;
}

/* Whether the values of a key have this form. It is not known of pick()'s. */
static bool has_form(const char *key, const char *part)
{
	struct form form = {key, NULL};

	if (!gpumap_key_each(find_form, &form))
		gpumap_profile_key_each(find_form, &form);
	return form.value ? strstr(form.value, part) != NULL : streq(part, "yes|no");
}

/* A number of seconds in the milliseconds that the library takes. */
static PyObject *duration_of(PyObject *seconds)
{
	double ms = PyFloat_AsDouble(seconds) * 1000;

	return ms >= 0 && ms < 1e15 ? PyUnicode_FromFormat("%lldms", (long long)(ms + 0.5))
				    : PyObject_Str(seconds);
}

/* The str of a value that may be a list: [2, 3] is "2,3". */
static PyObject *list_of(const char *name, PyObject *value)
{
	if (PyList_Check(value) || PyTuple_Check(value) || PyObject_TypeCheck(value, &PyRange_Type))
		return joined(name, value);
	return word_of(name, "a list, str or int", value);
}

/* The str of a value of `key`: True is "yes". A device may be torch's. */
static PyObject *value_of(const char *name, const char *key, PyObject *value)
{
	if (PyBool_Check(value) && has_form(key, "yes|no"))
		return PyUnicode_FromString(PyObject_IsTrue(value) ? "yes" : "no");
	if (PyFloat_Check(value) && has_form(key, "DURATION"))
		return duration_of(value);
	if (!PyUnicode_Check(value) && PyObject_HasAttrString(value, "index") &&
	    PyObject_HasAttrString(value, "type") && has_form(key, "cuda:N"))
		return PyObject_Str(value);
	return list_of(name, value);
}

/* "NAME=value"; "-NAME" for None. */
static const char *assignment(const char *what, PyObject *name, PyObject *value, PyObject *kept)
{
	Py_ssize_t size = PyUnicode_GetLength(name);
	HELD *text = NULL;

	if (size < 0)
		return NULL;
	if (!size || PyUnicode_FindChar(name, '=', 0, size, 1) >= 0) {
		PyErr_Format(PyExc_ValueError, "%s: %R is no name of a variable", what, name);
		return NULL;
	}
	if (value == Py_None)
		return keep(PyUnicode_FromFormat("-%U", name), kept);
	text = list_of(what, value);
	return keep(text ? PyUnicode_FromFormat("%U=%U", name, text) : NULL, kept);
}

/* The n-th of the items of a mapping. False: it is none, or its name no str. */
static bool item_at(PyObject *items, Py_ssize_t n, PyObject **name, PyObject **value)
{
	PyObject *item = PyList_GetItem(items, n);

	if (!PyTuple_Check(item) || PyTuple_Size(item) != 2)
		return false;
	*name = PyTuple_GetItem(item, 0);
	*value = PyTuple_GetItem(item, 1);
	return PyUnicode_Check(*name);
}

static const char *variable(PyObject *items, Py_ssize_t n, PyObject *kept)
{
	PyObject *name, *value;

	if (item_at(items, n, &name, &value) && PyUnicode_Check(value))
		return assignment("environ", name, value, kept);
	PyErr_SetString(PyExc_TypeError, "environ is a mapping of str to str, like os.environ");
	return NULL;
}

const char **environ_words(PyObject *variables, PyObject *kept)
{
	HELD *items = PyMapping_Items(variables);
	Py_ssize_t count = items ? PyList_Size(items) : -1, n = 0;
	const char **words = NULL;

	if (items)
		words = PyMem_Calloc((size_t)count + 1, sizeof(*words));
	if (items && !words)
		PyErr_NoMemory();
	if (!items && PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_SetString(PyExc_TypeError,
				"environ is a mapping of str to str, like os.environ");
	for (; words && n < count; n++) {
		if (!(words[n] = variable(items, n, kept))) {
			PyMem_Free(words);
			words = NULL;
		}
	}
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

bool argument_of(PyObject **value, PyObject *keywords, const char *name)
{
	PyObject *named = keyword(keywords, name);

	if (*value == Py_None)
		*value = NULL;
	if (*value && named) {
		PyErr_Format(PyExc_TypeError, "got multiple values for argument '%s'", name);
		return false;
	}
	if (named)
		*value = named;
	return true;
}

struct setting {
	PyObject *key, *value, *kept, *origins;
	const char *name;
	char plain[64], option[66];
	int (*set)(void *data, const char *key, const char *value, const char *origin);
	void *data;
};

bool is_reserved(const char *name, size_t n)
{
	return (n == 3 && strncmp(name, "for", n) == 0) ||
	       (n == 4 && strncmp(name, "from", n) == 0);
}

/* "set_device" is the option --set-device; "from_" is written for the key "from". */
static void name_option(struct setting *s)
{
	size_t n = strlen(s->name);

	if (n && s->name[n - 1] == '_' && is_reserved(s->name, n - 1))
		n--;
	n = n < sizeof(s->plain) ? n : sizeof(s->plain) - 1;
	memcpy(s->plain, s->name, n);
	s->plain[n] = '\0';
	snprintf(s->option, sizeof(s->option), "--%s", s->plain);
	for (char *c = s->option; *c; c++)
		*c = *c == '_' ? '-' : *c;
}

/* The words of a command, quoted so that they are read back the same. */
static const char *command_text(PyObject *words, PyObject *kept)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	Py_ssize_t count = PySequence_Size(words);

	for (Py_ssize_t i = 0; i < count; i++) {
		HELD *item = PySequence_GetItem(words, i);
		const char *word = item ? argument_text("command", item, kept) : NULL;

		if (!word)
			return NULL;
		strbuf_puts(&buf, i ? " " : "");
		words_quote(&buf, word);
	}
	return keep(buf.failed ? PyErr_NoMemory() : text_value(buf.text ? buf.text : ""), kept);
}

static int set_text(struct setting *s, PyObject *value, const char *origin)
{
	bool words = streq(s->plain, "command") && (PyList_Check(value) || PyTuple_Check(value));
	const char *text = words ? command_text(value, s->kept)
				 : keep(value_of(s->name, s->plain, value), s->kept);

	return text ? s->set(s->data, s->plain, text, origin) : RAISED;
}

/* The members of a dict, "NAME=value". */
static int set_variables(struct setting *s, PyObject *variables, const char *origin)
{
	HELD *items = PyMapping_Items(variables);
	PyObject *name, *value;
	Py_ssize_t count = items ? PyList_Size(items) : -1;
	int r = items ? GPUMAP_OK : RAISED;

	for (Py_ssize_t i = 0; r == GPUMAP_OK && i < count; i++) {
		const char *text = NULL;

		if (item_at(items, i, &name, &value))
			text = assignment(s->name, name, value, s->kept);
		else
			refuse(s->name, "a dict of variables by their names", variables);
		r = text ? s->set(s->data, s->plain, text, origin) : RAISED;
	}
	return r;
}

static bool has_dict(PyObject *values)
{
	Py_ssize_t count = PyTuple_Size(values);

	while (count > 0 && !PyDict_Check(PyTuple_GetItem(values, count - 1)))
		count--;
	return count > 0;
}

/* The members of a list are given one by one if it has a dict. */
static int set_value(struct setting *s, PyObject *value, const char *origin)
{
	HELD *list = NULL;
	int r = GPUMAP_OK;

	if (PyDict_Check(value))
		return set_variables(s, value, origin);
	if (!PyList_Check(value) && !PyTuple_Check(value))
		return set_text(s, value, origin);
	list = PySequence_Tuple(value);
	if (!list)
		return RAISED;
	if (!has_dict(list))
		return set_text(s, value, origin);
	for (Py_ssize_t i = 0; r == GPUMAP_OK && i < PyTuple_Size(list); i++) {
		PyObject *item = PyTuple_GetItem(list, i);

		r = PyDict_Check(item) ? set_variables(s, item, origin) : set_text(s, item, origin);
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
