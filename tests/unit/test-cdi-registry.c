/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "cdi-registry.h"
#include "fdio.h"

/* The two directories of most tests. */
static const char *default_dirs[] = {"/etc/cdi", "/var/run/cdi"};

struct fixture {
	struct tree tree;
	struct arena arena;
	struct string_list dirs;
	struct cdi_registry registry;
	struct cdi_found_list found;
	struct notes notes;
	struct error err;
	size_t fds;
};

/* What happens to a file while it is read; see fdio_read() below. */
static struct {
	int changes; /* so many reads are disturbed */
	int dirfd;
	const char *path, *text;
} disturbance;

/*
 * In the place of the function of common/fdio.c, which the linker then leaves out: a file that
 * changes while it is read is otherwise a matter of luck.
 */
int fdio_read(struct arena *arena, int fd, size_t limit, const char *what, char **ret_data,
	      size_t *ret_size, struct error *err)
{
	ssize_t n;

	*ret_size = 0;
	*ret_data = arena_alloc(arena, limit + 1);
	if (!*ret_data)
		return error_memory(err);
	while ((n = read(fd, *ret_data + *ret_size, limit - *ret_size)) > 0)
		*ret_size += (size_t)n;
	if (n < 0)
		return error_set(err, errno, "read %s", SHOW(what));
	if (disturbance.changes > 0) {
		disturbance.changes--;
		assert_int_equal(unlinkat(disturbance.dirfd, disturbance.path, 0), 0);
		int new = openat(disturbance.dirfd, disturbance.path,
				 O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(write(new, disturbance.text, strlen(disturbance.text)),
				 strlen(disturbance.text));
		close(new);
	}
	return 0;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	tree_init(&fixture->tree);
	tree_dir(&fixture->tree, "/etc/cdi");
	tree_dir(&fixture->tree, "/run/cdi");
	tree_dir(&fixture->tree, "/var");
	tree_link(&fixture->tree, "../run", "/var/run");
	arena_init(&fixture->arena, LIMIT_MEMORY);
	fixture->dirs = (struct string_list){.items = default_dirs, .n = 2};
	fixture->notes.arena = &fixture->arena;
	fixture->fds = count_fds();
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(count_fds(), fixture->fds);
	arena_done(&fixture->arena);
	tree_done(&fixture->tree);
	free(fixture);
	return 0;
}

/*
 * A spec file with the devices in `devices`, separated by blanks; each sets DEVICE to `mark`, to
 * tell files apart.
 */
static void add_spec(struct fixture *fixture, const char *path, const char *kind,
		     const char *devices, const char *mark)
{
	char text[16384];
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "cdiVersion: 0.5.0\nkind: %s\ndevices:\n", kind);

	for (const char *at = devices; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"- name: \"%.*s\"\n  containerEdits:\n    env: [DEVICE=%s]\n", (int)len, at,
			mark);
		at += len;
	}
	tree_file(&fixture->tree, path, text);
}

static int load(struct fixture *fixture)
{
	struct cdi_registry_options options = {
		.trust = {.root_fd = fixture->tree.fd, .owner = geteuid()},
		.dirs = &fixture->dirs,
	};

	return cdi_registry_load(&fixture->arena, &options, &fixture->notes, &fixture->registry,
				 &fixture->err);
}

/* Loads and looks for `devices`, separated by blanks, as the command line asks for them. */
static int find(struct fixture *fixture, const char *devices)
{
	struct request_list requests = {0};

	assert_int_equal(load(fixture), 0);
	for (const char *at = devices; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		struct request *request = array_add(&fixture->arena, &requests);
		request->device = arena_strndup(&fixture->arena, at, len);
		at += len;
	}
	return cdi_registry_find(&fixture->arena, &fixture->registry, &requests, &fixture->found,
				 &fixture->err);
}

static void assert_not_found(struct fixture *fixture, const char *devices, enum exit_code exit_code,
			     const char *sentence)
{
	assert_int_equal(find(fixture, devices), -EINVAL);
	assert_error(&fixture->err, exit_code, sentence);
}

static const char *mark_of(const struct cdi_found *found)
{
	assert_int_equal(found->device->edits.env.n, 1);
	return found->device->edits.env.items[0];
}

static void assert_found(struct fixture *fixture, const char *devices, const char *file,
			 const char *mark)
{
	if (find(fixture, devices) < 0)
		fail_msg("%s", fixture->err.text);
	assert_string_equal(fixture->found.items[0].spec->file, file);
	assert_string_equal(mark_of(&fixture->found.items[0]), mark);
}

