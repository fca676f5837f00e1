/* SPDX-License-Identifier: MIT */
/* See cifar10.h. */
#include "cifar10.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

enum { MAX_FILES = 5 };

/* A message has room for this much of a path; its end names the file. */
enum { SHOWN = 200 };

const struct dataset_scale cifar10_scales[3] = {
	{0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}};

static const char *const train_files[] = {"data_batch_1.bin", "data_batch_2.bin",
					  "data_batch_3.bin", "data_batch_4.bin",
					  "data_batch_5.bin", NULL};
static const char *const test_files[] = {"test_batch.bin", NULL};

struct file {
	char path[4096];
	int fd;
	int64_t size;
};

static const char *shown(const struct file *file)
{
	size_t length = strlen(file->path);

	return file->path + (length > SHOWN ? length - SHOWN : 0);
}

/* `what` can be why a system call failed, or a fault of the file. */
static bool bad_file(struct train_error *error, const struct file *file, const char *what)
{
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%s: %s; name a folder with the readable files of CIFAR-10's "
			  "binary version (cifar-10-binary.tar.gz, unpacked)",
			  shown(file), what);
}

static bool check_size(const struct file *file, int64_t records, struct train_error *error)
{
	if (records && file->size != records * CIFAR10_RECORD)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: %lld bytes, not %lld (%lld records of %d): it is incomplete "
				  "or another file; unpack it again",
				  shown(file), (long long)file->size,
				  (long long)records * CIFAR10_RECORD, (long long)records,
				  CIFAR10_RECORD);
	if (!file->size)
		return bad_file(error, file, "it is empty");
	if (file->size % CIFAR10_RECORD)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%s: record %lld has %lld bytes, not %d: the file is cut or "
				  "another file; unpack it again",
				  shown(file), (long long)(file->size / CIFAR10_RECORD),
				  (long long)(file->size % CIFAR10_RECORD), CIFAR10_RECORD);
	return true;
}

/* Anything but a regular file could block or have no size, so it is not read. */
static bool open_file(struct file *file, const char *folder, const char *name, int64_t records,
		      struct train_error *error)
{
	int length = snprintf(file->path, sizeof(file->path), "%s/%s", folder, name);
	struct stat st;

	file->fd = -1;
	if (length < 0 || (size_t)length >= sizeof(file->path))
		return bad_file(error, file, strerror(ENAMETOOLONG));
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &st) != 0)
		return bad_file(error, file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bad_file(error, file, "it is not a regular file");
	file->size = st.st_size;
	return check_size(file, records, error);
}

static bool read_bytes(const struct file *file, uint8_t *to, struct train_error *error)
{
	int64_t done = 0;

	while (done < file->size) {
		ssize_t n = UNINTERRUPTED(read(file->fd, to + done, (size_t)(file->size - done)));

		if (n < 0)
			return train_fail(error, TRAIN_FAILED,
					  "%s: record %lld cannot be read: %s; check the disk, or "
					  "copy the file again",
					  shown(file), (long long)(done / CIFAR10_RECORD),
					  strerror(errno));
		if (!n)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%s: it became shorter while it was read, at record "
					  "%lld; start again when no program writes it",
					  shown(file), (long long)(done / CIFAR10_RECORD));
		done += n;
	}
	return true;
}

static bool check_labels(const struct file *file, const uint8_t *records, struct train_error *error)
{
	for (int64_t i = 0; i < file->size / CIFAR10_RECORD; i++) {
		int label = records[i * CIFAR10_RECORD];

		if (label >= CIFAR10_CLASSES)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%s: record %lld (at byte %lld): the label is %d, not 0 "
					  "to 9; the file is damaged, unpack it again",
					  shown(file), (long long)i, (long long)i * CIFAR10_RECORD,
					  label);
	}
	return true;
}

static bool read_files(struct dataset *dataset, const struct file *files, int count,
		       struct train_error *error)
{
	struct dataset d = {.shape = {3, CIFAR10_SIDE, CIFAR10_SIDE}, .classes = CIFAR10_CLASSES};
	uint8_t *to;

	for (int i = 0; i < count; i++)
		d.samples += files[i].size / CIFAR10_RECORD;
	if (!dataset_init(&d, cifar10_scales, 3, error))
		return false;
	to = d.records;
	for (int i = 0; i < count; to += files[i++].size)
		if (!read_bytes(&files[i], to, error) || !check_labels(&files[i], to, error)) {
			dataset_free(&d);
			return false;
		}
	*dataset = d;
	return true;
}

bool cifar10_read(struct dataset *dataset, const char *folder, enum cifar10_part part,
		  int64_t records, struct train_error *error)
{
	const char *const *names = part == CIFAR10_TRAIN ? train_files : test_files;
	struct file files[MAX_FILES];
	bool good = true;
	int count = 0;

	while (good && names[count]) {
		good = open_file(&files[count], folder, names[count], records, error);
		count++;
	}
	good = good && read_files(dataset, files, count, error);
	while (count-- > 0)
		if (files[count].fd >= 0)
			close(files[count].fd);
	return good;
}
