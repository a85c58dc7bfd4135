/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may open a node, compared with the kernel: nodes of several owners with random modes and access control lists, and users in
 * random groups, who ask the kernel by access(2). (User namespaces are in the unit test and in tests/e2e: here every id
 * means itself.)
 */
#include "node-access.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "checks.h"

#define NODES 4000
#define NODE "/run/node"
#define FIRST_UID 1000
#define FIRST_GID 2000

static const unsigned accesses[] = {DEVICE_READ, DEVICE_WRITE, DEVICE_READ | DEVICE_WRITE};
static const int modes[] = {R_OK, W_OK, R_OK | W_OK};

/* The same ones in every run. */
static unsigned below(unsigned n)
{
	static uint32_t state = 1;

	state = state * 1664525U + 1013904223U;
	return (state >> 16) % n;
}

static size_t put(uint8_t *to, uint32_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> 8 * i);
	return size;
}

/* acl(5) as linux/posix_acl_xattr.h has it; the rights are random. */
static size_t put_entry(uint8_t *to, unsigned tag, uint32_t id)
{
	put(to, tag, 2);
	put(to + 2, below(8), 2);
	put(to + 4, id, 4);
	return 8;
}

static void make_list(void)
{
	uint8_t list[128];
	size_t size = put(list, 2, 4);

	size += put_entry(list + size, 0x01, UINT32_MAX);
	for (uint32_t i = 0; i < 3; i++)
		if (below(2))
			size += put_entry(list + size, 0x02, FIRST_UID + i);
	size += put_entry(list + size, 0x04, UINT32_MAX);
	for (uint32_t i = 0; i < 3; i++)
		if (below(2))
			size += put_entry(list + size, 0x08, FIRST_GID + i);
	size += put_entry(list + size, 0x10, UINT32_MAX);
	size += put_entry(list + size, 0x20, UINT32_MAX);
	must(setxattr(NODE, "system.posix_acl_access", list, size, 0), "setxattr");
}

static struct plan_node make_node(void)
{
	struct stat st;

	must(mknod(NODE, S_IFCHR | 0600, makedev(1, 3)), "mknod");
	must(chown(NODE, FIRST_UID + below(3), FIRST_GID + below(3)), "chown");
	if (below(4) == 0)
		must(chmod(NODE, below(01000)), "chmod");
	else
		make_list();
	must(stat(NODE, &st), "stat");
	return (struct plan_node){
		.path = NODE,
		.source = NODE,
		.source_node = {.mode = st.st_mode, .uid = st.st_uid, .gid = st.st_gid},
	};
}

/* A bit for each of `modes`. */
static int ask_kernel(const struct node_user *user)
{
	pid_t pid = fork();
	int status, bits = 0;

	must(pid, "fork");
	if (pid == 0) {
		must(setgroups(user->n_additional_gids, user->additional_gids), "setgroups");
		must(setresgid(user->gid, user->gid, user->gid), "setresgid");
		must(setresuid(user->uid, user->uid, user->uid), "setresuid");
		for (int i = 0; i < 3; i++)
			bits |= (access(NODE, modes[i]) == 0) << i;
		_exit(bits);
	}
	must(waitpid(pid, &status, 0), "waitpid");
	if (!WIFEXITED(status))
		must(-1, "the user's process");
	return WEXITSTATUS(status);
}

static unsigned granted, refused, lists;

static void compare(const struct node_user *user, struct plan_node *node)
{
	uint8_t list[LIMIT_ACL_SIZE];
	ssize_t size = getxattr(NODE, "system.posix_acl_access", list, sizeof(list));
	int bits = ask_kernel(user);
	struct node_acl acl;

	node_acl_read(&node->source_node, list, size < 0 ? 0 : (size_t)size, &acl);
	lists += acl.listed;
	for (int i = 0; i < 3; i++) {
		struct error err = {0};
		bool kernels = bits & 1 << i, ours;
		node->access = accesses[i];
		ours = node_access_check(user, node, &acl, &err) == 0;
		check(ours == kernels, "the kernel %s user %u of group %u to %o of %u:%u: %s",
		      kernels ? "lets" : "does not let", user->uid, user->gid,
		      (unsigned)node->source_node.mode, node->source_node.uid,
		      node->source_node.gid, ours ? "we do" : err.text);
		granted += kernels;
		refused += !kernels;
	}
}

int main(void)
{
	struct id_range all[] = {{0, 0, 65536}};
	const struct id_map map = {.items = all, .n = 1};
	uint32_t gids[2];

	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
	must(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), "tmpfs");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < NODES; i++) {
		struct plan_node node = make_node();
		struct node_user user = {.uids = &map, .gids = &map, .additional_gids = gids};
		user.uid = FIRST_UID + below(4);
		user.gid = FIRST_GID + below(4);
		user.n_additional_gids = below(3);
		for (size_t j = 0; j < user.n_additional_gids; j++)
			gids[j] = FIRST_GID + below(4);
		compare(&user, &node);
		must(unlink(NODE), "unlink");
	}
	printf("# %u opens granted, %u refused; %u of %u nodes by a list\n", granted, refused,
	       lists, NODES);
	check(granted > NODES / 2 && refused > NODES / 2 && lists > NODES / 2, "too few of a kind");
	printf("%s 1 - a node opens to whom the kernel lets in, and to nobody else\n1..1\n",
	       checks_failed ? "not ok" : "ok");
	return checks_failed != 0;
}