/* The one file that was set aside, with its whole reason. */
static void assert_set_aside(struct fixture *fixture, const char *file, enum exit_code exit_code,
			     const char *reason)
{
	assert_int_equal(load(fixture), 0);
	assert_int_equal(fixture->registry.set_aside.n, 1);
	assert_string_equal(fixture->registry.set_aside.items[0].reason, reason);
	assert_string_equal(fixture->registry.set_aside.items[0].file, file);
	assert_int_equal(fixture->registry.set_aside.items[0].exit_code, exit_code);
}

static void test_names(void **state)
{
	struct fixture *fixture = *state;
	static const char *const used[] = {"/.hidden.yaml", "/.json",    "/.yaml",
					   "/A.yaml",       "/a.b.json", "/b.yaml"};
	static const char *const ignored[] = {"/x.yml",      "/x.JSON", "/x.yaml~",
					      "/x.yaml.tmp", "/yaml",   "/x.txt"};
	char path[64], kind[64];

	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/etc/cdi%s", used[i]);
		snprintf(kind, sizeof(kind), "v.com/c%zu", i);
		add_spec(fixture, path, kind, "0", "x");
		snprintf(path, sizeof(path), "/etc/cdi%s", ignored[i]);
		tree_file(&fixture->tree, path, "not a spec");
	}
	tree_dir(&fixture->tree, "/etc/cdi/directory.yaml/etc");
	assert_int_equal(load(fixture), 0);
	assert_int_equal(fixture->registry.set_aside.n, 0);
	assert_int_equal(fixture->registry.specs.n, 6);
	for (size_t i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/etc/cdi%s", used[i]);
		assert_string_equal(fixture->registry.specs.items[i].spec->file, path);
		assert_int_equal(fixture->registry.specs.items[i].priority, 0);
	}
	/* What somebody surely meant for a spec is not passed over in silence. (The others are about
	 * the two .json files, which are YAML.) */
	assert_int_equal(fixture->notes.list.n, 4);
	for (size_t i = 0; i < 2; i++) {
		bool yml = strstr(fixture->notes.list.items[i].text, "x.yml") != NULL;
		assert_string_equal(fixture->notes.list.items[i].text,
				    yml ? "/etc/cdi/x.yml: not read: the names of spec files end "
					  "in .json or .yaml"
					: "/etc/cdi/x.JSON: not read: the names of spec files end "
					  "in .json or .yaml");
	}
}

static void test_nothing_there(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(unlinkat(fixture->tree.fd, "run/cdi", AT_REMOVEDIR), 0);
	assert_int_equal(load(fixture), 0);
	assert_int_equal(fixture->registry.dirs.n, 2);
	assert_int_equal(fixture->registry.set_aside.n, 0);
	assert_not_found(fixture, "nvidia.com/gpu=all", EXIT_CODE_REQUEST,
			 "device nvidia.com/gpu=all: no spec file has the kind nvidia.com/gpu; "
			 "searched /etc/cdi, /var/run/cdi (missing)");
	fixture->dirs.n = 0;
	assert_not_found(fixture, "nvidia.com/gpu=all", EXIT_CODE_REQUEST,
			 "device nvidia.com/gpu=all: no spec file has the kind nvidia.com/gpu; "
			 "searched nothing");
	assert_int_equal(find(fixture, ""), 0);
	assert_int_equal(fixture->found.n, 0);
}

static void test_precedence(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0 1", "etc");
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=etc");
	assert_string_equal(fixture->found.items[0].name, "v.com/c=0");
	add_spec(fixture, "/run/cdi/a.yaml", "v.com/c", "0", "run");
	assert_found(fixture, "v.com/c=0", "/var/run/cdi/a.yaml", "DEVICE=run");
	assert_found(fixture, "v.com/c=1", "/etc/cdi/v.yaml", "DEVICE=etc");
}

