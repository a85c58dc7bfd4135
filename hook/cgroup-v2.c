/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device programs of a v2 cgroup. common/device-filter.c says why the runtime's program has to
 * be changed; here it is read from the kernel, loaded again with our rules in front, and put in the
 * old one's place in one step. Nothing is ever detached first: whatever fails, and wherever, the
 * old program or the new one is there. A cgroup without programs allows everything; a program
 * attached there could only take away.
 *
 * The work is a loop: look at all programs, change those that refuse one of our rules, look again, until there
 * is nothing to change. The last look is the proof, and a runtime that changes its program in
 * between costs one more round.
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "bpf-program.h"
#include "cleanup.h"
#include "device-filter.h"
#include "device-verdict.h"

#define MAX_ROUNDS 10

/* One program attached to the cgroup, and what shall be in its place. */
struct program {
	uint32_t id;
	int fd;
	int new_fd; /* -1: it carries or allows our rules already, or systemd sees to it */
	char name[BPF_OBJ_NAME_LEN];
	bool hidden; /* its instructions; the new one was made from config.json */
};

struct program_list {
	struct program items[LIMIT_BPF_PROGRAMS];
	uint32_t n;
	uint32_t flags; /* how they are attached: BPF_F_ALLOW_MULTI, _OVERRIDE or 0 */
};

/* It was detached while we looked. */
enum { PROGRAM_GONE = 1 };

/* ---- Changing one ---- */

static int refuse_hidden(const char *reason, struct error *err)
{
	return error_say(err, EXIT_CODE_CGROUP,
			 BPF_PROGRAM_HIDDEN_TEXT ", and it cannot be made anew (%s): set one of "
						 "them to 1 and start the container again",
			 reason);
}

/* What was loaded must be what is in the kernel now, or a later run would not know it again. */
static int check_loaded(struct arena *arena, int fd, const struct device_filter *meant,
			struct error *err)
{
	struct device_filter loaded;
	struct bpf_prog_info info;

	int r = bpf_program_read(arena, fd, &loaded, &info, err);
	if (r == BPF_PROGRAM_HIDDEN)
		return refuse_hidden("it was not hidden a moment ago", err);
	if (r < 0)
		return r;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): another file's function has set both when it was 0. */
	if (loaded.n != meant->n ||
	    memcmp(loaded.insns, meant->insns, meant->n * sizeof(*meant->insns)) != 0)
		return error_set(err, 0, "the kernel changed it when it was loaded with our rules");
	return 0;
}

/* Rules that a program must allow. */
struct wanted {
	const struct device_rule *rules;
	size_t n;
};

/*
 * What stands for a hidden program, with what is wanted. Positive when there is nothing to make: the
 * program itself allows that already.
 */
static int make_anew(const struct cgroup *cgroup, const struct wanted *wanted,
		     struct device_filter *ret_filter, struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	const struct oci_devices *devices = cgroup->target->devices;
	struct device_filter base;
	char text[ERROR_TEXT_MAX];

	int r = device_filter_grants(arena, devices, wanted->rules, wanted->n, err);
	if (r == 0)
		r = device_filter_build(arena, devices, &base, err);
	if (r == 0)
		r = device_filter_allow(arena, &base, wanted->rules, wanted->n, ret_filter, err);
	if (r < 0 && err->exit_code != EXIT_CODE_OTHER)
		return refuse_hidden(arena_strdup(arena, error_text(err, text)) ?: "no memory",
				     err);
	return r;
}

/*
 * For a program whose instructions are hidden: `program->new_fd` is made from what the runtime made
 * its own from. Only where this can be no other's program: the only one, and without a name, which
 * runtimes give to none; or one that we have put there.
 */
static int prepare_hidden(const struct cgroup *cgroup, struct program *program,
			  const struct bpf_prog_info *info, bool alone, const struct wanted *wanted,
			  struct error *err)
{
	bool ours = strcmp(info->name, BPF_PROGRAM_OUR_NAME) == 0;
	struct device_filter filter;

