/* SPDX-License-Identifier: MIT */
/* The libraries of the driver and of CUDA that a program would load. */
#include "check.h"

static bool is_stub(const struct library *library)
{
	return strstr(library->real, "/stubs/") != NULL;
}

void check_libcuda(const struct facts *facts, struct verdict *verdict)
{
	/* A container has a finding of its own. */
	if (facts->module.sight != SEEN || facts->container.sight == SEEN)
		return;
	fine(verdict);
	if (!is_unseen(verdict, &facts->folders, "libcuda.so.1") &&
	    !first_library(facts, "libcuda.so.1"))
		wrong(verdict,
		      "install the driver's library for CUDA (Debian: libcuda1, Ubuntu: "
		      "libnvidia-compute-VERSION, Fedora: nvidia-driver-cuda-libs)",
		      "the driver %s is loaded, but the loader finds no libcuda.so.1",
		      facts->module.text);
}

void check_stub(const struct facts *facts, struct verdict *verdict)
{
	const struct library *first = first_library(facts, "libcuda.so.1");

	if (first || facts_variable(facts, "LD_LIBRARY_PATH"))
		fine(verdict);
	if (first && is_stub(first))
		wrong(verdict, "remove the folder from LD_LIBRARY_PATH and from /etc/ld.so.conf.d",
		      "the first libcuda.so.1 is the toolkit's stub, which finds no GPU: %s",
		      first->path);
	else if (facts->stub_folder.sight == SEEN)
		wrong(verdict,
		      "remove it from LD_LIBRARY_PATH: stubs are only for linking (-L or "
		      "LIBRARY_PATH)",
		      "LD_LIBRARY_PATH has %s: a program that opens libcuda.so gets the stub, "
		      "which finds no GPU (CUDA error 34)",
		      facts->stub_folder.text);
}

/* Negative: `a` is older than `b`. Versions are numbers between points. */
static int compare_versions(const char *a, const char *b)
{
	struct span left = span_of(a), right = span_of(b), x, y;

	while (left.text && right.text) {
		int64_t m, n;

		span_split(&left, '.', &x);
		span_split(&right, '.', &y);
		m = span_number(x, INT32_MAX);
		n = span_number(y, INT32_MAX);
		if (m != n)
			return m < n ? -1 : 1;
	}
	return 0;
}

/* The library of cuda-compat that would be loaded; NULL: it is not one. */
static const struct library *compat(const struct facts *facts)
{
	const struct library *first = first_library(facts, "libcuda.so.1");

	return first && is_compat(first) ? first : NULL;
}

static bool is_consumer(const struct gpu *gpu)
{
	return is_geforce(gpu) || (gpu->name && strstr(gpu->name, "TITAN"));
}

void check_compat_supported(const struct facts *facts, struct verdict *verdict)
{
	const struct library *library = compat(facts);
	const char *those;

	if (!library || !facts->gpu_count)
		return;
	fine(verdict);
	those = gpus_that(facts, verdict, is_consumer);
	if (those)
		wrong(verdict,
		      "remove the folder compat from the library path and " ON_HOST
		      "install a newer driver",
		      "%s: cuda-compat (%s) supports only GPUs of data centers, so CUDA fails "
		      "(error 804)",
		      those, library->path);
}

void check_compat_older(const struct facts *facts, struct verdict *verdict)
{
	const struct library *library = compat(facts);

	/* On Tegra the versions of libcuda and of the module are not comparable. */
	if (!library || !library->version || facts->module.sight != SEEN || facts->tegra)
		return;
	fine(verdict);
	if (compare_versions(library->version, facts->module.text) < 0)
		wrong(verdict, "remove the folder compat from the library path",
		      "cuda-compat has libcuda %s, which is older than the driver %s (CUDA error "
		      "803)",
		      library->version, facts->module.text);
}

/* The second libcuda.so.1; NULL: there is one or none. */
static const struct library *second_libcuda(const struct facts *facts, const struct library *first)
{
	for (size_t i = 0; i < facts->library_count; i++) {
		const struct library *l = &facts->libraries[i];

		/* Copies of one version are no conflict. */
		if (streq(l->name, "libcuda.so.1") && l != first &&
		    !(l->version && first->version && streq(l->version, first->version) &&
		      strchr(l->version, '.')))
			return l;
	}
	return NULL;
}

void check_two_libcuda(const struct facts *facts, struct verdict *verdict)
{
	const struct library *first = first_library(facts, "libcuda.so.1");
	const struct library *second = first ? second_libcuda(facts, first) : NULL;

	if (!first)
		return;
	fine(verdict);
	/* These have checks of their own. */
	if (!second || is_stub(first) || is_compat(first) || is_compat(second) || is_stub(second))
		return;
	wrong(verdict, "remove the one that does not belong to the loaded driver",
	      "libcuda.so.1 is installed twice: %s is loaded, %s is there too", first->path,
	      second->path);
}