static void test_order_is_that_of_the_requests(void **state)
{
	struct fixture *fixture = *state;
	static const char *const expected[] = {"v.com/c=2", "a.com/c=0", "v.com/c=0", "v.com/c=1"};

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0 1 2", "v");
	add_spec(fixture, "/etc/cdi/a.yaml", "a.com/c", "0", "a");
	assert_int_equal(
		find(fixture, "v.com/c=2 a.com/c=0 v.com/c=0 v.com/c=2 v.com/c=1 a.com/c=0"), 0);
	assert_int_equal(fixture->found.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(fixture->found.items[i].name, expected[i]);
}

static void test_conflict(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/a.yaml", "v.com/c", "x y", "a");
	add_spec(fixture, "/etc/cdi/b.yaml", "v.com/c", "x", "b");
	assert_not_found(fixture, "v.com/c=x", EXIT_CODE_REQUEST,
			 "device v.com/c=x: defined twice, in /etc/cdi/a.yaml and /etc/cdi/b.yaml");
	/* The other devices of both files stay usable. */
	assert_found(fixture, "v.com/c=y", "/etc/cdi/a.yaml", "DEVICE=a");
	/* A definition in a later directory replaces both. */
	add_spec(fixture, "/run/cdi/c.yaml", "v.com/c", "x", "c");
	assert_found(fixture, "v.com/c=x", "/var/run/cdi/c.yaml", "DEVICE=c");
	/* A conflict there does not bring an earlier one back. */
	add_spec(fixture, "/run/cdi/d.yaml", "v.com/c", "x y", "d");
	add_spec(fixture, "/run/cdi/e.yaml", "v.com/c", "x y", "e");
	assert_not_found(
		fixture, "v.com/c=x v.com/c=y", EXIT_CODE_REQUEST,
		"device v.com/c=x: defined 3 times, in /var/run/cdi/c.yaml and /var/run/cdi/d.yaml "
		"and "
		"/var/run/cdi/e.yaml; "
		"device v.com/c=y: defined twice, in /var/run/cdi/d.yaml and /var/run/cdi/e.yaml");
}

static void test_same_directory_twice(void **state)
{
	struct fixture *fixture = *state;
	static const char *dirs[] = {"/run/cdi", "/etc/cdi", "/var/run//cdi/"};

	fixture->dirs = (struct string_list){.items = dirs, .n = 3};
	add_spec(fixture, "/run/cdi/v.yaml", "v.com/c", "0", "run");
	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0 1", "etc");
	assert_found(fixture, "v.com/c=0", "/var/run/cdi/v.yaml", "DEVICE=run");
	assert_int_equal(fixture->registry.specs.n, 2);
	assert_int_equal(fixture->registry.specs.items[0].priority, 1);
	assert_int_equal(fixture->registry.specs.items[1].priority, 2);
	assert_not_found(fixture, "v.com/c=2", EXIT_CODE_REQUEST,
			 "device v.com/c=2: not found: v.com/c has 0, 1 (/etc/cdi/v.yaml, "
			 "/var/run/cdi/v.yaml); "
			 "searched /run/cdi, /etc/cdi, /var/run/cdi");
}

static void test_names_that_are_no_directory(void **state)
{
	struct fixture *fixture = *state;
	static const char *dirs[] = {"etc/cdi", "/etc/../etc/cdi", "/etc/file", "/etc/cdi"};

	tree_file(&fixture->tree, "/etc/file", "");
	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "x");
	fixture->dirs = (struct string_list){.items = dirs, .n = 4};
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=x");
	assert_int_equal(fixture->registry.set_aside.n, 3);
	assert_string_equal(fixture->registry.set_aside.items[0].reason,
			    "etc/cdi: the path is not absolute");
	assert_string_equal(fixture->registry.set_aside.items[1].reason,
			    "/etc/../etc/cdi: the path contains ..");
	assert_string_equal(fixture->registry.set_aside.items[2].reason,
			    "/etc/file: Not a directory");
	assert_not_found(
		fixture, "v.com/d=0", EXIT_CODE_SPEC,
		"device v.com/d=0: no spec file has the kind v.com/d (did you mean v.com/c?); "
		"kinds found: v.com/c; searched etc/cdi, /etc/../etc/cdi, /etc/file, /etc/cdi; set "
		"aside: "
		"etc/cdi: the path is not absolute; /etc/../etc/cdi: the path contains ..; "
		"/etc/file: Not a directory");
}

static void test_too_many_directories(void **state)
{
	struct fixture *fixture = *state;
	static const char *dirs[LIMIT_SPEC_DIRS + 1];

	for (size_t i = 0; i <= LIMIT_SPEC_DIRS; i++)
		dirs[i] = i % 2 ? "/run/cdi" : "/etc/cdi";
	fixture->dirs = (struct string_list){.items = dirs, .n = LIMIT_SPEC_DIRS};
	assert_int_equal(load(fixture), 0);
	fixture->dirs.n++;
	assert_int_equal(load(fixture), -EINVAL);
	assert_error(&fixture->err, EXIT_CODE_USAGE, "more than 64 spec directories");
}