	/* config.json says nothing of what an administrator forbids in a cgroup that the container is in. */
	if (cgroup->above && !ours)
		return refuse_hidden("it is of a cgroup above the container's", err);
	if (!cgroup->target->devices)
		return refuse_hidden("there is no config.json", err);
	if (!alone)
		return refuse_hidden("it is not the only one", err);
	if (info->name[0] && !ours)
		return refuse_hidden("it has a name, so it is no runtime's", err);
	int r = make_anew(cgroup, wanted, &filter, err);
	if (r != 0)
		return r < 0 ? r : 0;
	program->new_fd = r = bpf_program_load(cgroup->target->arena, &filter, err);
	if (r < 0)
		return r;
	program->hidden = true;
	if (!ours)
		return 0;
	if (!bpf_program_has_tag(program->new_fd, info))
		return refuse_hidden("it has the rules of an earlier run", err);
	close_fd(&program->new_fd);
	return 0;
}

static bool is_systemds(const struct program *program)
{
	return strcmp(program->name, BPF_PROGRAM_SYSTEMDS_NAME) == 0;
}

/* An engine that knows CDI has had the runtime allow the devices itself. */
static bool allows_already(const struct device_filter *filter, const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->n; i++)
		if (!device_verdict_allows(filter, &wanted->rules[i]))
			return false;
	return true;
}

/*
 * Fills `program->new_fd` unless the program carries or allows what is wanted already. PROGRAM_GONE when it
 * is no longer attached. `alone`: it is the cgroup's only one.
 */
static int prepare(const struct cgroup *cgroup, struct program *program, bool alone,
		   const struct wanted *wanted, struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	struct device_filter old, changed;
	struct bpf_prog_info info;

	int r = bpf_program_read(arena, program->fd, &old, &info, err);
	/* Without memory nobody has looked at it. */
	if (r < 0 && err->errnum == ENOMEM)
		return r;
	/*
	 * systemd would put a fresh one beside ours and never take ours off again. That it has heard of the devices
	 * is no proof that it allows them, but what cannot be read is believed.
	 */
	if (cgroup->told && is_systemds(program) && (r != 0 || allows_already(&old, wanted))) {
		*err = (struct error){0};
		return 0;
	}
	if (r == BPF_PROGRAM_HIDDEN)
		return prepare_hidden(cgroup, program, &info, alone, wanted, err);
	if (r == 0)
		r = device_filter_check(&old, err);
	if (r == 0)
		r = device_filter_allow(arena, &old, wanted->rules, wanted->n, &changed, err);
	if (r == DEVICE_FILTER_UNCHANGED || (r == 0 && allows_already(&old, wanted)))
		return 0;
	if (r < 0)
		return r;
	program->new_fd = r = bpf_program_load(arena, &changed, err);
	return r < 0 ? r : check_loaded(arena, program->new_fd, &changed, err);
}

/* ---- Replacing ---- */

/* What was replaced, for taking it back. */
struct replaced {
	int cgroup_fd, old_fd, new_fd;
	uint32_t flags;
};

/* Runs in, Trusts, Hostile: as cgroup_v2_allow(). */
static int take_back(void *data, struct error *err)
{
	struct replaced *replaced = data;
	_cleanup_fd_ int cgroup_fd = TAKE_FD(replaced->cgroup_fd);
	_cleanup_fd_ int old_fd = TAKE_FD(replaced->old_fd);
	_cleanup_fd_ int new_fd = TAKE_FD(replaced->new_fd);

	if (bpf_program_replace(cgroup_fd, replaced->flags, new_fd, old_fd) < 0)
		return error_set(err, errno, "put the old device program back");
	return 0;
}

static int keep(void *data, struct error *err)
{
	struct replaced *replaced = data;

	close_fd(&replaced->cgroup_fd);
	close_fd(&replaced->old_fd);
	(void)err;
	close_fd(&replaced->new_fd);
	return 0;
}

enum { ROUND_NOTHING_TO_DO = 0, ROUND_CHANGED = 1 };

/* ---- The pinned program ---- */

/*
 * crun from 1.23 on pins its program below /sys/fs/bpf and gives systemd the path: at each change of
 * the unit systemd attaches what is pinned there. So ours has to be there too.
 */
struct repinned {
	struct arena *arena;
	int dir_fd; /* opened before the container's mount namespace is entered */
	const char *name, *path;
	int old_fd;
};

