/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime with the systemd cgroup driver has systemd make a scope for the container, with a list
 * of devices, and then puts its own device program (or v1 list) over systemd's. Whenever a setting
 * of the scope changes (`systemctl set-property`, `runc update`) or systemd is reloaded, which every
 * package upgrade may do, systemd applies its list again: what only the kernel knew is gone, and the
 * device of a running container with it. So systemd is told too.
 *
 * One message on its private socket: a D-Bus library would be a large guest in a small static
 * program, and `busctl` is a program of the host that may be missing, with one more daemon between
 * us and systemd. It also takes four to six times as long (tests/bench/systemd-call.py, TESTING.md). What the unit has is read
 * from its files, which tell at once whether there is anything to say, and are there even when systemd does not answer.
 */
#include "systemd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "dbus-message.h"
#include "fdio.h"
#include "workdir.h"

#define TRANSIENT_UNITS "/run/systemd/transient"
#define SOCKET_DIR "/run/systemd"
#define SOCKET_NAME "private"
#define PRIVATE_SOCKET SOCKET_DIR "/" SOCKET_NAME

/* ---- The unit's files ---- */

/* -ENOENT, and no sentence, where there is none. A file of somebody else's is none of systemd's. */
static int read_file(struct arena *arena, int dirfd, const char *name, struct unit_devices *devices,
		     struct error *err)
{
	_cleanup_fd_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text;
	size_t size;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "open %s", SHOW(name));
	if (!S_ISREG(st.st_mode) || st.st_uid != 0)
		return error_set(err, 0, "%s is no file of root's", SHOW(name));
	int r = fdio_read(arena, fd, LIMIT_UNIT_SIZE, name, &text, &size, err);
	if (r < 0)
		return r;
	r = unit_text_parse(arena, text, size, devices, err);
	return r < 0 ? error_prefix(err, "%s", SHOW(name)) : 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the drop-ins in `dir`, in the order in which systemd reads them. */
static int list_drop_ins(struct arena *arena, DIR *dir, struct string_list *names,
			 struct error *err)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry && errno != 0)
			return error_set(err, errno, "list its drop-ins");
		if (!entry)
			break;
		const size_t len = strlen(entry->d_name);
		if (entry->d_name[0] == '.' || len < 5 ||
		    strcmp(entry->d_name + len - 5, ".conf") != 0)
			continue;
		if (names->n == LIMIT_UNIT_DROPINS)
			return error_set(err, 0, "more than %d drop-ins", LIMIT_UNIT_DROPINS);
		const char **slot = array_add(arena, names);
		if (!slot || !(*slot = arena_strdup(arena, entry->d_name)))
			return error_memory(err);
	}
	if (names->n > 0)
		qsort(names->items, names->n, sizeof(*names->items), compare_names);
	return 0;
}

static int read_drop_ins(struct arena *arena, int dirfd, const char *unit,
			 struct unit_devices *devices, struct error *err)
{
	const char *name = arena_printf(arena, "%s.d", unit);
	struct string_list names = {0};

	if (!name)
		return error_memory(err);
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return errno == ENOENT ? 0 : error_set(err, errno, "open %s", SHOW(name));
	}
	int r = list_drop_ins(arena, dir, &names, err);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		r = read_file(arena, fd, names.items[i], devices, err);
		if (r == -ENOENT && !error_is_set(err))
			r = 0;
	}
	closedir(dir);
	return r;
}

/* Runs in, Trusts, Hostile: see systemd.h. */
int systemd_find_unit(struct arena *arena, const char *path, struct systemd_unit *ret_unit,
		      struct error *err)
{
	struct systemd_unit unit = {0};