static void test_untrusted_directory(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "etc");
	add_spec(fixture, "/run/cdi/v.yaml", "v.com/c", "1", "run");
	tree_mode(&fixture->tree, "/run/cdi", 0775);
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=etc");
	assert_not_found(
		fixture, "v.com/c=1", EXIT_CODE_REFUSED,
		"device v.com/c=1: not found: v.com/c has 0 (/etc/cdi/v.yaml); "
		"searched /etc/cdi, /var/run/cdi; set aside: /var/run/cdi: "
		"/run/cdi: not trusted: writable by its group (mode 0775): chmod go-w /run/cdi");
}

/* Nothing is unreadable for root: root becomes somebody else meanwhile. */
static void test_unreadable(void **state)
{
	struct fixture *fixture = *state;
	bool root = geteuid() == 0;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "etc");
	add_spec(fixture, "/etc/cdi/w.yaml", "w.com/c", "0", "etc");
	tree_mode(&fixture->tree, "/etc/cdi/v.yaml", 0);
	assert_int_equal(chmod(fixture->tree.path, 0755), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/v.yaml: Permission denied");
	/* The others of the directory are used. */
	assert_found(fixture, "w.com/c=0", "/etc/cdi/w.yaml", "DEVICE=etc");
	assert_not_found(fixture, "v.com/c=0", EXIT_CODE_SPEC,
			 "device v.com/c=0: no spec file has the kind v.com/c (did you mean "
			 "w.com/c?); kinds found: w.com/c; searched /etc/cdi, /var/run/cdi; set "
			 "aside: /etc/cdi/v.yaml: Permission denied");
	if (root)
		assert_int_equal(seteuid(0), 0);
	tree_mode(&fixture->tree, "/etc/cdi", 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	assert_set_aside(fixture, "/etc/cdi", EXIT_CODE_SPEC, "/etc/cdi: Permission denied");
	if (root)
		assert_int_equal(seteuid(0), 0);
	tree_mode(&fixture->tree, "/etc/cdi", 0755);
}

static void test_untrusted_file(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "x");
	add_spec(fixture, "/etc/cdi/w.yaml", "w.com/c", "0", "x");
	tree_mode(&fixture->tree, "/etc/cdi/v.yaml", 0666);
	assert_set_aside(
		fixture, "/etc/cdi/v.yaml", EXIT_CODE_REFUSED,
		"/etc/cdi/v.yaml: not trusted: writable by its group and others (mode 0666): "
		"chmod go-w /etc/cdi/v.yaml");
	assert_not_found(
		fixture, "v.com/c=0", EXIT_CODE_REFUSED,
		"device v.com/c=0: no spec file has the kind v.com/c (did you mean w.com/c?); "
		"kinds found: w.com/c; searched /etc/cdi, /var/run/cdi; set aside: "
		"/etc/cdi/v.yaml: "
		"not trusted: writable by its group and others (mode 0666): chmod go-w "
		"/etc/cdi/v.yaml");
	assert_found(fixture, "w.com/c=0", "/etc/cdi/w.yaml", "DEVICE=x");
}

static void test_links(void **state)
{
	struct fixture *fixture = *state;

	tree_dir(&fixture->tree, "/usr/share/vendor");
	add_spec(fixture, "/usr/share/vendor/spec", "v.com/c", "0", "usr");
	tree_link(&fixture->tree, "../../usr/share/vendor/spec", "/etc/cdi/v.yaml");
	/* Judged by the link's own name, and named by it. */
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=usr");
	tree_mode(&fixture->tree, "/usr/share", 0777);
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_REFUSED,
			 "/etc/cdi/v.yaml: /usr/share: not trusted: writable by its group and "
			 "others (mode 0777): "
			 "chmod go-w /usr/share");
}

static void test_links_to_what_is_no_file(void **state)
{
	struct fixture *fixture = *state;

	tree_link(&fixture->tree, "/nowhere", "/etc/cdi/v.yaml");
	assert_set_aside(
		fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
		"/etc/cdi/v.yaml: dangling link: open /nowhere: No such file or directory");
	tree_dir(&fixture->tree, "/nowhere");
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/v.yaml: open /nowhere: Is a directory");
	assert_int_equal(unlinkat(fixture->tree.fd, "nowhere", AT_REMOVEDIR), 0);
	if (mknodat(fixture->tree.fd, "nowhere", S_IFCHR | 0666, makedev(1, 3)) < 0)
		return;
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/v.yaml: /nowhere: is a character device, not a regular file");
}