/* Runs in, Trusts, Hostile: as bpf_program_pin(). */
static int pin_back(void *data, struct error *err)
{
	struct repinned *repinned = data;
	_cleanup_fd_ int old_fd = TAKE_FD(repinned->old_fd);
	_cleanup_fd_ int dir_fd = TAKE_FD(repinned->dir_fd);

	if (bpf_program_pin(repinned->arena, dir_fd, repinned->name, old_fd, err) < 0)
		return error_prefix(err, "%s", SHOW(repinned->path));
	return 0;
}

static int forget_old_pin(void *data, struct error *err)
{
	struct repinned *repinned = data;

	(void)err;
	close_fd(&repinned->old_fd);
	close_fd(&repinned->dir_fd);
	return 0;
}

/* The directory that a pin is in; `*ret_name` is the pin's name there. */
static int open_pin_dir(struct arena *arena, const char *path, const char **ret_name,
			struct error *err)
{
	char *dir = arena_strdup(arena, path), *slash = dir ? strrchr(dir, '/') : NULL;

	if (!dir)
		return error_memory(err);
	if (!slash)
		return error_set(err, 0, "%s is no absolute path", SHOW(path));
	*ret_name = slash + 1;
	*slash = '\0';
	int fd = open(*dir ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_set(err, errno, "open %s", SHOW(dir)) : fd;
}

/* Where the program that was just replaced is the one that systemd would attach: the new one now. */
static int repin(const struct cgroup *cgroup, uint32_t old_id, int new_fd, struct undo *undo,
		 struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	const char *path = cgroup->unit ? cgroup->unit->devices.pin : NULL;
	_cleanup_fd_ int old_fd = path ? bpf_program_open_pinned(path) : -1;
	struct repinned *repinned = arena_new(arena, struct repinned);
	const char *what = arena_printf(arena, "device program pinned at %s", SHOW(path));
	struct bpf_prog_info info;

	if (old_fd < 0 || bpf_program_info(old_fd, &info) < 0 || info.id != old_id)
		return 0;
	int r = repinned && what ? undo_reserve(undo, err) : error_memory(err);
	if (r < 0)
		return r;
	const char *name = NULL;
	_cleanup_fd_ int dir_fd = open_pin_dir(arena, path, &name, err);
	if (dir_fd < 0)
		return error_result(err);
	if (bpf_program_pin(arena, dir_fd, name, new_fd, err) < 0)
		return error_prefix(err, "%s", SHOW(path));
	*repinned = (struct repinned){
		.arena = arena,
		.dir_fd = TAKE_FD(dir_fd),
		.name = name,
		.path = path,
		.old_fd = TAKE_FD(old_fd),
	};
	undo_push(undo, &(struct undo_step){.what = what,
					    .take_back = pin_back,
					    .keep = forget_old_pin,
					    .data = repinned});
	return 0;
}

/* ---- Replacing one ---- */

/* What people should know of a program that was replaced. */
static void note_replaced(const struct cgroup *cgroup, const struct program *program)
{
	/* One that systemd will attach anew when it is reloaded; of the container's own unit that is
	 * said already. */
	if (is_systemds(program) && cgroup->told)
		note_add(cgroup->target->notes, NOTE_WARNING,
			 "cgroup %s: systemd was told of the devices, and its program %u does not "
			 "allow them: that was changed, and they will be refused from the next "
			 "systemctl daemon-reload or change of the unit on",
			 SHOW(cgroup->path), program->id);
	if (is_systemds(program) && !cgroup->unit)
		note_add(cgroup->target->notes, NOTE_WARNING,
			 "cgroup %s: systemd will forget the new devices at its next daemon-reload",
			 SHOW(cgroup->path));
	if (program->hidden)
		note_add(cgroup->target->notes, NOTE_WARNING,
			 "cgroup %s: the kernel hides device program %u, which was replaced by one "
			 "made "
			 "anew from config.json and the devices that all runtimes allow",
			 SHOW(cgroup->path), program->id);
}

/*
 * ROUND_CHANGED also when somebody else was faster. On success the journal owns the program's
 * descriptors.
 */
static int replace_program(const struct cgroup *cgroup, struct program *program, uint32_t flags,
			   struct undo *undo, struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	struct replaced *replaced = arena_new(arena, struct replaced);
	const char *what = arena_printf(arena, "device program of cgroup %s", SHOW(cgroup->path));

	if (!replaced || !what)
		return error_memory(err);
	int r = undo_reserve(undo, err);
	if (r < 0)
		return r;
	_cleanup_fd_ int cgroup_fd = fcntl(cgroup->fd, F_DUPFD_CLOEXEC, 3);
	if (cgroup_fd < 0)
		return error_set(err, errno, "duplicate a descriptor");
	if (bpf_program_replace(cgroup_fd, flags, program->fd, program->new_fd) < 0) {
		if (errno != ENOENT)
			return error_set(err, errno, "replace it");
		if (bpf_program_is_attached(cgroup_fd, program->id))
			return error_say(err, EXIT_CODE_CGROUP,
					 "attached by a bpf_link, which only its owner can change");
		return ROUND_CHANGED;
	}
	*replaced = (struct replaced){
		.cgroup_fd = TAKE_FD(cgroup_fd),
		.old_fd = TAKE_FD(program->fd),
		.new_fd = TAKE_FD(program->new_fd),
		.flags = flags,
	};
	const struct undo_step step = {
		.what = what, .take_back = take_back, .keep = keep, .data = replaced};
	undo_push(undo, &step);
	r = repin(cgroup, program->id, replaced->new_fd, undo, err);
	if (r < 0)
		return r;
	note_replaced(cgroup, program);
	return ROUND_CHANGED;
}

/* ---- Rounds ---- */

static int list_programs(const struct cgroup *cgroup, struct program_list *ret_list,
			 struct error *err)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS];

	*ret_list = (struct program_list){0};
	if (bpf_program_query(cgroup->fd, 0, ids, &ret_list->n, &ret_list->flags) < 0) {
		ret_list->n = 0;
		if (errno == ENOSPC)
			return error_set(err, 0, "more than %d device programs",
					 LIMIT_BPF_PROGRAMS);
		return error_set(err, errno, "query device programs");
	}
	ret_list->flags &= BPF_F_ALLOW_MULTI | BPF_F_ALLOW_OVERRIDE;
	for (uint32_t i = 0; i < ret_list->n; i++)
		ret_list->items[i] = (struct program){.id = ids[i], .fd = -1, .new_fd = -1};
	return 0;
}

