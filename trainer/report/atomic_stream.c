/* SPDX-License-Identifier: MIT */
/* See atomic_stream.h. */
#include "report/atomic_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "write_all.h"

bool output_failed(const char *name, const char *what, struct train_error *error)
{
	int status = errno;
	const char *remedy = write_remedy(status);

	return train_fail(error, TRAIN_FAILED, "%s: cannot %s: %s; %s%sname another file", name,
			  what, strerror(status), remedy ? remedy : "", remedy ? ", or " : "");
}

/* A link stays a link: its target is replaced. */
static char *target_of(const char *name, bool *plain)
{
	struct stat st;
	bool there = stat(name, &st) == 0;

	*plain = !there || S_ISREG(st.st_mode);
	return there && *plain ? realpath(name, NULL) : strdup(name);
}

static bool open_plain(struct atomic_stream *stream)
{
	const char *name;
	int folder = atomic_folder(stream->path, &name);

	return folder >= 0 && atomic_create(&stream->file, folder, ".gpumap-", 0666);
}

/* The stream, if there is one, owns the descriptor. */
void atomic_stream_drop(struct atomic_stream *stream)
{
	if (stream->stream) {
		fclose(stream->stream);
		stream->file.fd = -1;
	}
	atomic_close(&stream->file);
	if (stream->file.folder >= 0)
		close(stream->file.folder);
	free(stream->path);
	*stream = (struct atomic_stream){.name = NULL};
}

bool atomic_stream_open(struct atomic_stream *ret, const char *name, struct train_error *error)
{
	struct atomic_stream stream = {.name = name, .file = {.folder = -1, .fd = -1}};
	bool plain = true;

	if (!*file_name(name))
		return train_fail(error, TRAIN_BAD_INPUT, "%s: not the name of a file; name one",
				  *name ? name : "''");
	stream.path = target_of(name, &plain);
	if (stream.path && !plain)
		stream.file.fd = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (stream.path && (plain ? open_plain(&stream) : stream.file.fd >= 0))
		stream.stream = fdopen(stream.file.fd, "w");
	if (stream.stream) {
		*ret = stream;
		return true;
	}
	output_failed(name, "create", error);
	atomic_stream_drop(&stream);
	return false;
}

bool atomic_stream_close(struct atomic_stream *stream, struct train_error *error)
{
	bool good = fflush(stream->stream) == 0 && !ferror(stream->stream);

	if (!good)
		output_failed(stream->name, "write", error);
	else if (stream->file.temporary[0] &&
		 !atomic_publish(&stream->file, file_name(stream->path)))
		good = output_failed(stream->name, stream->file.failed, error);
	atomic_stream_drop(stream);
	return good;
}
