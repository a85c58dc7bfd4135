/* SPDX-License-Identifier: Apache-2.0 */
/* device_cgroup_allow() on v2: device programs of all kinds. */
#include "device-cgroup-cases.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf-program.h"

/* clang-format off */
/* Nothing, with a call of bpf_get_current_uid_gid(). */
static const struct bpf_insn with_call[] = {INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 15), MOV(0, 0),
					     EXIT()};
/* clang-format on */

/* But for those of v1's root: the kernel's list of its processes may lack one while others come and go. */
static size_t n_notes(const struct fixture *f)
{
	static const char other[] = "cgroup v1 /:";
	size_t n = 0;

	for (size_t i = 0; i < f->notes.list.n; i++)
		n += strncmp(f->notes.list.items[i].text, other, sizeof(other) - 1) != 0;
	return n;
}

static void check_n_notes(const struct fixture *f, size_t expected)
{
	if (check(n_notes(f) == expected, "%zu notes", n_notes(f)))
		return;
	for (size_t i = 0; i < f->notes.list.n; i++)
		printf("# %s\n", f->notes.list.items[i].text);
}

/* ---- Cases of v2 ---- */

static void case_v2_no_program(struct fixture *f)
{
	const char *before = state_of(f);

	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, before, "no program");
	check(kernel.loaded == 0 && f->undo.steps.n == 0, "something was done");
}

static int load_allowing_all(void)
{
	static const struct bpf_insn everything[] = {MOV(0, 1), EXIT()};

	return load(everything, COUNT(everything));
}

static void case_v2_several(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
	limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
	_cleanup_fd_ int fd = load_allowing_all();
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	check_whole_round(f);
	check(query(f->leaf_fd, ids, &flags) == 3, "not three programs");
	/* The third one allows it all already. */
	check(kernel.loaded == 2 && kernel.detached == 0, "%u loaded, %u detached", kernel.loaded,
	      kernel.detached);
}

static void case_v2_override(struct fixture *f)
{
	limit_v2(f->leaf_fd, BPF_F_ALLOW_OVERRIDE);
	check_whole_round(f);
	check(kernel.detached == 0, "detached");
}

static void case_v2_exclusive(struct fixture *f)
{
	limit_v2(f->leaf_fd, 0);
	check_whole_round(f);
	check(kernel.detached == 0, "detached");
}

/* The kernel would replace whichever is there. */
static void case_v2_exclusive_changed(struct fixture *f)
{
	limit_v2(f->leaf_fd, 0);
	_cleanup_fd_ int gone = load(null_only, COUNT(null_only));
	_cleanup_fd_ int fd = load_allowing_all();
	check(bpf_program_replace(f->leaf_fd, 0, gone, fd) < 0 && errno == ENOENT,
	      "another one than was meant is replaced");
	check_closed(f);
}

static void case_v2_more_rules_later(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	check_done(f, allow(f, two_rules, 1));
	check(may_open(f, "fuse", O_RDWR) && !may_open(f, "kmsg", O_RDONLY),
	      "not the first rule alone");
	check_done(f, allow(f, two_rules + 1, 1));
	check_open(f);
	check_undo(f, before);
	check_closed(f);
}

static void case_v2_no_replace(struct fixture *f)
{
	kernel.no_replace = true;
	limit(f);
	limit(f);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(kernel.attached == 2 && kernel.detached == 2, "%u attached, %u detached",
	      kernel.attached, kernel.detached);
	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo failed");
	check_closed(f);
}

static void case_v2_memory(struct fixture *f)
{
	struct rlimit low, now;

	kernel.counts_memory = true;
	must(getrlimit(RLIMIT_MEMLOCK, &low) == 0, "getrlimit");
	low.rlim_cur = LOW_MEMORY;
	must(setrlimit(RLIMIT_MEMLOCK, &low) == 0, "setrlimit");
	limit(f);
	check_whole_round(f);
	must(getrlimit(RLIMIT_MEMLOCK, &now) == 0, "getrlimit");
	check(now.rlim_cur == low.rlim_cur && now.rlim_max == low.rlim_max,
	      "the limit stays raised");
}