static void close_programs(struct program_list *list)
{
	for (uint32_t i = 0; i < list->n; i++) {
		close_fd(&list->items[i].fd);
		close_fd(&list->items[i].new_fd);
	}
}

/* Opens them all; `*ret_n_others` is how many are not systemd's, which it has been told about. */
static int open_programs(const struct cgroup *cgroup, struct program_list *list,
			 uint32_t *ret_n_others, struct error *err)
{
	struct bpf_prog_info info;

	*ret_n_others = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		struct program *program = &list->items[i];
		program->fd = bpf_program_open(program->id);
		if (program->fd < 0 && errno == ENOENT)
			return PROGRAM_GONE;
		if (program->fd < 0 || bpf_program_info(program->fd, &info) < 0)
			return error_set(err, errno, "open device program %u", program->id);
		memcpy(program->name, info.name, sizeof(program->name));
		*ret_n_others += !(cgroup->told && is_systemds(program));
	}
	return 0;
}

/* One look at all programs; all that need it are loaded before the first is replaced. */
static int run_round(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		     struct undo *undo, struct error *err)
{
	__attribute__((cleanup(close_programs))) struct program_list list = {0};
	const struct wanted wanted = {.rules = rules, .n = n_rules};
	bool change = false;
	uint32_t n_others;

	int r = list_programs(cgroup, &list, err);
	if (r == 0)
		r = open_programs(cgroup, &list, &n_others, err);
	if (r != 0)
		return r == PROGRAM_GONE ? ROUND_CHANGED : r;
	for (uint32_t i = 0; i < list.n; i++) {
		r = prepare(cgroup, &list.items[i], n_others == 1, &wanted, err);
		if (r < 0)
			return error_prefix(err, "device program %u", list.items[i].id);
		change = change || list.items[i].new_fd >= 0;
	}
	if (change && cgroup->ours)
		cgroup_note_left_alone(cgroup);
	if (!change || cgroup->ours)
		return ROUND_NOTHING_TO_DO;
	r = cgroup_check_alone(cgroup, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < list.n; i++) {
		if (list.items[i].new_fd < 0)
			continue;
		r = replace_program(cgroup, &list.items[i], list.flags, undo, err);
		if (r < 0)
			return error_prefix(err, "device program %u", list.items[i].id);
	}
	return ROUND_CHANGED;
}

