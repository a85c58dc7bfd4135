/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdi-spec.h"
#include "notes.h"

struct fixture {
	struct arena arena;
	struct notes notes;
	struct error err;
	struct cdi_spec *spec;
	const char *kind;
};

static int parse_mode(struct fixture *f, const char *text, bool lenient)
{
	memset(f, 0, sizeof(*f));
	arena_init(&f->arena, LIMIT_MEMORY);
	f->notes.arena = &f->arena;
	return cdi_spec_parse(&f->arena, "x.yaml", text, strlen(text), lenient, &f->notes, &f->spec,
			      &f->kind, &f->err);
}

static int parse(struct fixture *f, const char *text)
{
	int r = parse_mode(f, text, false);

	if (r < 0)
		print_error("%s\n", f->err.text);
	return r;
}

static void done(struct fixture *f)
{
	arena_done(&f->arena);
}

/*
 * Looking for everything comes to the same verdict and finds `sentence` too, an error or a warning;
 * NULL: nothing is found.
 */
static void assert_checked(const char *text, bool refused, const char *sentence)
{
	struct cdi_problem_list problems;
	struct cdi_spec *spec;
	struct error err = {0};
	struct arena arena;
	const char *kind;
	bool found = false;

	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(cdi_spec_check(&arena, "x.yaml", text, strlen(text), false, &problems,
					&spec, &kind, &err),
			 0);
	assert_int_equal(!spec, refused);
	assert_int_equal(problems.n_errors > 0, refused);
	assert_int_equal(problems.n > 0, sentence != NULL);
	for (size_t i = 0; i < problems.n && !found; i++)
		found = strcmp(cdi_problem_text(&arena, "x.yaml", &problems.items[i]), sentence) ==
			0;
	assert_int_equal(found, sentence != NULL);
	arena_done(&arena);
}

static void assert_refused(const char *text, const char *sentence)
{
	struct fixture f;

	assert_checked(text, true, sentence);
	assert_int_equal(parse_mode(&f, text, false), -EINVAL);
	assert_error(&f.err, EXIT_CODE_SPEC, sentence);
	assert_null(f.spec);
	done(&f);
}

/* Accepted, with one note, or none where that is NULL. */
static void assert_accepted(const char *text, const char *note)
{
	struct fixture f;

	assert_checked(text, false, note);
	assert_int_equal(parse(&f, text), 0);
	if (note && f.notes.list.n)
		assert_string_equal(f.notes.list.items[0].text, note);
	assert_int_equal(f.notes.list.n, note ? 1 : 0);
	if (note)
		assert_int_equal(f.notes.list.items[0].level, NOTE_WARNING);
	done(&f);
}

#define HEAD "cdiVersion: 1.1.0\nkind: vendor.com/gpu\n"
/* Behind edits of the spec: what makes the rest valid. */
#define TAIL "devices: [{name: d, containerEdits: {env: [A=1]}}]\n"
/* A spec whose line 4 begins with `edits`, in column 3. */
#define EDITS(edits) HEAD "containerEdits:\n  " edits "\n" TAIL
#define VERSIONED(version, edits)                                                                  \
	"cdiVersion: " version "\nkind: vendor.com/gpu\ncontainerEdits:\n  " edits "\n" TAIL
#define AT "x.yaml:4:"

/* Every key there is, as YAML. */
static const char everything[] =
	"cdiVersion: \"1.1.0\"\n"
	"kind: vendor.com/gpu\n"
	"annotations: {a: 1, b: yes, c: ~}\n"
	"containerEdits:\n"
	"  env: [ALL=1]\n"
	"  intelRdt: {closID: /, l3CacheSchema: L3, memBwSchema: MB, schemata: [s1, s2], "
	"enableMonitoring: true}\n"
	"  additionalGids: [5, 0, 4294967295]\n"
	"devices:\n"
	"- name: gpu0\n"
	"  annotations: {k: v}\n"
	"  containerEdits:\n"
	"    env: [A=1, B=]\n"
	"    deviceNodes:\n"
	"    - path: /dev/x\n"
	"    - {path: /dev/y, hostPath: /dev/z, type: c, major: 195, minor: 0x10, fileMode: 0660,\n"
	"       permissions: rwm, uid: 1, gid: 0}\n"
	"    netDevices: [{hostInterfaceName: eth1, name: eth0}]\n"
	"    mounts:\n"
	"    - {hostPath: /usr/lib/x.so, containerPath: /usr/lib/y.so, options: [ro, bind]}\n"
	"    - {hostPath: tmpfs, containerPath: /t, type: tmpfs}\n"
	"    hooks:\n"
	"    - {hookName: createContainer, path: /bin/h, args: [h, -v], env: [X=y], timeout: 5}\n"
	"    - {hookName: poststop, path: /bin/i}\n"
	"- name: \"0\"\n"
	"  containerEdits: {deviceNodes: [{path: /dev/w, permissions: none}]}\n";

static void test_everything(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(parse(&f, everything), 0);
	assert_int_equal(f.notes.list.n, 0);
	assert_string_equal(f.kind, "vendor.com/gpu");
	assert_string_equal(f.spec->file, "x.yaml");
	assert_string_equal(f.spec->version, "1.1.0");
	assert_string_equal(f.spec->kind, "vendor.com/gpu");
	assert_int_equal(f.spec->annotations.n, 3);
	assert_string_equal(f.spec->annotations.items[0].key, "a");
	assert_string_equal(f.spec->annotations.items[0].value, "1");
	assert_string_equal(f.spec->annotations.items[1].value, "yes");
	assert_string_equal(f.spec->annotations.items[2].value, "");

	const struct cdi_edits *edits = &f.spec->edits;
	assert_int_equal(edits->env.n, 1);
	assert_string_equal(edits->env.items[0], "ALL=1");
	assert_int_equal(edits->additional_gids.n, 3);
	assert_int_equal(edits->additional_gids.items[0], 5);
	assert_int_equal(edits->additional_gids.items[2], UINT32_MAX);
	assert_string_equal(edits->intel_rdt->clos_id, "/");
	assert_string_equal(edits->intel_rdt->l3_cache_schema, "L3");
	assert_string_equal(edits->intel_rdt->mem_bw_schema, "MB");
	assert_true(edits->intel_rdt->has_schemata);
	assert_int_equal(edits->intel_rdt->schemata.n, 2);
	assert_string_equal(edits->intel_rdt->schemata.items[1], "s2");
	assert_true(edits->intel_rdt->enable_monitoring);
	assert_int_equal(edits->intel_rdt->place.line, 6);
	assert_int_equal(edits->intel_rdt->place.column, 13);

	assert_int_equal(f.spec->devices.n, 2);
	assert_string_equal(f.spec->devices.items[1].name, "0");
	assert_string_equal(f.spec->devices.items[1].edits.device_nodes.items[0].permissions,
			    "none");
	assert_int_equal(f.spec->devices.items[1].place.line, 24);
	assert_int_equal(f.spec->devices.items[1].place.column, 3);
	done(&f);
}

