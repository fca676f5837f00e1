/* SPDX-License-Identifier: MIT */
/* Whether this is a build with sanitizers: SANITIZED is 1 or 0. A loop takes ten times as long
 * there, so tests that look at long inputs, or at many drawn ones, make fewer rounds. The other
 * builds make all. */
#ifndef GM_SANITIZED_H
#define GM_SANITIZED_H

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
