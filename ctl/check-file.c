/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cdictl check looks for in the container's file system: nodes and mounts. process.c says how it can be looked at while
 * the container may do what it likes.
 */
#include <errno.h>
#include <linux/mount.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "check.h"

int check_bad(struct check *check, struct finding *finding, enum finding_state state,
	      const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	finding->state = state;
	finding->problem = arena_strdup(check->arena, text);
	if (state == FINDING_UNKNOWN)
		check->unknown++;
	else
		check->bad++;
	return finding->problem ? 0 : -ENOMEM;
}

/*
 * Looks the path up. 1: it is there, and `*ret_file` says what it is; 0: the finding is complete without that.
 */
static int look(struct check *check, struct finding *finding, struct process_file *ret_file)
{
	struct error why = {0};
	int r = process_look(&check->process, finding->path, ret_file, &why);

	if (r == 0)
		return 1;
	if (r == -ENOENT || r == -ENOTDIR)
		return check_bad(check, finding, FINDING_MISSING, "is not there");
	return check_bad(check, finding, FINDING_DIFFERS, "%s", strerrordesc_np(why.errnum));
}

/* ---- Nodes ---- */

static char type_letter(mode_t mode)
{
	return S_ISBLK(mode) ? 'b' : S_ISFIFO(mode) ? 'p' : 'c';
}

static int check_node(struct check *check, const struct plan_node *node, struct finding *finding)
{
	struct process_file file;
	int r = look(check, finding, &file);

	if (r <= 0)
		return r;
	if (!S_ISCHR(file.st.st_mode) && !S_ISBLK(file.st.st_mode) && !S_ISFIFO(file.st.st_mode))
		return check_bad(check, finding, FINDING_DIFFERS, "is no device node");
	if ((file.st.st_mode & S_IFMT) == node->type &&
	    (S_ISFIFO(node->type) ||
	     (major(file.st.st_rdev) == node->major && minor(file.st.st_rdev) == node->minor)))
		return 0;
	return check_bad(check, finding, FINDING_DIFFERS,
			 "is %c %u:%u instead of %c %u:%u: made by something else, or the driver "
			 "has new numbers since",
			 type_letter(file.st.st_mode), major(file.st.st_rdev),
			 minor(file.st.st_rdev), type_letter(node->type), node->major, node->minor);
}

/* ---- Mounts ---- */

/* The first option that the spec asks for and the mount has not, or NULL. */
static const char *lacking_option(const struct plan_mount *mount, struct libmnt_fs *fs)
{
	static const struct {
		uint64_t attr;
		const char *word;
	} options[] = {
		{MOUNT_ATTR_RDONLY, "ro"},
		{MOUNT_ATTR_NOSUID, "nosuid"},
		{MOUNT_ATTR_NODEV, "nodev"},
		{MOUNT_ATTR_NOEXEC, "noexec"},
	};
	const char *has = mnt_fs_get_vfs_options(fs);

	for (size_t i = 0; has && i < sizeof(options) / sizeof(options[0]); i++)
		if (mount->options.attr_set & options[i].attr &&
		    mnt_optstr_get_option(has, options[i].word, NULL, NULL) != 0)
			return options[i].word;
	return NULL;
}

static int check_mount(struct check *check, const struct plan_mount *mount, struct finding *finding)
{
	bool tmpfs = mount->kind == PLAN_MOUNT_TMPFS;
	struct process_file file;
	const char *option;
	int r = look(check, finding, &file);

	if (r <= 0)
		return r;
	if (!file.mount_root || !file.mount)
		return check_bad(check, finding, FINDING_MISSING,
				 "nothing is mounted there: the mount is gone, or was never made");
	if (tmpfs && strcmp(mnt_fs_get_fstype(file.mount), "tmpfs") != 0)
		return check_bad(check, finding, FINDING_DIFFERS,
				 "a %s is mounted there instead of a tmpfs",
				 mnt_fs_get_fstype(file.mount));
	if (!tmpfs &&
	    (file.st.st_dev != mount->source_node.dev || file.st.st_ino != mount->source_node.ino))
		return check_bad(check, finding, FINDING_DIFFERS,
				 "shows another file than %s of the host: that was replaced since, "
				 "by an update of the driver perhaps, or something else is mounted",
				 mount->source);
	option = lacking_option(mount, file.mount);
	if (option)
		return check_bad(check, finding, FINDING_DIFFERS, "is mounted without %s", option);
	return 0;
}

/* ---- All of it ---- */

struct finding *check_add(struct check *check, const char *operation, const char *path,
			  const struct origin *origin)
{
	struct finding *finding = array_add(check->arena, &check->findings);

	if (finding)
		*finding = (struct finding){operation, path, FINDING_GOOD, NULL, origin};
	return finding;
}

int check_all(struct check *check, struct error *err)
{
	const struct plan *plan = &check->plan;
	struct finding *finding;
	int r = 0;

	check->findings = (struct finding_list){0};
	check->bad = check->unknown = 0;
	for (size_t i = 0; r == 0 && i < plan->nodes.n; i++) {
		const struct plan_node *node = &plan->nodes.items[i];
		finding = check_add(check, "node", node->path, &node->origin);
		r = finding ? check_node(check, node, finding) : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++) {
		const struct plan_mount *mount = &plan->mounts.items[i];
		finding = check_add(check, "mount", mount->destination, &mount->origin);
		r = finding ? check_mount(check, mount, finding) : -ENOMEM;
	}
	if (r < 0)
		return error_memory(err);
	r = check_rules(check, err);
	if (r < 0)
		return r;
	return process_check_alive(&check->process, err);
}