static void test_every_edit_of_a_device(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(parse(&f, everything), 0);
	const struct cdi_device *device = &f.spec->devices.items[0];
	assert_string_equal(device->name, "gpu0");
	assert_int_equal(device->annotations.n, 1);
	assert_string_equal(device->annotations.items[0].key, "k");
	assert_int_equal(device->edits.env.n, 2);
	assert_string_equal(device->edits.env.items[1], "B=");
	assert_null(device->edits.intel_rdt);

	assert_int_equal(device->edits.device_nodes.n, 2);
	const struct cdi_device_node *node = device->edits.device_nodes.items;
	assert_string_equal(node[0].path, "/dev/x");
	assert_null(node[0].host_path);
	assert_null(node[0].type);
	assert_null(node[0].permissions);
	assert_false(node[0].has_file_mode || node[0].has_uid || node[0].has_gid);
	assert_int_equal(node[0].place.line, 14);
	assert_int_equal(node[0].place.column, 7);
	assert_string_equal(node[1].host_path, "/dev/z");
	assert_string_equal(node[1].type, "c");
	assert_int_equal(node[1].major, 195);
	assert_int_equal(node[1].minor, 16);
	assert_string_equal(node[1].permissions, "rwm");
	assert_true(node[1].has_file_mode && node[1].has_uid && node[1].has_gid);
	assert_int_equal(node[1].file_mode, 0660);
	assert_int_equal(node[1].uid, 1);
	assert_int_equal(node[1].gid, 0);

	assert_int_equal(device->edits.net_devices.n, 1);
	assert_string_equal(device->edits.net_devices.items[0].host_interface_name, "eth1");
	assert_string_equal(device->edits.net_devices.items[0].name, "eth0");
	assert_int_equal(device->edits.net_devices.items[0].place.line, 17);
	done(&f);
}

static void test_mounts_and_hooks_of_a_device(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(parse(&f, everything), 0);
	const struct cdi_device *device = &f.spec->devices.items[0];

	assert_int_equal(device->edits.mounts.n, 2);
	const struct cdi_mount *mount = device->edits.mounts.items;
	assert_string_equal(mount[0].host_path, "/usr/lib/x.so");
	assert_string_equal(mount[0].container_path, "/usr/lib/y.so");
	assert_null(mount[0].type);
	assert_int_equal(mount[0].options.n, 2);
	assert_string_equal(mount[0].options.items[1], "bind");
	assert_string_equal(mount[1].host_path, "tmpfs");
	assert_string_equal(mount[1].type, "tmpfs");
	assert_int_equal(mount[1].options.n, 0);
	assert_int_equal(mount[1].place.line, 20);

	assert_int_equal(device->edits.hooks.n, 2);
	const struct cdi_hook *hook = device->edits.hooks.items;
	assert_string_equal(hook[0].hook_name, "createContainer");
	assert_string_equal(hook[0].path, "/bin/h");
	assert_int_equal(hook[0].args.n, 2);
	assert_string_equal(hook[0].args.items[1], "-v");
	assert_string_equal(hook[0].env.items[0], "X=y");
	assert_true(hook[0].has_timeout);
	assert_int_equal(hook[0].timeout, 5);
	assert_int_equal(hook[0].place.line, 22);
	assert_false(hook[1].has_timeout);
	done(&f);
}

static void test_json(void **state)
{
	struct fixture f;
	const char *text =
		"{\n"
		"\t\"cdiVersion\": \"0.6.0\",\n"
		"\t\"kind\": \"vendor.com\\/gpu\",\n"
		"\t\"devices\": [{\"name\": \"0\", \"containerEdits\": {\n"
		"\t\t\"deviceNodes\": [{\"path\": \"\\/dev\\/x\", \"fileMode\": 438}]}}]\n"
		"}\n";

	(void)state;
	assert_int_equal(parse(&f, text), 0);
	assert_string_equal(f.spec->kind, "vendor.com/gpu");
	const struct cdi_device_node *node = f.spec->devices.items[0].edits.device_nodes.items;
	assert_string_equal(node->path, "/dev/x");
	assert_int_equal(node->file_mode, 0666);
	assert_int_equal(node->place.line, 5);
	assert_int_equal(node->place.column, 19);
	done(&f);
	assert_refused(
		"{\"cdiVersion\": \"0.6.0\",\n \"kind\": [\"vendor.com/gpu\"], \"devices\": []}",
		"x.yaml:2:10: kind: expected text, not a list: write kind: vendor.com/class");
}

/* The note on a file called x.json, or NULL. */
static void assert_json_note(const char *text, const char *note)
{
	struct fixture f = {0};

	arena_init(&f.arena, LIMIT_MEMORY);
	f.notes.arena = &f.arena;
	assert_int_equal(cdi_spec_parse(&f.arena, "x.json", text, strlen(text), false, &f.notes,
					&f.spec, &f.kind, &f.err),
			 0);
	assert_int_equal(f.notes.list.n, note ? 1 : 0);
	if (note)
		assert_string_equal(f.notes.list.items[0].text, note);
	done(&f);
}

static void test_json_that_is_yaml(void **state)
{
#define JSON "{\"cdiVersion\": \"0.6.0\", \"kind\": \"v/c\", \"devices\": [{\"name\": \"d\", "
#define NOTE ": this is no JSON, and other readers may refuse it: it is read as YAML"
	(void)state;
	assert_json_note(JSON "\"containerEdits\": {\"env\": [\"A=1\"]}}]}\n", NULL);
	assert_json_note("\xef\xbb\xbf" JSON "\"containerEdits\": {\"env\": [\"A=1\"]}}]}\n", NULL);
	assert_json_note(JSON "\"containerEdits\": {\"env\": [\"A=1\",]}}]}\n",
			 "x.json:1:99: expected a value, found ']'" NOTE);
	assert_json_note(HEAD TAIL, "x.json:1:1: expected a value, found 'c'" NOTE);
	assert_accepted(HEAD TAIL, NULL);
}

static void test_retired_forms(void **state)
{
	(void)state;
	assert_refused(EDITS("mounts: [{source: /x, target: /y}]"),
		       AT "13: containerEdits.mounts[0]: unknown key \"source\": write hostPath");
	assert_refused(EDITS("mounts: [{hostPath: /x, TARGET: /y}]"),
		       AT "27: containerEdits.mounts[0]: unknown key \"TARGET\": write "
			  "containerPath");
	assert_refused(EDITS("mounts: [{hostPath: /x, containerPath: /y, readonly: true}]"),
		       AT "46: containerEdits.mounts[0]: unknown key \"readonly\": write options: "
			  "[ro, bind]");
	assert_refused(EDITS("deviceNodes: [{path: /x, mode: 0660}]"), AT
		       "28: containerEdits.deviceNodes[0]: unknown key \"mode\": write fileMode");
	assert_refused(EDITS("hooks: [{stage: prestart, path: /h}]"),
		       AT "12: containerEdits.hooks[0]: unknown key \"stage\": write hookName");
	assert_refused(EDITS("volumes: []"),
		       AT "3: containerEdits: unknown key \"volumes\": write mounts");
	assert_refused(HEAD "devices: [{name: a, mounts: []}]\n",
		       "x.yaml:3:21: devices[0]: unknown key \"mounts\": it belongs in "
		       "containerEdits, one level down");
	assert_refused("version: 0.6.0\nkind: v/c\ndevices: []\n",
		       "x.yaml:1:1: unknown key \"version\": write cdiVersion");
	assert_refused(EDITS("deviceNodes: [{path: \xe2\x80\x9c/dev/x\xe2\x80\x9d}]"),
		       AT "24: containerEdits.deviceNodes[0].path: "
			  "\"\\xe2\\x80\\x9c/dev/x\\xe2\\x80\\x9d\" begins with a "
			  "typographic quote: write \" or no quote at all");
}