/* None of them may hold up the start of a container. */
static void test_what_is_not_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	tree_fifo(&fixture->tree, "/etc/cdi/v.yaml");
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/v.yaml: is a FIFO, not a regular file");
	assert_int_equal(unlinkat(fixture->tree.fd, "etc/cdi/v.yaml", 0), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/etc/cdi/s.yaml", fixture->tree.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
	assert_set_aside(fixture, "/etc/cdi/s.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/s.yaml: is a socket, not a regular file");
}

/*
 * The reason comes from the parser; its kind decides which devices the file is held responsible
 * for.
 */
static void test_broken_file(void **state)
{
	struct fixture *fixture = *state;
	char sentence[ERROR_TEXT_MAX];

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "x");
	tree_file(&fixture->tree, "/etc/cdi/w.yaml",
		  "cdiVersion: 0.5.0\nkind: w.com/c\ndevices:\n- name: \"0\"\n  containerEdits: "
		  "{evn: [A=b]}\n");
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=x");
	assert_int_equal(fixture->registry.set_aside.n, 1);
	const struct cdi_set_aside *aside = &fixture->registry.set_aside.items[0];
	assert_string_equal(aside->kind, "w.com/c");
	assert_memory_equal(aside->reason, "/etc/cdi/w.yaml:5:", 18);
	snprintf(sentence, sizeof(sentence),
		 "device w.com/c=0: no spec file has the kind w.com/c (did you mean v.com/c?); "
		 "kinds found: v.com/c; "
		 "searched /etc/cdi, /var/run/cdi; set aside: %s",
		 aside->reason);
	assert_not_found(fixture, "w.com/c=0", EXIT_CODE_SPEC, sentence);
	/* Another kind's file is shown, but is not the cause. */
	aside = &fixture->registry.set_aside.items[0];
	snprintf(sentence, sizeof(sentence),
		 "device v.com/c=1: not found: v.com/c has 0 (/etc/cdi/v.yaml); searched /etc/cdi, "
		 "/var/run/cdi; "
		 "set aside: %s",
		 aside->reason);
	assert_not_found(fixture, "v.com/c=1", EXIT_CODE_REQUEST, sentence);
	/* A file that does not even say its kind may have had anything. */
	tree_file(&fixture->tree, "/etc/cdi/w.yaml", "{");
	assert_int_equal(find(fixture, "v.com/c=1"), -EINVAL);
	assert_null(fixture->registry.set_aside.items[0].kind);
	assert_int_equal(fixture->err.exit_code, EXIT_CODE_SPEC);
}

/* The file that could have had the device comes first, and its code counts. */
static void test_codes_and_order_of_what_is_set_aside(void **state)
{
	struct fixture *fixture = *state;

	tree_file(&fixture->tree, "/etc/cdi/a.yaml", "kind: a.com/c\nfoo: bar\n");
	tree_file(&fixture->tree, "/etc/cdi/b.yaml", "{");
	tree_file(&fixture->tree, "/etc/cdi/c.yaml", "kind: c.com/c\nfoo: bar\n");
	add_spec(fixture, "/etc/cdi/d.yaml", "d.com/c", "0", "x");
	tree_mode(&fixture->tree, "/etc/cdi/d.yaml", 0664);
	assert_int_equal(find(fixture, "c.com/c=0"), -EINVAL);
	const char *a = strstr(fixture->err.text, "/etc/cdi/a.yaml:"),
		   *b = strstr(fixture->err.text, "/etc/cdi/b.yaml:");
	const char *c = strstr(fixture->err.text, "/etc/cdi/c.yaml:"),
		   *d = strstr(fixture->err.text, "/etc/cdi/d.yaml:");
	assert_true(a && b && c && d);
	assert_true(c < b && b < d && d < a);
	assert_int_equal(fixture->err.exit_code, EXIT_CODE_SPEC);
	/* Both b and d may have had it: the first code of the list. */
	assert_int_equal(find(fixture, "d.com/c=0"), -EINVAL);
	assert_int_equal(fixture->err.exit_code, EXIT_CODE_SPEC);
	assert_int_equal(unlinkat(fixture->tree.fd, "etc/cdi/b.yaml", 0), 0);
	assert_int_equal(find(fixture, "d.com/c=0"), -EINVAL);
	assert_int_equal(fixture->err.exit_code, EXIT_CODE_REFUSED);
	/* Of several devices too. */
	assert_int_equal(find(fixture, "d.com/c=0 a.com/c=0"), -EINVAL);
	assert_int_equal(fixture->err.exit_code, EXIT_CODE_SPEC);
}