	*ret_unit = unit;
	const char *name = unit_text_scope(arena, path, &unit.cgroup);
	if (!name)
		return unit.cgroup ? error_memory(err) : 0;
	_cleanup_fd_ int dirfd = open(TRANSIENT_UNITS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A host without systemd. */
	if (dirfd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (dirfd < 0)
		return error_set(err, errno, "open %s", TRANSIENT_UNITS);
	int r = read_file(arena, dirfd, name, &unit.devices, err);
	if (r == -ENOENT && !error_is_set(err))
		return 0;
	if (r == 0)
		r = read_drop_ins(arena, dirfd, name, &unit.devices, err);
	if (r < 0)
		return error_prefix(err, "unit %s in %s", SHOW(name), TRANSIENT_UNITS);
	unit.name = name;
	*ret_unit = unit;
	return 0;
}

/* ---- The socket ---- */

static long long now_ms(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* A conversation: what is to be sent, and what has come. */
struct talk {
	struct arena *arena;
	int fd;
	long long end_ms;
	struct dbus_bytes out;
	size_t sent;
	ARRAY(char) in;
	bool let_in;
};

static int connect_to_systemd(struct talk *talk, int dir_fd, struct error *err)
{
	_cleanup_workdir_ struct workdir workdir = WORKDIR_NULL;
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET_NAME};
	struct ucred peer;
	socklen_t size = sizeof(peer);

	talk->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (talk->fd < 0)
		return error_set(err, errno, "socket");
	int r = workdir_enter(&workdir, dir_fd, err);
	if (r < 0)
		return r;
	if (connect(talk->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, errno, "connect to %s", PRIVATE_SOCKET);
	if (getsockopt(talk->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return error_set(err, errno, "who listens at %s", PRIVATE_SOCKET);
	if (peer.uid != 0)
		return error_set(err, 0, "%s is user %u's, not root's", PRIVATE_SOCKET, peer.uid);
	return 0;
}

static int wait_for(const struct talk *talk, struct error *err)
{
	struct pollfd pollfd = {
		.fd = talk->fd,
		.events = (short)(POLLIN | (talk->sent < talk->out.n ? POLLOUT : 0)),
	};
	long long left = talk->end_ms - now_ms();

	if (left <= 0)
		return error_set(err, 0, "no answer within %d ms", LIMIT_SYSTEMD_MS);
	if (poll(&pollfd, 1, (int)left) < 0 && errno != EINTR)
		return error_set(err, errno, "poll");
	return 0;
}

static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int send_some(struct talk *talk, struct error *err)
{
	if (talk->sent == talk->out.n)
		return 0;
	ssize_t n = send(talk->fd, talk->out.items + talk->sent, talk->out.n - talk->sent,
			 MSG_NOSIGNAL);
	if (n < 0 && !is_later())
		return error_set(err, errno, "write to %s", PRIVATE_SOCKET);
	if (n > 0)
		talk->sent += (size_t)n;
	return 0;
}

static int receive_some(struct talk *talk, struct error *err)
{
	char buffer[4096];
	ssize_t n = recv(talk->fd, buffer, sizeof(buffer), 0);

	if (n < 0 && is_later())
		return 0;
	if (n < 0)
		return error_set(err, errno, "read from %s", PRIVATE_SOCKET);
	if (n == 0)
		return error_set(err, 0, "it hung up");
	if (talk->in.n + (size_t)n > 2 * LIMIT_DBUS_REPLY)
		return error_set(err, 0, "it says more than was asked for");
	for (ssize_t i = 0; i < n; i++) {
		char *slot = array_add(talk->arena, &talk->in);
		if (!slot)
			return error_memory(err);
		*slot = buffer[i];
	}
	return 0;
}

/* Takes one line or message off what has come. DBUS_MORE, or DBUS_REPLY with the reply filled in. */
static int take_reply(struct talk *talk, struct dbus_reply *reply, struct error *err)
{
	size_t used = 0;

	*reply = (struct dbus_reply){0};
	if (talk->in.n == 0)
		return DBUS_MORE;
	int r = talk->let_in ? dbus_message_read_reply(talk->arena, talk->in.items, talk->in.n,
						       &used, reply, err)
			     : dbus_message_read_auth(talk->in.items, talk->in.n, &used, err);
	if (r != DBUS_REPLY)
		return r;
	talk->let_in = true;
	talk->in.n -= used;
	memmove(talk->in.items, talk->in.items + used, talk->in.n);
	return DBUS_REPLY;
}

/* Until both calls have been answered. */
static int converse(struct talk *talk, struct error *err)
{
	struct dbus_reply reply;

	for (;;) {
		int r = take_reply(talk, &reply, err);
		if (r == DBUS_MORE) {
			r = wait_for(talk, err);
			if (r == 0)
				r = send_some(talk, err);
			if (r == 0)
				r = receive_some(talk, err);
			if (r < 0)
				return r;
			continue;
		}
		if (r < 0)
			return r;
		if (reply.serial == DBUS_SERIAL_SET && reply.error)
			return error_set(err, 0, "it refuses: %s", SHOW(reply.error));
		/* Whatever it says to the second call, it has been through with the first. */
		if (reply.serial == DBUS_SERIAL_BARRIER)
			return 0;
	}
}

/* `*ret_sent`: it may have heard it, whatever comes out. */
static int set_devices(struct arena *arena, int dir_fd, const char *unit, bool reset,
		       const struct unit_devices *devices, bool *ret_sent, struct error *err)
{
	struct talk talk = {.arena = arena, .fd = -1, .end_ms = now_ms() + LIMIT_SYSTEMD_MS};
	int r = dbus_message_set_devices(arena, unit, reset, devices, &talk.out, err);

	if (r == 0)
		r = connect_to_systemd(&talk, dir_fd, err);
	if (r == 0)
		r = converse(&talk, err);
	/* Two messages: the first may be whole where the second is not. */
	*ret_sent = talk.sent > 0;
	close_fd(&talk.fd);
	return r < 0 ? error_prefix(err, "systemd") : 0;
}

/* ---- Allowing ---- */

struct told {
	struct arena *arena;
	int dir_fd; /* of the socket, opened before the container's mount namespace is entered */
	struct systemd_unit unit; /* with the list as it was */
};

/* Runs in, Trusts, Hostile: as systemd_allow(). */
static int take_back(void *data, struct error *err)
{
	struct told *told = data;
	_cleanup_fd_ int dir_fd = TAKE_FD(told->dir_fd);
	bool sent;

	return set_devices(told->arena, dir_fd, told->unit.name, true, &told->unit.devices, &sent,
			   err);
}

static int keep(void *data, struct error *err)
{
	struct told *told = data;

	(void)err;
	close_fd(&told->dir_fd);
	return 0;
}

static int add_missing(struct arena *arena, const struct systemd_unit *unit,
		       const struct device_rule *rule, struct unit_devices *missing,
		       struct error *err)
{
	char device[UNIT_TEXT_DEVICE_MAX], access[UNIT_TEXT_ACCESS_MAX];

	if (unit_text_allows(&unit->devices, rule))
		return 0;
	struct unit_device *entry = array_add(arena, &missing->list);
	if (!entry)
		return error_memory(err);
	entry->device = arena_strdup(arena, unit_text_device(device, rule));
	entry->access = arena_strdup(arena, unit_text_access(access, rule));
	return entry->device && entry->access ? 0 : error_memory(err);
}

/* Runs in, Trusts, Hostile: see systemd.h. */
int systemd_allow(struct arena *arena, const struct systemd_unit *unit,
		  const struct device_rule *rules, size_t n_rules, struct undo *undo,
		  struct error *err)
{
	struct unit_devices missing = {0};
	struct told *told = arena_new(arena, struct told);
	const char *what = arena_printf(arena, "device list of unit %s", SHOW(unit->name));
	int r = told && what ? undo_reserve(undo, err) : error_memory(err);

	for (size_t i = 0; r == 0 && i < n_rules; i++)
		r = add_missing(arena, unit, &rules[i], &missing, err);
	if (r < 0 || missing.list.n == 0)
		return r;
	_cleanup_fd_ int dir_fd = open(SOCKET_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return error_set(err, errno, "systemd: open %s", SOCKET_DIR);
	bool sent = false;
	r = set_devices(arena, dir_fd, unit->name, false, &missing, &sent, err);
	if (!sent)
		return r;
	/* Without its answer, too: it reads what has been sent, even when nobody waits for it any more. */
	*told = (struct told){.arena = arena, .dir_fd = TAKE_FD(dir_fd), .unit = *unit};
	undo_push(undo, &(struct undo_step){
				.what = what, .take_back = take_back, .keep = keep, .data = told});
	return r;
}