static void case_v2_kernel_without(struct fixture *f)
{
	char *text = arena_alloc(&f->arena, 65536);
	_cleanup_fd_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

	must(read(fd, text, 65535) > 0, "read /proc/self/cgroup");
	kernel.no_programs = true;
	int r = allow(f, two_rules, COUNT(two_rules));
	/* Where v1 limits devices nobody needs programs. */
	if (strstr(text, ":devices:"))
		check_done(f, r);
	else
		check_refused(f, r, "no device programs in this kernel");
}

static void case_v2_hidden(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	kernel.hides = true;
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "(net.core.bpf_jit_harden=2 and kernel.kptr_restrict=2, or no CAP_SYSLOG), "
		      "and it cannot be made anew (there is no config.json)");
	check_state(f, before, "refused");
}

/* ---- Hidden instructions, with a config.json ---- */

static struct oci_device_rule deny_all = {.type = 'a', .major = -1, .minor = -1, .access = RWM};

static const struct oci_devices only_defaults = {.rules = {.items = &deny_all, .n = 1}};

/* Limited as a runtime does it that was given `devices`. */
static void limit_by(struct fixture *f, const struct oci_devices *devices, const char *name)
{
	struct device_filter filter;

	must(device_filter_build(&f->arena, devices, &filter, &f->err) == 0, "build a program");
	_cleanup_fd_ int fd = load_named(filter.insns, filter.n, name);
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	f->devices = devices;
}

/* The two rules hold; runtimes let everybody make every node. */
static void check_open_anew(struct fixture *f)
{
	check(may_open(f, "null", O_RDWR), "null is closed");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
	check(may_open(f, "kmsg", O_RDONLY) && !may_open(f, "kmsg", O_WRONLY), "kmsg is wrong");
	check(!may_open(f, "loop-control", O_RDONLY), "loop-control is open");
	check(may_mknod(f, 10, 237), "loop-control cannot be made");
}

static void case_v2_hidden_anew(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	const char *before = state_of(f);
	kernel.hides = true;
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open_anew(f);
	check(has_note(f, "made anew from config.json"), "no note");
	check_n_notes(f, 1);

	const char *after = state_of(f);
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, after, "after the second time");
	check(f->undo.steps.n == 1 && n_notes(f) == 1, "the second time did something");
	check_undo(f, before);
	check_closed(f);
}

/* As after an engine that knows CDI itself: the runtime's own program allows the devices, hidden or not. */
static void granted(struct fixture *f, bool hidden)
{
	struct oci_device_rule entries[] = {
		deny_all,
		{.allow = true, .type = 'c', .major = 10, .minor = 229, .access = RWM},
		{.allow = true, .type = 'c', .major = 1, .minor = 11, .access = DEVICE_READ},
	};
	const struct oci_devices devices = {.rules = {.items = entries, .n = COUNT(entries)}};

	limit_by(f, &devices, "");
	const char *before = state_of(f);
	kernel.hides = hidden;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, before, "granted");
	check(kernel.loaded == 0 && n_notes(f) == 0, "something was done");
	check_open_anew(f);
}

static void case_v2_granted(struct fixture *f)
{
	granted(f, false);
}

static void case_v2_hidden_granted(struct fixture *f)
{
	granted(f, true);
}

/* Hidden only after a first run that could read it. */
static void case_v2_hidden_later(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	const char *after = state_of(f);
	kernel.hides = true;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, after, "after the second time");
	check_open_anew(f);
}

static void check_hidden_refused(struct fixture *f, const struct device_rule *rules, size_t n_rules,
				 const char *reason)
{
	char words[1024];

	const char *before = state_of(f);
	size_t steps = f->undo.steps.n;
	kernel.hides = true;
	snprintf(words, sizeof(words), "cannot be made anew (%s): set one of them to 1", reason);
	check_refused(f, allow(f, rules, n_rules), words);
	check_state(f, before, "refused");
	check(f->undo.steps.n == steps, "something to undo");
}