static void test_near_misses(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "vendor.com/gpu", "0 1 2 10 gpu0 all", "x");
	assert_not_found(
		fixture, "vendor.com/gpu=9", EXIT_CODE_REQUEST,
		"device vendor.com/gpu=9: not found: vendor.com/gpu has 0, 1, 2, 10, all, gpu0 "
		"(/etc/cdi/v.yaml); searched /etc/cdi, /var/run/cdi");
	assert_not_found(
		fixture, "vendor.com/gpu=ALL", EXIT_CODE_REQUEST,
		"device vendor.com/gpu=ALL: not found (did you mean all?): vendor.com/gpu has "
		"0, 1, 2, 10, all, gpu0 (/etc/cdi/v.yaml); searched /etc/cdi, /var/run/cdi");
	assert_not_found(fixture, "vendor.com/gpus=0", EXIT_CODE_REQUEST,
			 "device vendor.com/gpus=0: no spec file has the kind vendor.com/gpus "
			 "(did you mean vendor.com/gpu?); kinds found: vendor.com/gpu; "
			 "searched /etc/cdi, /var/run/cdi");
}

static void test_several_missing(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0 1", "x");
	add_spec(fixture, "/etc/cdi/w.yaml", "v.com/c", "1", "x");
	assert_not_found(
		fixture, "v.com/c=7 v.com/c=0 v.com/c=8 w.com/d=0 v.com/c=1", EXIT_CODE_REQUEST,
		"device v.com/c=7: not found: v.com/c has 0, 1 (/etc/cdi/v.yaml, /etc/cdi/w.yaml); "
		"device v.com/c=8: not found; "
		"device w.com/d=0: no spec file has the kind w.com/d (did you mean v.com/c?); "
		"device v.com/c=1: defined twice, in /etc/cdi/v.yaml and /etc/cdi/w.yaml; "
		"kinds found: v.com/c; searched /etc/cdi, /var/run/cdi");
}

static void test_long_lists_are_cut(void **state)
{
	struct fixture *fixture = *state;
	char devices[1024] = "", path[64];
	size_t used = 0;

	for (int i = 0; i < 53; i++)
		used += (size_t)snprintf(devices + used, sizeof(devices) - used, "%d ", i);
	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", devices, "x");
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/run/cdi/%d.yaml", i);
		add_spec(fixture, path, "v.com/c", "0", "x");
	}
	assert_not_found(fixture, "v.com/c=99", EXIT_CODE_REQUEST,
			 "device v.com/c=99: not found: v.com/c has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
			 "10, 11, 12, 13, 14, "
			 "15 and 37 more (/etc/cdi/v.yaml, /var/run/cdi/0.yaml, "
			 "/var/run/cdi/1.yaml and 3 more); "
			 "searched /etc/cdi, /var/run/cdi");
	assert_not_found(fixture, "v.com/c=0", EXIT_CODE_REQUEST,
			 "device v.com/c=0: defined 5 times, in /var/run/cdi/0.yaml and "
			 "/var/run/cdi/1.yaml and "
			 "/var/run/cdi/2.yaml and 2 more");
	used = 0;
	for (int i = 100; i < 150; i++)
		used += (size_t)snprintf(devices + used, sizeof(devices) - used, "v.com/c=%d ", i);
	assert_int_equal(find(fixture, devices), -EINVAL);
	assert_non_null(strstr(
		fixture->err.text,
		"device v.com/c=111: not found; 38 more devices; searched /etc/cdi, /var/run/cdi"));
}

/* Whatever is long, the other parts keep their place in the sentence. */
static void test_long_words_leave_room(void **state)
{
	struct fixture *fixture = *state;
	char name[800], path[300], devices[2000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", name, "x");
	for (int i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "/etc/cdi/%d%.200s.yaml", i, name);
		tree_file(&fixture->tree, path, "{");
	}
	snprintf(devices, sizeof(devices), "v.com/c=%s%s w.com/c=0 v.com/c=1", name, name + 700);
	assert_int_equal(find(fixture, devices), -EINVAL);
	assert_true(strlen(fixture->err.text) < ERROR_TEXT_MAX - 1);
	assert_non_null(strstr(fixture->err.text,
			       "; searched /etc/cdi, /var/run/cdi; set aside: /etc/cdi/0nnn"));
	assert_non_null(strstr(fixture->err.text, "device w.com/c=0: no spec file"));
	assert_non_null(strstr(fixture->err.text, " more"));
}

