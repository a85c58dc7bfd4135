/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An own client of journald and syslog, of one datagram a line: the C library's would connect again
 * after a failure, and by then /dev/log may be the container's. The log is the only state of this
 * program that is not passed as an argument.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "journal-entry.h"

#define LOG_NAME "oci-cdi-hook"

/*
 * Where the daemons listen. Where journald runs, /dev/log leads to it too, but there every field of an entry but its text
 * would be lost.
 */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define SYSLOG_SOCKET "/dev/log"

static struct {
	enum log_level level;
	int journal_fd, syslog_fd, file_fd;
	bool connected; /* or tried in vain: it is tried once, see connect_daemon() */
	unsigned lines;
	const char *container_id;
	char container[ERROR_SHOW_MAX]; /* the same, printable and short */
	struct timespec last_step;
} log_state = {.level = LOG_LEVEL_WARNING, .journal_fd = -1, .syslog_fd = -1, .file_fd = -1};

static int connect_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return TAKE_FD(fd);
}

/*
 * Not at once: a run that has nothing to do has nothing to say either, and goes without (12 us). But before the container's
 * namespaces are entered, where these paths are the image's.
 */
static void connect_daemon(void)
{
	if (log_state.connected)
		return;
	log_state.connected = true;
	/* No daemon is no failure: stderr is always there. */
	log_state.journal_fd = connect_socket(JOURNAL_SOCKET);
	if (log_state.journal_fd < 0)
		log_state.syslog_fd = connect_socket(SYSLOG_SOCKET);
}

int log_open(enum log_level level, const char *file, struct error *err)
{
	log_state.level = level;
	if (level >= LOG_LEVEL_DEBUG)
		clock_gettime(CLOCK_MONOTONIC, &log_state.last_step);
	if (!file)
		return 0;
	log_state.file_fd =
		open(file,
		     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
		     0600);
	if (log_state.file_fd < 0) {
		error_set(err, errno, "open log file %s", SHOW(file));
		return error_class(err, EXIT_CODE_USAGE);
	}
	return 0;
}

void log_container(const char *id)
{
	connect_daemon();
	log_state.container_id = id;
	error_show(log_state.container, id);
}

/*
 * Writes "PREFIX TEXT\n" in one piece. A log that cannot be written is never a reason to fail:
 * results are ignored on purpose.
 */
static void write_line(int fd, const char *prefix, const char *text, const char *end)
{
	char line[ERROR_TEXT_MAX + 2 * ERROR_SHOW_MAX];
	int n = snprintf(line, sizeof(line), "%s%s%s", prefix, text, end);
	size_t len = (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;

	if (n > 0)
		(void)!write(fd, line, len);
}

/* What stands before every line that is read together with those of other containers. */
static void make_prefix(char *buffer, size_t size, const char *start)
{
	snprintf(buffer, size, "%s%s[%d]: %s%s%s", start, LOG_NAME, (int)getpid(),
		 log_state.container[0] ? "container " : "", log_state.container,
		 log_state.container[0] ? ": " : "");
}

static void write_syslog(int priority, const char *text)
{
	char start[16], prefix[2 * ERROR_SHOW_MAX];

	snprintf(start, sizeof(start), "<%d>", LOG_DAEMON | priority);
	make_prefix(prefix, sizeof(prefix), start);
	write_line(log_state.syslog_fd, prefix, text, "");
}

static void write_journal(int priority, const char *text, const struct log_field *fields, size_t n)
{
	static char buffer[LIMIT_JOURNAL_ENTRY];
	char message[ERROR_TEXT_MAX + 2 * ERROR_SHOW_MAX];
	struct journal_entry entry;

	journal_entry_init(&entry, buffer, sizeof(buffer));
	snprintf(message, sizeof(message), "%s%s%s%s", log_state.container[0] ? "container " : "",
		 log_state.container, log_state.container[0] ? ": " : "", text);
	journal_entry_add(&entry, "MESSAGE", message);
	journal_entry_add(&entry, "PRIORITY", (char[]){(char)('0' + priority), '\0'});
	journal_entry_add(&entry, "SYSLOG_FACILITY", "3"); /* LOG_DAEMON */
	journal_entry_add(&entry, "SYSLOG_IDENTIFIER", LOG_NAME);
	if (log_state.container_id)
		journal_entry_add(&entry, "CDI_CONTAINER_ID", log_state.container_id);
	for (size_t i = 0; i < n; i++)
		journal_entry_add(&entry, fields[i].name, fields[i].value);
	journal_entry_end(&entry);
	/* As with lines: results are ignored on purpose. */
	(void)!send(log_state.journal_fd, entry.data, entry.used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void write_daemon(int priority, const char *text, const struct log_field *fields, size_t n)
{
	connect_daemon();
	if (log_state.journal_fd >= 0)
		write_journal(priority, text, fields, n);
	else if (log_state.syslog_fd >= 0)
		write_syslog(priority, text);
}

static void write_file(const char *text)
{
	char start[32], prefix[2 * ERROR_SHOW_MAX];
	time_t now = time(NULL);
	struct tm tm = {0};

	if (log_state.file_fd < 0)
		return;
	gmtime_r(&now, &tm);
	strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ ", &tm);
	make_prefix(prefix, sizeof(prefix), start);
	write_line(log_state.file_fd, prefix, text, "\n");
}

static int syslog_priority(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return LOG_ERR;
	case LOG_LEVEL_WARNING:
		return LOG_WARNING;
	case LOG_LEVEL_INFO:
		return LOG_INFO;
	default:
		return LOG_DEBUG;
	}
}

static void write_text(enum log_level level, const char *text)
{
	const char *prefix = level == LOG_LEVEL_WARNING ? LOG_NAME ": warning: " : LOG_NAME ": ";

	if (log_state.lines++ >= LIMIT_LOG_LINES && level != LOG_LEVEL_ERROR)
		return;
	write_line(STDERR_FILENO, prefix, text, "\n");
	write_file(text);
	write_daemon(syslog_priority(level), text, NULL, 0);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	if (level > log_state.level && level > LOG_LEVEL_WARNING)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	write_text(level, text);
}

void log_notice(const struct log_field *fields, size_t n, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	write_daemon(LOG_NOTICE, text, fields, n);
	write_file(text);
	if (log_state.level >= LOG_LEVEL_INFO)
		write_line(STDERR_FILENO, LOG_NAME ": ", text, "\n");
}

void log_step(const char *fmt, ...)
{
	struct timespec now = {0};
	char text[ERROR_TEXT_MAX];
	va_list args;

	if (log_state.level < LOG_LEVEL_DEBUG)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	clock_gettime(CLOCK_MONOTONIC, &now);
	log_line(LOG_LEVEL_DEBUG, "step: %s: %lld us", text,
		 (now.tv_sec - log_state.last_step.tv_sec) * 1000000LL +
			 (now.tv_nsec - log_state.last_step.tv_nsec) / 1000);
	log_state.last_step = now;
}

void log_notes(const struct notes *notes, size_t *seen)
{
	for (; *seen < notes->list.n; (*seen)++) {
		const struct note *note = &notes->list.items[*seen];
		enum log_level level = note->level == NOTE_WARNING ? LOG_LEVEL_WARNING
				       : note->level == NOTE_INFO  ? LOG_LEVEL_INFO
								   : LOG_LEVEL_DEBUG;
		log_line(level, "%s", note->text);
	}
}

void log_close(void)
{
	close_fd(&log_state.journal_fd);
	close_fd(&log_state.syslog_fd);
	close_fd(&log_state.file_fd);
}