static void case_v2_hidden_two(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	limit(f);
	check_hidden_refused(f, two_rules, COUNT(two_rules), "it is not the only one");
}

static void case_v2_hidden_stranger(struct fixture *f)
{
	limit_by(f, &only_defaults, "sd_devices");
	check_hidden_refused(f, two_rules, COUNT(two_rules),
			     "it has a name, so it is no runtime's");
}

static void case_v2_hidden_other_rules(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	kernel.hides = true;
	check_done(f, allow(f, two_rules, 1));
	check_hidden_refused(f, two_rules + 1, 1, "it has the rules of an earlier run");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
}

static void case_v2_hidden_odd_config(struct fixture *f)
{
	const struct oci_devices odd = {.problem = "config.json: linux.resources: is odd"};

	limit(f);
	f->devices = &odd;
	check_hidden_refused(f, two_rules, COUNT(two_rules), odd.problem);
}

static void case_v2_changed_meanwhile(struct fixture *f)
{
	limit(f);
	kernel.swaps = 3;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(kernel.swaps == 0, "%u swaps left", kernel.swaps);
	check_open(f);
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
}

static void case_v2_never_still(struct fixture *f)
{
	limit(f);
	kernel.swaps = 1000;
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "its device programs keep changing");
	check(kernel.swaps == 990, "%u tries", 1000 - kernel.swaps);
	check(f->undo.steps.n == 0, "something to undo");
	check_closed(f);
}

static void case_v2_calls(struct fixture *f)
{
	/* The second program cannot be changed, so the first is left alone too. */
	limit(f);
	_cleanup_fd_ int fd = load(with_call, COUNT(with_call));
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	const char *before = state_of(f);
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "its instruction 0 (0x85) calls a function");
	check_state(f, before, "refused");
	check(f->undo.steps.n == 0, "something to undo");
}

static void case_v2_link(struct fixture *f)
{
	_cleanup_fd_ int fd = link_v2(f->leaf_fd);
	must(fd >= 0, "no link");
	const char *before = state_of(f);
	check_refused(f, allow(f, two_rules, COUNT(two_rules)), "attached by a bpf_link");
	check_state(f, before, "refused");
}

/* One above the container's own, which is its alone: crun makes such. */
static void case_v2_ancestor(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit(f);
	check_whole_round(f);
	check(!has_note(f, "another one above it"), "noted");
}

/* Only the one above has a program. */
static void case_v2_ancestor_alone(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(query(f->leaf_fd, ids, &flags) == 0, "a program where there was none");
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	undo_to(&f->undo, 0, &f->err);
	check_closed(f);
}

static void case_v2_ancestor_shared(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit(f);
	move_to(f->parent_fd, spawn(0, 0));
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(has_note(f, "another one above it limits devices too"), "no note");
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_closed(f);
}

/* One above that allows the devices is no limit, whoever lives there. */
static void case_v2_ancestor_allows(struct fixture *f)
{
	static const struct bpf_insn everything[] = {MOV(0, 1), EXIT()};
	_cleanup_fd_ int fd = load(everything, COUNT(everything));

	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	limit(f);
	move_to(f->parent_fd, spawn(0, 0));
	check_whole_round(f);
	check(!has_note(f, "another one above it"), "noted");
}

/* ---- Units above that are not the container's ---- */

/* What the one above has, to be compared with. */
static uint32_t only_program_above(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	check(query(f->parent_fd, ids, &flags) == 1, "not one program above");
	return ids[0];
}

#define LEFT "units that are not the container's are left as they are: "

static void check_unit_noted(struct fixture *f, const char *unit, const char *words)
{
	const char *text = arena_printf(&f->arena, ": %s above it %s", SHOW(unit), words);

	check(has_note(f, text), "no note \"%s\", but \"%s\"", text,
	      f->notes.list.n ? f->notes.list.items[0].text : "");
}