/* Even a reason that has no room by itself is there with its beginning. */
static void test_long_reason_is_cut(void **state)
{
	struct fixture *fixture = *state;
	char reason[2000];
	struct cdi_set_aside aside[] = {
		{"/a.yaml", NULL, reason, EXIT_CODE_SPEC},
		{"/b.yaml", NULL, "/b.yaml: x", EXIT_CODE_SPEC},
		{"/c.yaml", NULL, "/c.yaml: x", EXIT_CODE_SPEC},
	};
	struct cdi_registry registry = {.set_aside = {.items = aside, .n = 3}};
	struct request request = {.device = "v.com/c=0"};
	struct request_list requests = {.items = &request, .n = 1};
	char sentence[ERROR_TEXT_MAX];

	memset(reason, 'r', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	assert_int_equal(cdi_registry_find(&fixture->arena, &registry, &requests, &fixture->found,
					   &fixture->err),
			 -EINVAL);
	snprintf(sentence, sizeof(sentence),
		 "device v.com/c=0: no spec file has the kind v.com/c; searched nothing; "
		 "set aside: %.948s...; and 2 more",
		 reason);
	assert_error(&fixture->err, EXIT_CODE_SPEC, sentence);
}

static void test_bare_names(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "only shared", "v");
	add_spec(fixture, "/etc/cdi/w.yaml", "w.com/c", "shared other", "w");
	add_spec(fixture, "/run/cdi/v.yaml", "v.com/c", "only", "run");
	assert_found(fixture, "only", "/var/run/cdi/v.yaml", "DEVICE=run");
	assert_string_equal(fixture->found.items[0].name, "v.com/c=only");
	assert_int_equal(find(fixture, "v.com/c=only other only"), 0);
	assert_int_equal(fixture->found.n, 2);
	assert_not_found(
		fixture, "shared", EXIT_CODE_REQUEST,
		"device shared: more than one kind has it: write v.com/c=shared or w.com/c=shared");
	assert_not_found(fixture, "onyl", EXIT_CODE_REQUEST,
			 "device onyl: no spec file has it (did you mean only?); searched "
			 "/etc/cdi, /var/run/cdi");
	/* Only a person who types may be brief. */
	struct request request = {.device = "only", .annotation = "cdi.k8s.io/x"};
	struct request_list requests = {.items = &request, .n = 1};
	assert_int_equal(cdi_registry_find(&fixture->arena, &fixture->registry, &requests,
					   &fixture->found, &fixture->err),
			 -EINVAL);
}

static void test_changed_while_read(void **state)
{
	struct fixture *fixture = *state;
	static const char text[] = "cdiVersion: 0.5.0\nkind: v.com/c\n"
				   "devices: [{name: new, containerEdits: {env: [DEVICE=new]}}]\n";

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "old", "old");
	disturbance.dirfd = fixture->tree.fd;
	disturbance.path = "etc/cdi/v.yaml";
	disturbance.text = text;
	disturbance.changes = 1;
	assert_found(fixture, "v.com/c=new", "/etc/cdi/v.yaml", "DEVICE=new");
	disturbance.changes = 2;
	assert_set_aside(fixture, "/etc/cdi/v.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/v.yaml: changed while it was read, twice");
	assert_int_equal(disturbance.changes, 0);
}

