/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the root tests share: their cases run in processes of their own, where cmocka's would end the wrong one. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned checks_failed;

/* A case goes on after a failed check; what it says becomes a comment of the TAP. */
__attribute__((format(printf, 2, 3), unused)) static void check(bool ok, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return;
	checks_failed++;
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

/* What the test itself needs: without it nothing is proved. */
static void must(long r, const char *what)
{
	if (r < 0) {
		printf("Bail out! %s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
}