/* By systemd's program: what is to be typed. */
static void check_entry_noted(struct fixture *f, const char *unit, const char *words)
{
	check_unit_noted(f, unit,
			 arena_printf(&f->arena,
				      "limits devices too, and " LEFT
				      "systemctl set-property '%s' 'DeviceAllow=%s",
				      unit, words));
}

static void limit_as_systemd(int cgroup_fd)
{
	limit_v2_named(cgroup_fd, BPF_F_ALLOW_MULTI, BPF_PROGRAM_SYSTEMDS_NAME);
}

/* An administrator's, and the container happens to be alone in it: what comes later must not have the devices too. */
static void case_v2_unit(struct fixture *f)
{
	limit_as_systemd(f->parent_fd);
	const uint32_t above = only_program_above(f);
	limit(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_entry_noted(f, parent_name,
			  "/dev/char/10:229 rwm' would allow it to all that is in there (and 1 "
			  "more likewise)");
	check_n_notes(f, 1);
	check(only_program_above(f) == above, "the unit's program was changed");
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_closed(f);
}

/* Without a list of its own the unit would get a closed one by a first entry: only where systemd's own program refuses. */
static void case_v2_unit_others(struct fixture *f)
{
	limit_as_systemd(f->parent_fd);
	limit_v2_named(f->parent_fd, BPF_F_ALLOW_MULTI, "their_own");
	limit_as_systemd(f->parent_fd);
	limit(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(has_note(f, "(their_own) is not systemd's, and whoever attached it has to allow"),
	      "another's is not named");
	check(!has_note(f, "DeviceAllow"), "an entry is advised");
	check_n_notes(f, 1);
	check_closed(f);
}

static void case_v2_unit_nameless(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit(f);
	check_done(f, allow(f, two_rules + 1, 1));
	check(has_note(f, "has no name, as those of systemd before release 251, and whoever "
			  "attached it has to allow the device there (DeviceAllow=/dev/char/1:11 "
			  "r where the unit has such entries)"),
	      "no note");
	check(!has_note(f, "systemctl"), "a command is advised");
	check_closed(f);
}

/* A level between them that is the container's is changed as ever: crun's sub-cgroup. */
static void case_v2_unit_and_scope(struct fixture *f)
{
	uint32_t before[LIMIT_BPF_PROGRAMS], after[LIMIT_BPF_PROGRAMS], flags;

	limit_as_systemd(f->parent_fd);
	const uint32_t above = only_program_above(f);
	limit(f);
	must(query(f->leaf_fd, before, &flags) == 1, "query");
	must(mkdirat(f->leaf_fd, "below", 0755) == 0, "mkdir below");
	_cleanup_fd_ int below = openat(f->leaf_fd, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(below >= 0, "open below");
	move_to(below, f->pid);
	check_done(f, allow(f, two_rules + 1, 1));
	check_entry_noted(f, parent_name,
			  "/dev/char/1:11 r' would allow it to all that is in there");
	check_n_notes(f, 1);
	check(!has_note(f, "likewise"), "more than one");
	check(query(f->leaf_fd, after, &flags) == 1 && after[0] != before[0],
	      "the one below the unit was not changed");
	check(only_program_above(f) == above, "the unit's program was changed");
	check_closed(f);
}

/* The container's process moves into PARENT/inner.slice/leaf; returned is that slice. */
static int move_into_inner(struct fixture *f)
{
	must(mkdirat(f->parent_fd, "inner.slice", 0755) == 0, "mkdir inner.slice");
	must(mkdirat(f->parent_fd, "inner.slice/leaf", 0755) == 0, "mkdir leaf");
	int inner = openat(f->parent_fd, "inner.slice", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int leaf =
		openat(f->parent_fd, "inner.slice/leaf", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(inner >= 0 && leaf >= 0, "open inner.slice");
	move_to(leaf, f->pid);
	return inner;
}

/* Each of them has to allow the device, so each is named. */
static void case_v2_unit_in_unit(struct fixture *f)
{
	_cleanup_fd_ int inner = move_into_inner(f);

	limit_as_systemd(f->parent_fd);
	limit_as_systemd(inner);
	const uint32_t above = only_program_above(f);
	check_done(f, allow(f, two_rules + 1, 1));
	check_entry_noted(f, "inner.slice", "/dev/char/1:11 r'");
	check_entry_noted(f, parent_name, "/dev/char/1:11 r'");
	check_n_notes(f, 2);
	check(only_program_above(f) == above && f->undo.steps.n == 0, "changed");
}

/* The same one on both: that it is the lower one's own says nothing of the upper one. */
static void case_v2_unit_in_unit_same(struct fixture *f)
{
	_cleanup_fd_ int inner = move_into_inner(f);
	_cleanup_fd_ int fd = load_named(null_only, COUNT(null_only), "their_own");

	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	attach(inner, fd, BPF_F_ALLOW_MULTI, -1);
	check_done(f, allow(f, two_rules + 1, 1));
	check_unit_noted(f, "inner.slice", "limits devices too");
	check_unit_noted(f, parent_name, "limits devices too");
	check_n_notes(f, 2);
}

/* It would be the container's to change, but what it allows would not help. */
static void case_v2_scope_above_unit(struct fixture *f)
{
	_cleanup_fd_ int inner = move_into_inner(f);

	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit_as_systemd(inner);
	const uint32_t above = only_program_above(f);
	check_done(f, allow(f, two_rules + 1, 1));
	check_entry_noted(f, "inner.slice", "/dev/char/1:11 r'");
	check(has_note(f, arena_printf(&f->arena,
				       "another one above it limits devices too: left as it is "
				       "(cgroup /%s, above one that is left",
				       parent_name)),
	      "the scope above is not named");
	check_n_notes(f, 2);
	check(only_program_above(f) == above && f->undo.steps.n == 0, "changed");
}

/* Nobody can tell what it allows; those above it do allow the devices, whatever its own says. */
static void case_v2_unit_cannot_be_followed(struct fixture *f)
{
	_cleanup_fd_ int everything = load_allowing_all();
	_cleanup_fd_ int inner = move_into_inner(f);
	_cleanup_fd_ int fd = load(with_call, COUNT(with_call));

	attach(f->parent_fd, everything, BPF_F_ALLOW_MULTI, -1);
	attach(inner, fd, BPF_F_ALLOW_MULTI, -1);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_unit_noted(f, "inner.slice", "may limit devices too, and " LEFT "device program ");
	check(has_note(f, "cannot be read (its instruction 0 (0x85) calls a function), and the "
			  "devices open only if it allows them"),
	      "no reason");
	check(!has_note(f, "DeviceAllow"), "an entry is advised");
	check_n_notes(f, 1);
}

/* Of kubelet's there is none, and one that allows the devices is no limit. */
static void case_v2_unit_allows(struct fixture *f)
{
	_cleanup_fd_ int fd = load_allowing_all();

	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	limit(f);
	check_whole_round(f);
	check_n_notes(f, 0);
}

/* Nobody knows what it allows. */
static void case_v2_unit_hidden(struct fixture *f)
{
	limit_as_systemd(f->parent_fd);
	const uint32_t above = only_program_above(f);
	f->devices = &only_defaults;
	kernel.hides = true;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_unit_noted(
		f, parent_name,
		arena_printf(&f->arena,
			     "may limit devices too, and " LEFT
			     "device program %u cannot be read (the kernel hides its instructions "
			     "(net.core.bpf_jit_harden=2 and kernel.kptr_restrict=2, or no "
			     "CAP_SYSLOG)), and the devices open only if it allows them",
			     above));
	check(!has_note(f, "DeviceAllow"), "an entry is advised");
	check_n_notes(f, 1);
	check(only_program_above(f) == above, "the unit's program was changed");
	check_closed(f);
}

/* ---- Stage createContainer: the levels above cannot be reached, and what they allow is known ---- */

static void case_v2_inside_refused_above(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	const uint32_t above = only_program_above(f);
	limit(f);
	f->inside = true;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(has_note(f, "another one above it limits devices too: left as it is"), "no note");
	check_n_notes(f, 1);
	check(only_program_above(f) == above, "the one above was changed");
	check_closed(f);
}

static void case_v2_inside_allowed_above(struct fixture *f)
{
	_cleanup_fd_ int fd = load_allowing_all();

	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	limit(f);
	f->inside = true;
	check_whole_round(f);
	check_n_notes(f, 0);
}

/* ---- The rest of what is above ---- */

/*
 * The root has programs too, and nobody can change those for a container. It is everybody's, so this one refuses a device
 * that there is none of.
 */
static void case_v2_root(struct fixture *f)
{
	static const struct device_rule rule = {
		.type = 'c', .major = 511, .minor = 77, .access = DEVICE_READ};
	static const struct bpf_insn refuses[] = {
		LDXW(2, 4), JNE(2, 511, 2), MOV(0, 0), EXIT(), MOV(0, 1), EXIT(),
	};
	_cleanup_fd_ int root = open(mounted[V2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int program = load(refuses, COUNT(refuses));

	must(root >= 0, "open the root");
	limit(f);
	attach(root, program, BPF_F_ALLOW_MULTI, -1);
	int r = allow(f, &rule, 1);
	int r2 = allow(f, two_rules, COUNT(two_rules));
	detach(root, program);
	check(r == 0, "returned %d", r);
	check_done(f, r2);
	check(has_note(f, "another one above it limits devices too"), "no note");
	check(n_notes(f) == 1, "%zu notes: the two rules are allowed there", n_notes(f));
	check_open(f);
}

/* More programs than one question lists, those above included. */
static void case_v2_very_many(struct fixture *f)
{
	for (size_t i = 0; i < LIMIT_BPF_PROGRAMS / 2 + 1; i++) {
		limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
		limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
	}
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
}

/* An administrator's own, which may forbid more than config.json: nobody knows what it says. */
static void case_v2_hidden_above(struct fixture *f)
{
	uint32_t before[LIMIT_BPF_PROGRAMS], after[LIMIT_BPF_PROGRAMS], flags;

	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	f->devices = &only_defaults;
	must(query(f->parent_fd, before, &flags) == 1, "query");
	kernel.hides = true;
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "cannot be made anew (it is of a cgroup above the container's)");
	check(query(f->parent_fd, after, &flags) == 1 && after[0] == before[0], "it was changed");
	check_closed(f);
}

/*
 * The most rules that a plan may hold; blinding makes the program too long for the kernel at two
 * thousand.
 */
static size_t most_rules(void)
{
	_cleanup_fd_ int fd = open("/proc/sys/net/core/bpf_jit_harden", O_RDONLY | O_CLOEXEC);
	char harden = '0';

	(void)!read(fd, &harden, 1);
	return harden == '2' ? 2000 : LIMIT_EDITS;
}

/* The verifier must be able to follow that many. */
static void check_many(struct fixture *f, uint32_t majors)
{
	const size_t n = most_rules();
	struct device_rule *rules = arena_alloc_array(&f->arena, n, sizeof(*rules));

	for (uint32_t i = 0; i < n; i++)
		rules[i] = (struct device_rule){.type = i % 3 ? 'c' : 'b',
						.major = 200 + i % majors,
						.minor = i,
						.access = 1 + i % 7};
	rules[n - 2] = two_rules[0];
	rules[n - 1] = two_rules[1];
	check_done(f, allow(f, rules, n));
	check_open(f);
}

static void case_v2_many_minors(struct fixture *f)
{
	limit(f);
	check_many(f, 1);
}

static void case_v2_many_majors(struct fixture *f)
{
	limit(f);
	check_many(f, 3000);
}

static const struct test_case cases[] = {
	{"no program", 1 << V2, case_v2_no_program},
	{"several programs", 1 << V2, case_v2_several},
	{"granted by the runtime", 1 << V2, case_v2_granted},
	{"flags: override", 1 << V2, case_v2_override},
	{"flags: none", 1 << V2, case_v2_exclusive},
	{"flags: none, and another program is there by now", 1 << V2, case_v2_exclusive_changed},
	{"more rules later", 1 << V2, case_v2_more_rules_later},
	{"without BPF_F_REPLACE", 1 << V2, case_v2_no_replace},
	{"memory that is counted", 1 << V2, case_v2_memory},
	{"a kernel without device programs", 1 << V2, case_v2_kernel_without},
	{"hidden instructions", 1 << V2, case_v2_hidden},
	{"hidden, made anew", 1 << V2, case_v2_hidden_anew},
	{"hidden, granted already", 1 << V2, case_v2_hidden_granted},
	{"hidden after a first run", 1 << V2, case_v2_hidden_later},
	{"hidden, and not alone", 1 << V2, case_v2_hidden_two},
	{"hidden, and a stranger's", 1 << V2, case_v2_hidden_stranger},
	{"hidden, with an earlier run's rules", 1 << V2, case_v2_hidden_other_rules},
	{"hidden, with an odd config.json", 1 << V2, case_v2_hidden_odd_config},
	{"a program that changes meanwhile", 1 << V2, case_v2_changed_meanwhile},
	{"a program that never stops changing", 1 << V2, case_v2_never_still},
	{"a program with a call", 1 << V2, case_v2_calls},
	{"a bpf_link", 1 << V2, case_v2_link},
	{"an ancestor with a program", 1 << V2, case_v2_ancestor},
	{"an ancestor with the only program", 1 << V2, case_v2_ancestor_alone},
	{"an ancestor with a program that allows", 1 << V2, case_v2_ancestor_allows},
	{"a slice above that limits", 1 << V2, case_v2_unit, .parent_suffix = ".slice"},
	{"a slice above, of an escaped name", 1 << V2, case_v2_unit,
	 .parent_suffix = "-my\\x2dapp.slice"},
	{"a service above that limits", 1 << V2, case_v2_unit, .parent_suffix = ".service"},
	{"a slice above, and another's program", 1 << V2, case_v2_unit_others,
	 .parent_suffix = ".slice"},
	{"a slice above, and a program without a name", 1 << V2, case_v2_unit_nameless,
	 .parent_suffix = ".slice"},
	{"a slice above a scope", 1 << V2, case_v2_unit_and_scope, .parent_suffix = ".slice"},
	{"a service above a scope", 1 << V2, case_v2_unit_and_scope, .parent_suffix = ".service"},
	{"a slice in a slice", 1 << V2, case_v2_unit_in_unit, .parent_suffix = ".slice"},
	{"a slice in a service", 1 << V2, case_v2_unit_in_unit, .parent_suffix = ".service"},
	{"a slice in a slice, by the same program", 1 << V2, case_v2_unit_in_unit_same,
	 .parent_suffix = ".slice"},
	{"a slice in a scope", 1 << V2, case_v2_scope_above_unit},
	{"a slice with a call, below one that allows", 1 << V2, case_v2_unit_cannot_be_followed,
	 .parent_suffix = ".slice"},
	{"a slice above that allows", 1 << V2, case_v2_unit_allows, .parent_suffix = ".slice"},
	{"a slice above, hidden", 1 << V2, case_v2_unit_hidden, .parent_suffix = ".slice"},
	{"from inside, refused above", 1 << V2, case_v2_inside_refused_above},
	{"from inside, allowed above", 1 << V2, case_v2_inside_allowed_above},
	{"a program at the root", 1 << V2, case_v2_root},
	{"more programs than are listed", 1 << V2, case_v2_very_many},
	{"hidden, above", 1 << V2, case_v2_hidden_above},
	{"an ancestor with a program, and others in it", 1 << V2, case_v2_ancestor_shared},
	{"as many rules as can be, one major", 1 << V2, case_v2_many_minors},
	{"as many rules as can be, many majors", 1 << V2, case_v2_many_majors},
};

int main(void)
{
	return run_cases(cases, COUNT(cases));
}