static void make_sparse(struct fixture *fixture, const char *path, off_t size)
{
	tree_file(&fixture->tree, path, "");
	int fd = openat(fixture->tree.fd, path + 1, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static void test_sizes(void **state)
{
	struct fixture *fixture = *state;
	char path[64];

	make_sparse(fixture, "/etc/cdi/large.yaml", LIMIT_SPEC_SIZE + 1);
	assert_set_aside(fixture, "/etc/cdi/large.yaml", EXIT_CODE_SPEC,
			 "/etc/cdi/large.yaml: larger than 4194304 bytes");
	make_sparse(fixture, "/etc/cdi/large.yaml", (off_t)1 << 43);
	assert_int_equal(load(fixture), 0);
	for (int i = 0; i <= LIMIT_SPEC_TOTAL / LIMIT_SPEC_SIZE; i++) {
		snprintf(path, sizeof(path), "/etc/cdi/%02d.yaml", i);
		make_sparse(fixture, path, LIMIT_SPEC_SIZE);
	}
	assert_int_equal(load(fixture), -EINVAL);
	assert_error(
		&fixture->err, EXIT_CODE_SPEC,
		"/etc/cdi/16.yaml: with this file there are more than 67108864 bytes of specs");
}

static void test_too_many_files(void **state)
{
	struct fixture *fixture = *state;
	char path[64];

	for (int i = 0; i < LIMIT_SPEC_FILES; i++) {
		snprintf(path, sizeof(path), "/etc/cdi/%d.yaml", i);
		tree_link(&fixture->tree, "/none", path);
	}
	add_spec(fixture, "/run/cdi/v.yaml", "v.com/c", "0", "x");
	assert_found(fixture, "v.com/c=0", "/var/run/cdi/v.yaml", "DEVICE=x");
	assert_int_equal(fixture->registry.set_aside.n, LIMIT_SPEC_FILES);
	tree_link(&fixture->tree, "/none", "/etc/cdi/one-more.json");
	assert_set_aside(fixture, "/etc/cdi", EXIT_CODE_SPEC,
			 "/etc/cdi: more than 4096 spec files: none of them is used");
	assert_int_equal(fixture->registry.specs.n, 1);
}

static void test_notes_of_a_run_that_succeeded(void **state)
{
	struct fixture *fixture = *state;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0", "x");
	tree_file(&fixture->tree, "/run/cdi/v.yaml", "kind: v.com/c\nfoo: bar\n");
	tree_file(&fixture->tree, "/run/cdi/w.yaml", "kind: w.com/c\nfoo: bar\n");
	tree_fifo(&fixture->tree, "/run/cdi/x.yaml");
	assert_found(fixture, "v.com/c=0", "/etc/cdi/v.yaml", "DEVICE=x");
	fixture->notes.list.n = 0;
	cdi_registry_note_set_aside(&fixture->registry, &fixture->found, &fixture->notes);
	assert_int_equal(fixture->notes.list.n, 3);
	const struct note *notes = fixture->notes.list.items;
	assert_memory_equal(notes[0].text, "set aside: /var/run/cdi/v.yaml:", 31);
	assert_int_equal(notes[0].level, NOTE_WARNING);
	assert_int_equal(notes[1].level, NOTE_INFO);
	assert_string_equal(notes[2].text,
			    "set aside: /var/run/cdi/x.yaml: is a FIFO, not a regular file");
	assert_int_equal(notes[2].level, NOTE_WARNING);
	cdi_registry_note_set_aside(&fixture->registry, &fixture->found, NULL);
}

static int load_and_find(struct fixture *fixture, size_t limit, size_t *ret_used, struct error *err)
{
	struct request request = {.device = "v.com/c=9"};
	struct request_list requests = {.items = &request, .n = 1};
	struct cdi_registry_options options = {
		.trust = {.root_fd = fixture->tree.fd, .owner = geteuid()},
		.dirs = &fixture->dirs,
	};
	struct arena arena;

	arena_init(&arena, limit);
	int r = cdi_registry_load(&arena, &options, NULL, &fixture->registry, err);
	if (r == 0)
		r = cdi_registry_find(&arena, &fixture->registry, &requests, &fixture->found, err);
	*ret_used = arena.used;
	arena_done(&arena);
	return r;
}

/* With too little memory the answer is that there was not enough: never a wrong sentence. */
static void test_no_memory(void **state)
{
	struct fixture *fixture = *state;
	struct error err = {0};
	size_t enough, used;

	add_spec(fixture, "/etc/cdi/v.yaml", "v.com/c", "0 1", "x");
	tree_fifo(&fixture->tree, "/etc/cdi/w.yaml");
	assert_int_equal(load_and_find(fixture, LIMIT_MEMORY, &enough, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_SPEC,
		     "device v.com/c=9: not found: v.com/c has 0, 1 (/etc/cdi/v.yaml); "
		     "searched /etc/cdi, /var/run/cdi; "
		     "set aside: /etc/cdi/w.yaml: is a FIFO, not a regular file");
	for (size_t limit = 0; limit < enough; limit += 16) {
		assert_int_equal(load_and_find(fixture, limit, &used, &err), -ENOMEM);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_nothing_there),
		TEST(test_precedence),
		TEST(test_order_is_that_of_the_requests),
		TEST(test_conflict),
		TEST(test_same_directory_twice),
		TEST(test_names_that_are_no_directory),
		TEST(test_too_many_directories),
		TEST(test_untrusted_directory),
		TEST(test_unreadable),
		TEST(test_untrusted_file),
		TEST(test_links),
		TEST(test_links_to_what_is_no_file),
		TEST(test_what_is_not_a_file),
		TEST(test_broken_file),
		TEST(test_codes_and_order_of_what_is_set_aside),
		TEST(test_near_misses),
		TEST(test_several_missing),
		TEST(test_long_lists_are_cut),
		TEST(test_long_words_leave_room),
		TEST(test_long_reason_is_cut),
		TEST(test_bare_names),
		TEST(test_changed_while_read),
		TEST(test_sizes),
		TEST(test_too_many_files),
		TEST(test_notes_of_a_run_that_succeeded),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