/* Changes the cgroup's own programs, until a look at all of them finds nothing to change. */
static int allow_here(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		      struct undo *undo, struct error *err)
{
	for (int i = 0; i < MAX_ROUNDS; i++) {
		int r = run_round(cgroup, rules, n_rules, undo, err);
		if (r <= 0)
			return r;
	}
	return error_say(err, EXIT_CODE_CGROUP, "its device programs keep changing");
}

/* ---- What is above ---- */

/* What one program says to what is wanted, without running it. */
struct opinion {
	uint32_t id; /* 0: none was asked, or with `problem` none could be */
	char name[BPF_OBJ_NAME_LEN];
	const struct device_rule *refused; /* the first one; NULL: none */
	unsigned n_refused;
	const char *problem; /* why nobody can tell, or NULL */
};

COLD static void set_problem(struct arena *arena, struct opinion *opinion, const struct error *err)
{
	char text[ERROR_TEXT_MAX];

	opinion->problem = arena_strdup(arena, error_text(err, text)) ?: "no memory";
}

/* PROGRAM_GONE: what is in its place, if anything, has to be asked. */
static int ask_program(struct arena *arena, uint32_t id, const struct wanted *wanted,
		       struct opinion *ret_opinion)
{
	_cleanup_fd_ int fd = bpf_program_open(id);
	struct bpf_prog_info info = {0};
	struct device_filter filter;
	struct error err = {0};
	unsigned refused;

	*ret_opinion = (struct opinion){.id = id};
	if (fd < 0 && errno == ENOENT)
		return PROGRAM_GONE;
	int r = fd < 0 ? error_set(&err, errno, "open it")
		       : bpf_program_read(arena, fd, &filter, &info, &err);
	memcpy(ret_opinion->name, info.name, sizeof(ret_opinion->name));
	if (r == BPF_PROGRAM_HIDDEN)
		ret_opinion->problem = BPF_PROGRAM_HIDDEN_TEXT;
	else if (r == 0)
		r = device_filter_check(&filter, &err);
	for (size_t i = 0; r == 0 && i < wanted->n; i++) {
		r = device_verdict(&filter, &wanted->rules[i], &refused, &err);
		if (r < 0 || !refused)
			continue;
		if (!ret_opinion->refused)
			ret_opinion->refused = &wanted->rules[i];
		ret_opinion->n_refused++;
	}
	if (r < 0)
		set_problem(arena, ret_opinion, &err);
	return 0;
}

static bool allows(const struct opinion *opinion)
{
	return !opinion->refused && !opinion->problem;
}

/* What the cgroup's own programs say: of those that refuse the one to speak of, and the first of which nobody can tell. */
struct opinions {
	struct opinion refusing, unknown;
};

/* Another's program comes before systemd's: it is what an entry of the unit would not help against. */
static void add_opinion(struct opinions *opinions, const struct opinion *opinion)
{
	struct opinion *refusing = &opinions->refusing;

	if (opinion->problem && !opinions->unknown.problem)
		opinions->unknown = *opinion;
	if (opinion->refused && !opinion->problem &&
	    (!refusing->refused || strcmp(refusing->name, BPF_PROGRAM_SYSTEMDS_NAME) == 0))
		*refusing = *opinion;
}

static int ask_level_once(const struct cgroup *level, const struct wanted *wanted,
			  struct opinions *ret_opinions)
{
	struct program_list list;
	struct opinion opinion;
	struct error err = {0};
	int r = 0;

	*ret_opinions = (struct opinions){0};
	if (list_programs(level, &list, &err) < 0)
		set_problem(level->target->arena, &ret_opinions->unknown, &err);
	for (uint32_t i = 0; r == 0 && i < list.n; i++) {
		r = ask_program(level->target->arena, list.items[i].id, wanted, &opinion);
		if (r == 0)
			add_opinion(ret_opinions, &opinion);
	}
	return r;
}