static void test_annotation_keys(void **state)
{
	(void)state;
	assert_accepted(HEAD "annotations: {in$$valid: 1}\n" TAIL,
			"x.yaml:3:15: annotations[\"in$$valid\"]: is no annotation key of "
			"Kubernetes: it may only contain letters, digits, _, - and .");
	assert_accepted(HEAD "annotations: {vendor.com/Key_1: yes}\n" TAIL, NULL);
}

static void test_aliases_and_merge_keys(void **state)
{
	struct fixture f;
	const char *text =
		HEAD "containerEdits: &e\n"
		     "  mounts: [&m {hostPath: /a, containerPath: /a, options: &o [ro]}]\n"
		     "devices:\n"
		     "- name: a\n"
		     "  containerEdits: *e\n"
		     "- name: b\n"
		     "  containerEdits:\n"
		     "    mounts: [{<<: *m, containerPath: /b}, *m]\n";

	(void)state;
	assert_int_equal(parse(&f, text), 0);
	assert_string_equal(f.spec->devices.items[0].edits.mounts.items[0].container_path, "/a");
	const struct cdi_mount *mount = f.spec->devices.items[1].edits.mounts.items;
	assert_string_equal(mount[0].host_path, "/a");
	assert_string_equal(mount[0].container_path, "/b");
	assert_string_equal(mount[0].options.items[0], "ro");
	assert_string_equal(mount[1].container_path, "/a");
	done(&f);
}

static void test_shapes(void **state)
{
	(void)state;
	assert_refused("", "x.yaml:1:1: the file is empty");
	assert_refused("[]", "x.yaml:1:1: expected a map, not a list");
	assert_refused("text", "x.yaml:1:1: expected a map, not text");
	assert_refused("{}", "x.yaml:1:1: cdiVersion: is missing: write cdiVersion: \"0.6.0\"");
	assert_refused(HEAD "devices: {a: 1}\n",
		       "x.yaml:3:10: devices: expected a list, not a map: write devices: [{name: "
		       "NAME, containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(HEAD "devices: [x]\n",
		       "x.yaml:3:11: devices[0]: expected a map, not text: write devices: [{name: "
		       "NAME, containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(EDITS("env: A=1"), AT
		       "8: containerEdits.env: expected a list, not text: write env: [NAME=value]");
	assert_refused(
		EDITS("env: [[A=1]]"),
		AT "9: containerEdits.env[0]: expected text, not a list: write env: [NAME=value]");
	assert_refused(
		EDITS("env: [{name: A, value: b}]"),
		AT "9: containerEdits.env[0]: expected text, not a map: write env: [NAME=value]");
	assert_refused(EDITS("hooks: {prestart: []}"),
		       AT "10: containerEdits.hooks: expected a list, not a map: write hooks: "
			  "[{hookName: createContainer, path: /usr/bin/x, args: [x, -v]}]");
	assert_refused(EDITS("hooks: [run this]"),
		       AT "11: containerEdits.hooks[0]: expected a map, not text: write hooks: "
			  "[{hookName: createContainer, path: /usr/bin/x, args: [x, -v]}]");
	assert_refused(EDITS("intelRdt: []"), AT "13: containerEdits.intelRdt: expected a map, not "
						 "a list: write intelRdt: {closID: NAME}");
	assert_refused(EDITS("deviceNodes: [[{path: /dev/x}]]"),
		       AT "17: containerEdits.deviceNodes[0]: expected a map, not a list: write "
			  "deviceNodes: [{path: /dev/x}]");
	assert_refused(EDITS("- env: [A=1]"),
		       AT "3: containerEdits: expected a map, not a list: write containerEdits: "
			  "{env: [NAME=value], deviceNodes: [{path: /dev/x}]}");
	assert_refused(HEAD "annotations: [a]\n" TAIL,
		       "x.yaml:3:14: annotations: expected a map, not a list: write annotations: "
		       "{key: value}");
	assert_refused(HEAD "annotations: {a b: [c]}\n" TAIL,
		       "x.yaml:3:20: annotations[\"a b\"]: expected text, not a list: write "
		       "annotations: {key: value}");
	/* Null is absent. */
	assert_accepted(HEAD "annotations: ~\ncontainerEdits: null\n" TAIL, NULL);
	assert_accepted(
		EDITS("{env: ~, deviceNodes: , mounts: null, hooks: ~, netDevices: ~, intelRdt: ~, "
		      "additionalGids: ~}"),
		NULL);
}

static void test_unknown_keys(void **state)
{
	struct fixture f;
	const char *text =
		EDITS("{mounts: [{hostpaht: /x, hostPath: /a, containerPath: /b}], foo: 1}");

	(void)state;
	assert_refused(
		HEAD "x-foo: 1\n" TAIL,
		"x.yaml:3:1: unknown key \"x-foo\", known here are cdiVersion, kind, annotations, "
		"containerEdits, devices");
	assert_refused(EDITS("mounts: [{hostpaht: /x}]"),
		       AT "13: containerEdits.mounts[0]: unknown key \"hostpaht\", did you mean "
			  "\"hostPath\"?");
	assert_refused(EDITS("mounts: [{host: /x, container: /y}]"),
		       AT "13: containerEdits.mounts[0]: unknown key \"host\": write hostPath");
	assert_refused(EDITS("\"\": 1"),
		       AT "3: containerEdits: unknown key \"\", known here are env, deviceNodes, "
			  "netDevices, hooks, mounts, intelRdt, additionalGids");
	assert_refused(EDITS("\"a\\e\": 1"),
		       AT "3: containerEdits: unknown key \"a\\x1b\", known here are env, "
			  "deviceNodes, netDevices, hooks, mounts, intelRdt, additionalGids");

	assert_int_equal(parse_mode(&f, text, true), 0);
	assert_int_equal(f.notes.list.n, 2);
	assert_string_equal(f.notes.list.items[1].text,
			    AT "14: containerEdits.mounts[0]: unknown key \"hostpaht\" is ignored");
	assert_string_equal(f.notes.list.items[0].text,
			    AT "63: containerEdits: unknown key \"foo\" is ignored");
	done(&f);
}

static void test_letter_case(void **state)
{
	(void)state;
	assert_accepted(
		EDITS("hooks: [{hookname: prestart, path: /h}]"),
		AT "12: containerEdits.hooks[0]: key \"hookname\" should be spelt \"hookName\"");
	assert_accepted("cdiVersion: 1.1.0\nKIND: vendor.com/gpu\n" TAIL,
			"x.yaml:2:1: key \"KIND\" should be spelt \"kind\"");
	assert_accepted("CDIVersion: 1.1.0\nkind: vendor.com/gpu\n" TAIL,
			"x.yaml:1:1: key \"CDIVersion\" should be spelt \"cdiVersion\"");
	assert_refused(HEAD "KIND: vendor.com/gpu\n" TAIL,
		       "x.yaml:3:1: key \"KIND\" is the same as \"kind\" on line 2");
	assert_refused(EDITS("{additionalGIDs: [1], additionalgids: [2]}"),
		       AT "25: containerEdits: key \"additionalgids\" is the same as "
			  "\"additionalGIDs\" on line 4");
	/* Annotations are the user's own. */
	assert_accepted(HEAD "annotations: {a: 1, A: 2}\n" TAIL, NULL);
}

static void test_versions(void **state)
{
	static const char *const good[] = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",  "0.7.0",
					   "0.8.0", "1.0.0", "1.1.0", "v1.0.0", "\"0.5.0\""};
	static const char *const bad[] = {"0.5.1", "V1.1.0", "vv1.1.0", "1.1.0-rc1", "0.6",
					  "1.0",   "1",      "x",       "1.1.0.0"};
	char text[512], sentence[512];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "cdiVersion: %s\nkind: vendor.com/gpu\n" TAIL,
			 good[i]);
		assert_accepted(text, NULL);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "cdiVersion: %s\nkind: vendor.com/gpu\n" TAIL, bad[i]);
		snprintf(sentence, sizeof(sentence),
			 "x.yaml:1:13: cdiVersion: \"%s\" is no version of CDI: 0.3.0, 0.4.0, "
			 "0.5.0, 0.6.0, 0.7.0, "
			 "0.8.0, 1.0.0 and 1.1.0 are",
			 bad[i]);
		assert_refused(text, sentence);
	}
	assert_refused(VERSIONED("0.1.0", ""),
		       "x.yaml:1:13: cdiVersion: 0.1.0 is too old: 0.3.0 is the oldest that works");
	assert_refused(VERSIONED("v0.2.0", ""),
		       "x.yaml:1:13: cdiVersion: 0.2.0 is too old: 0.3.0 is the oldest that works");
	/* It explains the key that is not known, so it comes first. */
	assert_refused("foo: 1\ncdiVersion: 1.2.0\nkind: vendor.com/gpu\n" TAIL,
		       "x.yaml:2:13: cdiVersion: 1.2.0 is newer than 1.1.0, the newest that is "
		       "known here");
	assert_refused("kind: vendor.com/gpu\n" TAIL,
		       "x.yaml:1:1: cdiVersion: is missing: write cdiVersion: \"0.6.0\"");
	assert_refused("cdiVersion:\nkind: vendor.com/gpu\n" TAIL,
		       "x.yaml:1:12: cdiVersion: is missing: write cdiVersion: \"0.6.0\"");
	assert_refused(
		"cdiVersion: [1.0.0]\n",
		"x.yaml:1:13: cdiVersion: expected text, not a list: write cdiVersion: \"0.6.0\"");
}

static void test_what_a_version_has(void **state)
{
	(void)state;
	assert_accepted(VERSIONED("0.3.0", "deviceNodes: [{path: /dev/x, permissions: none}]"),
			NULL);
	assert_accepted(
		VERSIONED("0.4.0", "mounts: [{hostPath: a, containerPath: /b, type: tmpfs}]"),
		NULL);
	assert_accepted(VERSIONED("0.3.0", "mounts: [{hostPath: a, containerPath: /b, type: ''}]"),
			NULL);
	assert_refused(
		VERSIONED("0.3.0", "mounts: [{hostPath: a, containerPath: /b, type: tmpfs}]"),
		AT "51: containerEdits.mounts[0].type: needs cdiVersion 0.4.0, and this file says "
		   "0.3.0");
	assert_refused(VERSIONED("0.4.0", "deviceNodes: [{path: /dev/x, hostPath: /dev/x}]"),
		       AT "42: containerEdits.deviceNodes[0].hostPath: needs cdiVersion 0.5.0, and "
			  "this file says "
			  "0.4.0");
	assert_refused(
		VERSIONED("0.6.0", "intelRdt: {}"),
		AT "13: containerEdits.intelRdt: needs cdiVersion 0.7.0, and this file says 0.6.0");
	assert_refused(VERSIONED("0.6.0", "additionalGids: [0]"),
		       AT "19: containerEdits.additionalGids: needs cdiVersion 0.7.0, and this "
			  "file says 0.6.0");
	assert_accepted(VERSIONED("0.6.0", "additionalGids: []"), NULL);
	assert_refused(
		VERSIONED("1.0.0", "netDevices: [{hostInterfaceName: a, name: b}]"), AT
		"15: containerEdits.netDevices: needs cdiVersion 1.1.0, and this file says 1.0.0");
	assert_accepted(VERSIONED("1.0.0", "netDevices: []"), NULL);
	assert_refused(VERSIONED("1.0.0", "intelRdt: {schemata: []}"),
		       AT "24: containerEdits.intelRdt.schemata: needs cdiVersion 1.1.0, and this "
			  "file says 1.0.0");
	assert_accepted(VERSIONED("1.0.0", "intelRdt: {schemata: ~, enableMonitoring: false}"),
			NULL);
	assert_refused(VERSIONED("1.0.0", "intelRdt: {enableMonitoring: true}"),
		       AT "32: containerEdits.intelRdt.enableMonitoring: needs cdiVersion 1.1.0, "
			  "and this file says "
			  "1.0.0");
	assert_refused(
		"cdiVersion: 0.5.0\nkind: vendor.com/gpu\nannotations: {a: b}\n" TAIL,
		"x.yaml:3:14: annotations: needs cdiVersion 0.6.0, and this file says 0.5.0");
	assert_accepted("cdiVersion: 0.5.0\nkind: vendor.com/gpu\nannotations: {}\n" TAIL, NULL);
}

static void test_what_a_version_has_in_names(void **state)
{
	(void)state;
	assert_refused("cdiVersion: 0.5.0\nkind: vendor.com/gpu.big\n" TAIL,
		       "x.yaml:2:7: kind with a dot in its class: needs cdiVersion 0.6.0, and this "
		       "file says 0.5.0");
	assert_accepted("cdiVersion: 0.6.0\nkind: vendor.com/gpu.big\n" TAIL, NULL);
	assert_refused("cdiVersion: 0.4.0\nkind: v/c\ndevices: [{name: '0', containerEdits: {env: "
		       "[A=1]}}]\n",
		       "x.yaml:3:18: devices[0].name with a digit first: needs cdiVersion 0.5.0, "
		       "and this file says "
		       "0.4.0");
	assert_accepted("cdiVersion: 0.5.0\nkind: v/c\ndevices: [{name: '0', containerEdits: {env: "
			"[A=1]}}]\n",
			NULL);
	assert_accepted("cdiVersion: 0.3.0\nkind: v.com/c\ndevices: [{name: 'a:0', containerEdits: "
			"{env: [A=1]}}]\n",
			NULL);
}

/*
 * All releases of the reference look for hostPath and mount types in the last device and in the
 * spec's edits only.
 */