static void ask_level(const struct cgroup *level, const struct wanted *wanted,
		      struct opinions *ret_opinions)
{
	for (int i = 0; i < MAX_ROUNDS; i++)
		if (ask_level_once(level, wanted, ret_opinions) == 0)
			return;
	ret_opinions->unknown.problem = "they keep changing";
}

/* Takes one of them out: the same program may be attached further up as well. */
static void drop_id(uint32_t *ids, uint32_t *n, uint32_t id)
{
	for (uint32_t i = 0; i < *n; i++)
		if (ids[i] == id) {
			ids[i] = ids[--*n];
			return;
		}
}

/* As is_limited_above(), of the programs that are there now. */
static int look_above(const struct cgroup *cgroup, const struct wanted *wanted, bool *ret_limited)
{
	uint32_t own[LIMIT_BPF_PROGRAMS], all[LIMIT_BPF_PROGRAMS], n_own, n_all, flags;
	struct opinion opinion;
	int r = 0;

	*ret_limited = false;
	/* ENOSPC: more than fit into the list, but their number comes all the same. */
	if (bpf_program_query(cgroup->fd, 0, own, &n_own, &flags) < 0 && errno != ENOSPC)
		return 0;
	if (bpf_program_query(cgroup->fd, BPF_F_QUERY_EFFECTIVE, all, &n_all, &flags) < 0) {
		*ret_limited = errno == ENOSPC && n_all > n_own;
		return 0;
	}
	for (uint32_t i = 0; i < n_own && i < LIMIT_BPF_PROGRAMS; i++)
		drop_id(all, &n_all, own[i]);
	for (uint32_t i = 0; r == 0 && !*ret_limited && i < n_all; i++) {
		r = ask_program(cgroup->target->arena, all[i], wanted, &opinion);
		*ret_limited = r == 0 && !allows(&opinion);
	}
	return r;
}

/* Whether a cgroup above this one has programs, each of which has to agree too, and one may not. */
static bool is_limited_above(const struct cgroup *cgroup, const struct wanted *wanted)
{
	bool limited;

	for (int i = 0; i < MAX_ROUNDS; i++)
		if (look_above(cgroup, wanted, &limited) == 0)
			return limited;
	return true;
}