static void test_what_the_reference_overlooks(void **state)
{
	struct fixture f;
	const char *text =
		"cdiVersion: 0.3.0\nkind: v/c\ndevices:\n"
		"- {name: a, containerEdits: {deviceNodes: [{path: /dev/x, hostPath: /dev/y}]}}\n"
		"- {name: b, containerEdits: {deviceNodes: [{path: /dev/x, hostPath: /dev/y}]}}\n"
		"-\n";

	(void)state;
	/* The last is the last that counts. */
	assert_int_equal(parse_mode(&f, text, false), -EINVAL);
	assert_error(&f.err, EXIT_CODE_SPEC,
		     "x.yaml:5:69: devices[1].containerEdits.deviceNodes[0].hostPath: needs "
		     "cdiVersion 0.5.0, and "
		     "this file says 0.3.0");
	assert_int_equal(f.notes.list.n, 2);
	assert_string_equal(f.notes.list.items[0].text,
			    "x.yaml:6:2: devices[2]: is null and ignored");
	assert_string_equal(f.notes.list.items[1].text,
			    "x.yaml:4:69: devices[0].containerEdits.deviceNodes[0].hostPath: needs "
			    "cdiVersion 0.5.0, "
			    "and this file says 0.3.0");
	done(&f);
	assert_accepted("cdiVersion: 0.3.0\nkind: v/c\ndevices:\n"
			"- {name: a, containerEdits: {mounts: [{hostPath: a, containerPath: /b, "
			"type: tmpfs}]}}\n"
			"- {name: b, containerEdits: {env: [A=1]}}\n",
			"x.yaml:4:78: devices[0].containerEdits.mounts[0].type: needs cdiVersion "
			"0.4.0, and this file "
			"says 0.3.0");
	assert_refused("cdiVersion: 0.3.0\nkind: v/c\ndevices:\n"
		       "- {name: b, containerEdits: {env: [A=1]}}\n"
		       "- {name: a, containerEdits: {mounts: [{hostPath: a, containerPath: /b, "
		       "type: tmpfs}]}}\n",
		       "x.yaml:5:78: devices[1].containerEdits.mounts[0].type: needs cdiVersion "
		       "0.4.0, and this file "
		       "says 0.3.0");
}

static void test_kind(void **state)
{
	static const char *const bare[] = {"vendor", "/gpu", "vendor/", "/"};
	char text[512], sentence[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++) {
		snprintf(text, sizeof(text), "cdiVersion: 1.1.0\nkind: %s\n" TAIL, bare[i]);
		snprintf(sentence, sizeof(sentence), "x.yaml:2:7: kind: \"%s\" is not vendor/class",
			 bare[i]);
		assert_refused(text, sentence);
	}
	assert_refused("cdiVersion: 1.1.0\n" TAIL,
		       "x.yaml:1:1: kind: is missing: write kind: vendor.com/class");
	assert_refused("cdiVersion: 1.1.0\nkind: ''\n" TAIL,
		       "x.yaml:2:7: kind: is empty: write kind: vendor.com/class");
	assert_refused("cdiVersion: 1.1.0\nkind: 1v/c\n" TAIL,
		       "x.yaml:2:7: kind: vendor of \"1v/c\" must start with a letter");
	assert_refused("cdiVersion: 1.1.0\nkind: v/c-\n" TAIL,
		       "x.yaml:2:7: kind: class of \"v/c-\" must end with a letter or digit");
	assert_refused("cdiVersion: 1.1.0\nkind: v/b/c\n" TAIL,
		       "x.yaml:2:7: kind: class of \"v/b/c\" may only contain letters, digits, _, "
		       "- and .");
	assert_accepted("cdiVersion: 1.1.0\nkind: a/b\n" TAIL, NULL);
}

static void test_kind_of_a_broken_file(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(parse_mode(&f, "kind: v.com/c\ndevices: [\n", false), -EINVAL);
	assert_string_equal(f.kind, "v.com/c");
	assert_null(f.spec);
	done(&f);
	assert_int_equal(parse_mode(&f, "Kind: v.com/c\nfoo: 1\n", false), -EINVAL);
	assert_string_equal(f.kind, "v.com/c");
	done(&f);
	assert_int_equal(parse_mode(&f, "devices: [\nkind: v.com/c\n", false), -EINVAL);
	assert_null(f.kind);
	done(&f);
	assert_int_equal(parse_mode(&f, "kind: [v.com/c]\n", false), -EINVAL);
	assert_null(f.kind);
	done(&f);
	assert_int_equal(parse_mode(&f, "[kind: v.com/c]\n", false), -EINVAL);
	assert_null(f.kind);
	done(&f);
}

static void test_devices(void **state)
{
	(void)state;
	assert_refused(HEAD, "x.yaml:1:1: devices: is missing: write devices: [{name: NAME, "
			     "containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(HEAD "devices: ~\n",
		       "x.yaml:3:10: devices: is missing: write devices: [{name: NAME, "
		       "containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(HEAD "devices: []\n",
		       "x.yaml:3:10: devices: is empty: write devices: [{name: NAME, "
		       "containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(HEAD "devices: [~]\n",
		       "x.yaml:3:10: devices: is empty: write devices: [{name: NAME, "
		       "containerEdits: {deviceNodes: [{path: /dev/x}]}}]");
	assert_refused(HEAD "devices: [{containerEdits: {env: [A=1]}}]\n",
		       "x.yaml:3:11: devices[0].name: is missing: write name: NAME");
	assert_refused(HEAD "devices: [{name: '', containerEdits: {env: [A=1]}}]\n",
		       "x.yaml:3:18: devices[0].name: is empty: write name: NAME");
	assert_refused(HEAD "devices: [{name: a b, containerEdits: {env: [A=1]}}]\n",
		       "x.yaml:3:18: devices[0].name: \"a b\" may only contain letters, digits, _, "
		       "-, . and :");
	assert_refused(HEAD "devices: [{name: a}]\n",
		       "x.yaml:3:11: devices[0].containerEdits: is missing: every device needs at "
		       "least one edit of its own, such as containerEdits: {env: [NAME=value]}");
	assert_refused(HEAD "devices: [{name: a, containerEdits: {env: [], intelRdt: ~}}]\n",
		       "x.yaml:3:37: devices[0].containerEdits: is empty: every device needs at "
		       "least one edit of its own, such as containerEdits: {env: [NAME=value]}");
	assert_accepted(HEAD "devices: [{name: a, containerEdits: {intelRdt: {}}}]\n", NULL);
	assert_accepted(HEAD "devices: [{name: a, containerEdits: {additionalGids: [0]}}]\n", NULL);
	assert_refused(HEAD "devices:\n- {name: b, containerEdits: {env: [A=1]}}\n- ~\n"
			    "- {name: a, containerEdits: {env: [A=1]}}\n- {name: b, "
			    "containerEdits: {env: [A=1]}}\n"
			    "- {name: a, containerEdits: {env: [A=1]}}\n",
		       "x.yaml:7:10: devices[3].name: \"b\" a second time: the first is on line 4");
	/* Names are cased. */
	assert_accepted(HEAD "devices: [{name: a, containerEdits: {env: [A=1]}}, {name: A, "
			     "containerEdits: {env: "
			     "[A=1]}}]\n",
			NULL);
	/* Readers up to 1.1.0 of the reference call this device "true". */
	assert_accepted(
		HEAD "devices: [{name: yes, containerEdits: {env: [A=1]}}]\n",
		"x.yaml:3:18: devices[0].name: yes without quotes is another name to some readers");
	assert_accepted(HEAD "devices: [{name: 'yes', containerEdits: {env: [A=1]}}]\n", NULL);
}

static void test_nodes(void **state)
{
	(void)state;
	assert_refused(EDITS("deviceNodes: [{type: c}]"),
		       AT "17: containerEdits.deviceNodes[0].path: is missing: write path: /dev/x");
	assert_refused(EDITS("deviceNodes: [{path: ''}]"),
		       AT "24: containerEdits.deviceNodes[0].path: is empty: write path: /dev/x");
	assert_refused(EDITS("deviceNodes: [{path: dev/x}]"), AT
		       "24: containerEdits.deviceNodes[0].path: \"dev/x\" is not an absolute path");
	assert_refused(EDITS("deviceNodes: [{path: /x, hostPath: x}]"), AT
		       "38: containerEdits.deviceNodes[0].hostPath: \"x\" is not an absolute path");
	assert_refused(EDITS("deviceNodes: [{path: /x, type: d}]"),
		       AT "34: containerEdits.deviceNodes[0].type: \"d\" is no type of device "
			  "node: b, c, u and p are");
	assert_refused(EDITS("deviceNodes: [{path: /x, type: cc}]"),
		       AT "34: containerEdits.deviceNodes[0].type: \"cc\" is no type of device "
			  "node: b, c, u and p "
			  "are");
	assert_refused(EDITS("deviceNodes: [{path: /x, permissions: rwx}]"),
		       AT "41: containerEdits.deviceNodes[0].permissions: \"rwx\" is neither made "
			  "of the letters r, w "
			  "and m nor none");
	assert_accepted(EDITS("deviceNodes: [{path: /x, type: '', hostPath: '', permissions: ''}]"),
			NULL);
	assert_accepted(
		EDITS("deviceNodes: [{path: /x, type: b, permissions: mmr}, {path: /y, type: c}, "
		      "{path: /z, type: u}, {path: /p, type: p}]"),
		NULL);
	assert_refused(EDITS("deviceNodes: [~]"),
		       AT "17: containerEdits.deviceNodes[0]: is null: remove it");
	assert_refused(EDITS("deviceNodes: [{path: /x}, null]"),
		       AT "29: containerEdits.deviceNodes[1]: is null: remove it");
}

static void test_numbers(void **state)
{
	struct fixture f;
	const char *text = EDITS("deviceNodes: [{path: /x, major: 1e2, minor: 9223372036854775807, "
				 "fileMode: 0o1777, "
				 "uid: 438.0, gid: 0x10}]");

	(void)state;
	assert_int_equal(parse(&f, text), 0);
	const struct cdi_device_node *node = f.spec->edits.device_nodes.items;
	assert_int_equal(node->major, 100);
	assert_int_equal(node->minor, INT64_MAX);
	assert_int_equal(node->file_mode, 01777);
	assert_int_equal(node->uid, 438);
	assert_int_equal(node->gid, 16);
	done(&f);
#define NODE(member) EDITS("deviceNodes: [{path: /x, " member "}]")
#define NODE_AT(column, key) AT column ": containerEdits.deviceNodes[0]." key ": "
	assert_refused(NODE("major: -1"), NODE_AT("35", "major") "-1 is negative");
	assert_refused(NODE("minor: -1"), NODE_AT("35", "minor") "-1 is negative");
	assert_refused(NODE("major: 9223372036854775808"),
		       NODE_AT("35", "major") "9223372036854775808 is out of range");
	assert_refused(NODE("uid: 0.5"), NODE_AT("33", "uid") "0.5 is not a whole number");
	assert_refused(NODE("uid: -1"), NODE_AT("33", "uid") "-1 is negative");
	assert_refused(NODE("uid: 4294967296"), NODE_AT("33", "uid") "4294967296 is out of range");
	assert_refused(NODE("gid: video"), NODE_AT("33", "gid") "expected a number, not \"video\"");
	assert_refused(NODE("gid: [44]"), NODE_AT("33", "gid") "expected a number, not a list");
	assert_refused(
		NODE("fileMode: \"0666\""),
		NODE_AT("38",
			"fileMode") "expected a number, not text: remove the quotes around 0666");
	assert_refused(NODE("fileMode: 010000"),
		       NODE_AT("38", "fileMode") "010000 is more than 07777");
	assert_accepted(NODE("fileMode: 07777"), NULL);
	assert_accepted(NODE("fileMode: 0688"),
			NODE_AT("38", "fileMode") "0688 is not octal and counts as decimal");
	assert_int_equal(parse(&f, NODE("fileMode: ~, uid: null, major: ")), 0);
	assert_false(f.spec->edits.device_nodes.items->has_file_mode);
	assert_false(f.spec->edits.device_nodes.items->has_uid);
	done(&f);
}

/* Whatever else might be read as a number by somebody: no text is one, and none that is outside its range. */
static void test_no_numbers(void **state)
{
	static const char *const keys[] = {"major", "minor", "uid", "gid", "fileMode"};
	static const char *const values[] = {
		"\"-1\"",
		"\"0x0\"",
		"\" 1\"",
		"\"1 \"",
		"\"1e3\"",
		"\"4294967296\"",
		"\"\"",
		"-1",
		"1e-3",
		"18446744073709551616",
		"-9223372036854775809",
		".inf",
		".nan",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			struct fixture f;
			char text[256];
			snprintf(text, sizeof(text), NODE("%s: %s"), keys[i], values[j]);
			if (parse_mode(&f, text, false) != -EINVAL)
				fail_msg("%s: %s was read", keys[i], values[j]);
			assert_true(strstr(f.err.text, keys[i]) != NULL);
			done(&f);
		}
}

/* Where a length of 16 bits would wrap. */
static void test_sizes_around_64_kib(void **state)
{
	static const char *const texts[] = {
		EDITS("env: [\"A=@\"]"),
		EDITS("env: [\"@=1\"]"),
		EDITS("hooks: [{hookName: prestart, path: /@}]"),
		EDITS("hooks: [{hookName: prestart, path: /h, args: [\"@\"]}]"),
		EDITS("hooks: [{hookName: prestart, path: /h, env: [\"A=@\"]}]"),
		EDITS("mounts: [{hostPath: /@, containerPath: /x}]"),
		EDITS("mounts: [{hostPath: /x, containerPath: /@}]"),
		EDITS("mounts: [{hostPath: /x, containerPath: /y, options: [\"@\"]}]"),
		EDITS("deviceNodes: [{path: /@}]"),
		EDITS("deviceNodes: [{path: /x, hostPath: /@}]"),
		EDITS("deviceNodes: [{path: /x, permissions: \"@\"}]"),
		HEAD "annotations: {a: \"@\"}\n",
		HEAD "annotations: {\"@\": a}\n",
		HEAD "\"@\": a\n",
	};
	static char value[65538], text[sizeof(value) + 1024];

	(void)state;
	for (size_t size = 65535; size <= 65537; size++) {
		memset(value, 'x', size);
		value[size] = '\0';
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			struct fixture f;
			put_in(text, texts[i], value);
			int r = parse_mode(&f, text, false);
			assert_true(r == 0 || r == -EINVAL);
			assert_true((r == 0) == (f.spec != NULL));
			assert_true(r == 0 || f.err.exit_code == EXIT_CODE_SPEC);
			done(&f);
		}
	}
}