/* One that is not the container's alone would open the devices for others. `reason` may be NULL. */
static void note_above(const struct cgroup *cgroup, const char *reason)
{
	note_add(cgroup->target->notes, NOTE_WARNING,
		 "cgroup %s: another one above it limits devices too: left as it is%s%s%s",
		 SHOW(cgroup->path), reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
}

static void note_opinion(const struct cgroup *cgroup, const char *unit,
			 const struct opinion *opinion)
{
	const struct unit_limit limit = {
		.program = opinion->id, .name = opinion->name, .problem = opinion->problem};
	const char *advice =
		unit_text_advice(cgroup->target->arena, unit, opinion->refused, &limit);
	char more[32] = "";

	if (opinion->n_refused > 1 && !opinion->problem)
		snprintf(more, sizeof(more), " (and %u more likewise)", opinion->n_refused - 1);
	note_add(cgroup->target->notes, NOTE_WARNING,
		 "cgroup %s: %s above it %s devices too, and %s%s", SHOW(cgroup->path), SHOW(unit),
		 opinion->problem ? "may limit" : "limits", advice ? advice : "is left as it is",
		 more);
}

/*
 * A slice or a service is no container's, even where it is alone in there: whatever is put into it later would have the
 * devices too, and a service its old list again at its next start. Engines set no device programs on those (kubelet and podman
 * for pods neither), so that what limits there is an administrator's, who is told what to do.
 */
static void note_unit(const struct cgroup *cgroup, const char *unit,
		      const struct opinions *opinions)
{
	if (opinions->refusing.refused)
		note_opinion(cgroup, unit, &opinions->refusing);
	if (opinions->unknown.problem)
		note_opinion(cgroup, unit, &opinions->unknown);
}

static void note_level(const struct cgroup *cgroup, const struct cgroup *level)
{
	const char *reason = arena_printf(cgroup->target->arena,
					  "cgroup %s, above one that is left", SHOW(level->path));

	note_above(cgroup, reason);
}

/* The level is left as it is, and so are all above it. */
enum { LEVEL_LEFT = 1 };

/*
 * One level above: `level` is an ancestor of `cgroup`. `only_look`: one below it was left as it is, and what this one allows
 * would not help.
 */
static int allow_at_level(const struct cgroup *cgroup, const struct cgroup *level, bool only_look,
			  const struct wanted *wanted, struct undo *undo, struct error *err)
{
	const char *unit = unit_text_slice_or_service(level->path);
	struct opinions opinions;

	ask_level(level, wanted, &opinions);
	if (!opinions.refusing.refused && !opinions.unknown.problem)
		return 0;
	if (unit)
		note_unit(cgroup, unit, &opinions);
	else if (only_look)
		note_level(cgroup, level);
	if (unit || only_look)
		return LEVEL_LEFT;
	int r = cgroup_check_alone(level, err);
	if (r < 0) {
		char text[ERROR_TEXT_MAX];
		note_above(cgroup, error_text(err, text));
		*err = (struct error){0};
		return LEVEL_LEFT;
	}
	r = allow_here(level, wanted->rules, wanted->n, undo, err);
	return r < 0 ? error_prefix(err, "cgroup v2 %s above it", SHOW(level->path)) : 0;
}

/* Opens the level at `path`; what systemd was told was about the container's scope alone. */
static int open_level(const struct cgroup *cgroup, const char *path, struct cgroup *ret_level,
		      struct error *err)
{
	int r = cgroup_open_level(cgroup, path, ret_level, err);

	ret_level->above = !cgroup->unit || strlen(path) < strlen(cgroup->unit->cgroup);
	if (ret_level->above) {
		ret_level->unit = NULL;
		ret_level->told = false;
	}
	return r;
}

/*
 * crun puts the container's processes into a cgroup below the scope that systemd knows, and the
 * programs may be on both: the levels above are changed too, as far as they hold nobody else, and up to
 * the first slice or service that refuses. Above one that is left as it is all that refuse are named: each has to allow the device.
 */
static int allow_above(const struct cgroup *cgroup, const struct wanted *wanted, struct undo *undo,
		       struct error *err)
{
	char *path = arena_strdup(cgroup->target->arena, cgroup->path);
	struct cgroup level = *cgroup;
	bool limited = is_limited_above(cgroup, wanted), only_look = false;
	int r = 0;

	if (!path)
		return error_memory(err);
	if (limited && cgroup->target->inside)
		note_above(cgroup, NULL);
	if (cgroup->target->inside)
		return 0;
	for (char *slash; limited && r == 0 && path[1];) {
		slash = strrchr(path, '/');
		/* The root keeps its name, and may have programs too. */
		slash[slash == path] = '\0';
		r = open_level(cgroup, path, &level, err);
		if (r == 0)
			r = allow_at_level(cgroup, &level, only_look, wanted, undo, err);
		only_look = only_look || r == LEVEL_LEFT;
		r = r < 0 ? r : 0;
		limited = r == 0 && is_limited_above(&level, wanted);
		close_fd(&level.fd);
	}
	return r;
}

/* Whether this kernel can have device programs at all; `err` says why the question failed. */
static int ask_for_programs(const struct cgroup *cgroup, struct error *err)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], n, flags;

	if (bpf_program_query(cgroup->fd, 0, ids, &n, &flags) == 0 || errno == ENOSPC)
		return 0;
	error_set(err, errno, "query device programs");
	return errno == ENOSYS || errno == EINVAL ? CGROUP_V2_WITHOUT_PROGRAMS : -errno;
}

/*
 * Runs in: the host's namespaces. Trusts: cgroupfs, verified by cgroup_open(), and what the kernel
 * says about programs. Hostile: nothing; `rules` come from a trusted spec and hold single devices
 * only.
 */
int cgroup_v2_allow(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		    struct undo *undo, struct error *err)
{
	int r = ask_for_programs(cgroup, err);

	if (r != 0)
		return r;
	r = allow_here(cgroup, rules, n_rules, undo, err);
	if (r == 0 && !cgroup->ours)
		r = allow_above(cgroup, &(struct wanted){.rules = rules, .n = n_rules}, undo, err);
	return r;
}