static void test_env(void **state)
{
	(void)state;
	assert_refused(EDITS("env: [BAR]"),
		       AT "9: containerEdits.env[0]: \"BAR\" is not NAME=value");
	assert_refused(EDITS("env: [A=1, =B]"),
		       AT "14: containerEdits.env[1]: \"=B\" is not NAME=value");
	assert_refused(EDITS("env: ['']"), AT "9: containerEdits.env[0]: \"\" is not NAME=value");
	assert_accepted(EDITS("env: [\"A=\\n\"]"),
			AT "9: containerEdits.env[0]: \"A=\\x0a\" has a line break in it");
	assert_refused(EDITS("env: [\"A=\\0\"]"),
		       AT "9: containerEdits.env[0]: text with a NUL byte in it");
	assert_accepted(EDITS("env: ['1 a=', 'A==', 'A=b c']"), NULL);
	assert_accepted(EDITS("env: [A=1, ~]"),
			AT "14: containerEdits.env[1]: is null and ignored");
	assert_refused(HEAD "devices: [{name: a, containerEdits: {env: [A]}}]\n",
		       "x.yaml:3:44: devices[0].containerEdits.env[0]: \"A\" is not NAME=value");
}

static void test_tags(void **state)
{
	(void)state;
	assert_accepted(EDITS("env: [!!str A=1, !x B=1, !!binary Qz0x]"), NULL);
	assert_accepted(EDITS("additionalGids: [!!int \"5\", !!float 5]"), NULL);
	assert_accepted(EDITS("intelRdt: {!!str enableMonitoring: !!bool yes}"), NULL);
	assert_refused(EDITS("env: [!!int A=1]"),
		       AT "9: containerEdits.env[0]: \"A=1\" does not fit its tag !!int: remove "
			  "the tag");
	assert_refused(EDITS("!!int env: [A=1]"),
		       AT "3: containerEdits: \"env\" does not fit its tag !!int: remove the tag");
	assert_refused(EDITS("additionalGids: [!!bool 5]"), AT
		       "20: containerEdits.additionalGids[0]: \"5\" does not fit its tag !!bool: "
		       "remove the tag");
	assert_refused(EDITS("intelRdt: {enableMonitoring: !!int yes}"),
		       AT "32: containerEdits.intelRdt.enableMonitoring: \"yes\" does not fit its "
			  "tag !!int: remove the tag");
	assert_refused(HEAD "annotations: {!!null a: b}\n" TAIL,
		       "x.yaml:3:15: annotations[\"a\"]: \"a\" does not fit its tag !!null: remove "
		       "the tag");
}

static void test_hooks(void **state)
{
	static const char *const names[] = {"prestart",       "createRuntime", "createContainer",
					    "startContainer", "poststart",     "poststop"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), EDITS("hooks: [{hookName: %s, path: /h}]"), names[i]);
		assert_accepted(text, NULL);
	}
	assert_refused(EDITS("hooks: [{hookName: preStart, path: /h}]"),
		       AT "22: containerEdits.hooks[0].hookName: \"preStart\" is no hook: "
			  "prestart, createRuntime, "
			  "createContainer, startContainer, poststart and poststop are");
	assert_refused(EDITS("hooks: [{path: /h}]"), AT "11: containerEdits.hooks[0].hookName: is "
							"missing: write hookName: createContainer");
	assert_refused(EDITS("hooks: [{hookName: poststop}]"),
		       AT "11: containerEdits.hooks[0].path: is missing: write path: /usr/bin/x");
	assert_refused(
		EDITS("hooks: [{hookName: poststop, path: \xe2\x80\x9ch}]"), AT
		"38: containerEdits.hooks[0].path: \"\\xe2\\x80\\x9ch\" begins with a typographic "
		"quote: write \" or no quote at all");
	assert_refused(EDITS("hooks: [{hookName: poststop, path: /h, env: [X]}]"),
		       AT "48: containerEdits.hooks[0].env[0]: \"X\" is not NAME=value");
	assert_refused(EDITS("hooks: [{hookName: poststop, path: /h, timeout: \"5\"}]"),
		       AT "51: containerEdits.hooks[0].timeout: expected a number, not text: "
			  "remove the quotes around "
			  "5");
	assert_accepted(EDITS("hooks: [{hookName: poststop, path: /h, timeout: -1}]"),
			AT "51: containerEdits.hooks[0].timeout: -1 should be more than 0");
	assert_accepted(EDITS("hooks: [{hookName: poststop, path: /h, args: [~, 1, yes]}]"),
			AT "49: containerEdits.hooks[0].args[0]: is null and ignored");
	assert_refused(EDITS("hooks: [~]"), AT "11: containerEdits.hooks[0]: is null: remove it");
}

static void test_mounts(void **state)
{
	char text[2 * 4096];

	(void)state;
	assert_refused(
		EDITS("mounts: [{containerPath: /b}]"), AT
		"12: containerEdits.mounts[0].hostPath: is missing: write hostPath: /usr/lib/x.so");
	assert_refused(EDITS("mounts: [{hostPath: /a}]"),
		       AT "12: containerEdits.mounts[0].containerPath: is missing: write "
			  "containerPath: /usr/lib/x.so");
	assert_refused(
		EDITS("mounts: [{hostPath: '', containerPath: /b}]"), AT
		"23: containerEdits.mounts[0].hostPath: is empty: write hostPath: /usr/lib/x.so");
	assert_refused(EDITS("mounts: [{hostPath: /a, containerPath: b}]"), AT
		       "42: containerEdits.mounts[0].containerPath: \"b\" is not an absolute path");
	assert_refused(EDITS("mounts: [{hostPath: /a, containerPath: /b, options: ro}]"),
		       AT "55: containerEdits.mounts[0].options: expected a list, not text: write "
			  "options: [ro, bind]");
	assert_accepted(EDITS("mounts: [{hostPath: a, containerPath: /b, options: [ro, ~]}]"),
			AT "59: containerEdits.mounts[0].options[1]: is null and ignored");
	assert_refused(EDITS("mounts: [null]"),
		       AT "12: containerEdits.mounts[0]: is null: remove it");
	assert_refused(
		EDITS("mounts: [\"libcuda.so\"]"), AT
		"12: containerEdits.mounts[0]: expected a map, not text: write mounts: [{hostPath: "
		"/usr/lib/x.so, containerPath: /usr/lib/x.so, options: [ro, bind]}]");

	int len = snprintf(text, sizeof(text),
			   HEAD "containerEdits: {mounts: [{containerPath: /b, hostPath: /");
	memset(text + len, 'x', 4095);
	memcpy(text + len + 4095, "}]}\n" TAIL, sizeof("}]}\n" TAIL));
	struct fixture f;
	assert_int_equal(parse_mode(&f, text, false), -EINVAL);
	assert_non_null(strstr(f.err.text, "\" is too long for a path"));
	done(&f);
}

static void test_net_devices(void **state)
{
	(void)state;
	assert_refused(EDITS("netDevices: [{name: b}]"),
		       AT "16: containerEdits.netDevices[0].hostInterfaceName: is missing: write "
			  "hostInterfaceName: eth1");
	assert_refused(EDITS("netDevices: [{hostInterfaceName: a, name: ''}]"),
		       AT "45: containerEdits.netDevices[0].name: is empty: write name: net1");
	assert_refused(EDITS("netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: a, "
			     "name: c}]"),
		       AT "69: containerEdits.netDevices[1].hostInterfaceName: \"a\" a second "
			  "time: the first is on "
			  "line 4");
	assert_refused(EDITS("netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: c, "
			     "name: b}]"),
		       AT "78: containerEdits.netDevices[1].name: \"b\" a second time: the first "
			  "is on line 4");
	assert_accepted(EDITS("netDevices: [{hostInterfaceName: a/b, name: b}]"),
			AT "36: containerEdits.netDevices[0].hostInterfaceName: \"a/b\" may not "
			   "contain a blank, /, : or %");
	assert_accepted(EDITS("netDevices: [{hostInterfaceName: a, name: name-of-16-bytes}]"),
			AT "45: containerEdits.netDevices[0].name: \"name-of-16-bytes\" is longer "
			   "than 15 bytes");
	assert_refused(EDITS("netDevices: [~]"),
		       AT "16: containerEdits.netDevices[0]: is null: remove it");
}

static void test_intel_rdt(void **state)
{
	(void)state;
	assert_accepted(EDITS("intelRdt: {closID: /}"), NULL);
	assert_accepted(EDITS("intelRdt: {closID: ''}"), NULL);
	assert_accepted(EDITS("intelRdt: {closID: a b}"), NULL);
	assert_refused(
		EDITS("intelRdt: {closID: ..}"),
		AT "22: containerEdits.intelRdt.closID: \"..\" cannot be the name of a directory");
	assert_refused(
		EDITS("intelRdt: {closID: /a}"),
		AT "22: containerEdits.intelRdt.closID: \"/a\" cannot be the name of a directory");
	assert_refused(EDITS("intelRdt: {closID: \"a\\nb\"}"),
		       AT "22: containerEdits.intelRdt.closID: \"a\\x0ab\" cannot be the name of a "
			  "directory");
	assert_accepted(EDITS("intelRdt: {enableMonitoring: \"yes\"}"), NULL);
	assert_refused(EDITS("intelRdt: {enableMonitoring: \"true\"}"),
		       AT "32: containerEdits.intelRdt.enableMonitoring: expected true or false, "
			  "not \"true\" in "
			  "quotes");
	assert_refused(
		EDITS("intelRdt: {enableMonitoring: 1}"), AT
		"32: containerEdits.intelRdt.enableMonitoring: expected true or false, not \"1\"");
	assert_refused(
		EDITS("intelRdt: {enableMonitoring: []}"), AT
		"32: containerEdits.intelRdt.enableMonitoring: expected true or false, not a list");
	assert_accepted(VERSIONED("0.7.0", "intelRdt: {enableCMT: true, enableMBM: false}"), NULL);
	assert_accepted(VERSIONED("1.0.0", "intelRdt: {enableMBM: on}"), NULL);
	assert_refused(EDITS("intelRdt: {enableMBM: false}"),
		       AT "25: containerEdits.intelRdt.enableMBM: only exists up to cdiVersion "
			  "1.0.0, and this file says 1.1.0: write enableMonitoring");
	assert_accepted(EDITS("intelRdt: {schemata: [~, a]}"),
			AT "25: containerEdits.intelRdt.schemata[0]: is null and ignored");
}

static void test_gids(void **state)
{
	(void)state;
	assert_accepted(EDITS("additionalGids: [~]"),
			AT "20: containerEdits.additionalGids[0]: is null and ignored");
	assert_accepted(EDITS("additionalGids: [1, ~, 2]"),
			AT "23: containerEdits.additionalGids[1]: is null and ignored");
	assert_refused(EDITS("additionalGids: [1, -1]"),
		       AT "23: containerEdits.additionalGids[1]: -1 is negative");
	assert_refused(EDITS("additionalGids: [video]"),
		       AT "20: containerEdits.additionalGids[0]: expected a number, not \"video\"");
	assert_refused(EDITS("additionalGids: 44"),
		       AT "19: containerEdits.additionalGids: expected a list, not text: write "
			  "additionalGids: [44]");
}

static void test_text_stays_as_written(void **state)
{
	struct fixture f;
	const char *text = HEAD "annotations: {a: 0x10, b: 1.0, c: !foo x, d: !!str ~, e: "
				"2020-01-01, f: !!binary L2Rl}\n" TAIL;
	static const char *const values[] = {"0x10", "1.0", "x", "~", "2020-01-01", "/de"};

	(void)state;
	assert_int_equal(parse(&f, text), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_string_equal(f.spec->annotations.items[i].value, values[i]);
	done(&f);
}

static void test_long_annotation_key(void **state)
{
	char text[2048];
	struct fixture f;

	(void)state;
	int len = snprintf(text, sizeof(text), HEAD "annotations:\n  ? ");
	memset(text + len, 'x', 1500);
	strcpy(text + len + 1500, "\n  : []\n" TAIL);
	assert_int_equal(parse_mode(&f, text, false), -EINVAL);
	assert_non_null(strstr(f.err.text, "x.yaml:5:5: annotations[\"xxx"));
	assert_non_null(strstr(
		f.err.text, "xxx\"]: expected text, not a list: write annotations: {key: value}"));
	done(&f);
}

/* However little memory there is, running out of it is an error and nothing else. */
static void test_memory(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (size_t limit = 0; r < 0; limit += 16) {
		struct arena arena;
		struct error err = {0};
		struct cdi_spec *spec = NULL;
		const char *kind;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		r = cdi_spec_parse(&arena, "x.yaml", everything, sizeof(everything) - 1, false,
				   NULL, &spec, &kind, &err);
		if (r < 0)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		assert_int_equal(spec != NULL, r == 0);
		arena_done(&arena);
	}
}

static void test_memory_of_check(void **state)
{
	static const char text[] = "cdiVersion: 1.1.0\ncdiVersion: 1\nkind: a\nDevices: []\n";
	bool complete = false;

	(void)state;
	for (size_t limit = 0; !complete; limit += 8) {
		struct cdi_problem_list problems;
		struct cdi_spec *spec = NULL;
		struct error err = {0};
		struct arena arena;
		const char *kind;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		int r = cdi_spec_check(&arena, "x.yaml", text, sizeof(text) - 1, false, &problems,
				       &spec, &kind, &err);
		if (r < 0)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		assert_null(spec);
		complete = r == 0 && !problems.dropped;
		if (complete)
			assert_int_equal(problems.n, 4);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_every_edit_of_a_device),
		cmocka_unit_test(test_mounts_and_hooks_of_a_device),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_that_is_yaml),
		cmocka_unit_test(test_retired_forms),
		cmocka_unit_test(test_annotation_keys),
		cmocka_unit_test(test_aliases_and_merge_keys),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_letter_case),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_what_a_version_has),
		cmocka_unit_test(test_what_a_version_has_in_names),
		cmocka_unit_test(test_what_the_reference_overlooks),
		cmocka_unit_test(test_kind),
		cmocka_unit_test(test_kind_of_a_broken_file),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_sizes_around_64_kib),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_net_devices),
		cmocka_unit_test(test_intel_rdt),
		cmocka_unit_test(test_gids),
		cmocka_unit_test(test_text_stays_as_written),
		cmocka_unit_test(test_long_annotation_key),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_of_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
