/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "request.h"

#define FORM "; a device is named vendor.com/class=name"

/* Annotations, prefixes and devices of one test, and what came of them. */
struct world {
	struct arena arena;
	struct oci_state state;
	struct string_list prefixes, devices;
	struct request_list requests;
	struct error err;
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	arena_init(&world->arena, LIMIT_MEMORY);
	*array_add(&world->arena, &world->prefixes) = "cdi.k8s.io/";
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	arena_done(&world->arena);
	free(world);
	return 0;
}

static void annotate(struct world *world, const char *key, const char *value)
{
	*array_add(&world->arena, &world->state.annotations) = (struct oci_annotation){key, value};
}

static int collect(struct world *world)
{
	return request_collect(&world->arena, &world->state, &world->prefixes, &world->devices,
			       &world->requests, &world->err);
}

static void assert_request(const struct world *world, size_t index, const char *device,
			   const char *annotation)
{
	const struct request *request = &world->requests.items[index];

	assert_true(index < world->requests.n);
	assert_string_equal(request->device, device);
	assert_null(request->pattern);
	if (annotation)
		assert_string_equal(request->annotation, annotation);
	else
		assert_null(request->annotation);
}

static void test_nobody_asks(void **state)
{
	struct world *world = *state;

	annotate(world, "cdi.k8s.io", "vendor.com/gpu=0");
	annotate(world, "CDI.k8s.io/x", "not a device");
	annotate(world, "x.cdi.k8s.io/x", "not a device");
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, 0);
}

static void test_order_and_origin(void **state)
{
	struct world *world = *state;

	*array_add(&world->arena, &world->devices) = "vendor.com/gpu=9";
	*array_add(&world->arena, &world->devices) = "gpu-1";
	annotate(world, "cdi.k8s.io/", "vendor.com/gpu=1");
	annotate(world, "cdi.k8s.io/a", "vendor.com/gpu=3,vendor.com/gpu=2");
	annotate(world, "cdi.k8s.io/b", "a/b=c");
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, 6);
	assert_request(world, 0, "vendor.com/gpu=9", NULL);
	assert_request(world, 1, "gpu-1", NULL);
	assert_request(world, 2, "vendor.com/gpu=1", "cdi.k8s.io/");
	assert_request(world, 3, "vendor.com/gpu=3", "cdi.k8s.io/a");
	assert_request(world, 4, "vendor.com/gpu=2", "cdi.k8s.io/a");
	assert_request(world, 5, "a/b=c", "cdi.k8s.io/b");
}

static void test_asked_for_twice_counts_at_its_first_place(void **state)
{
	struct world *world = *state;

	*array_add(&world->arena, &world->devices) = "vendor.com/gpu=1";
	annotate(world, "cdi.k8s.io/a", "vendor.com/gpu=0,vendor.com/gpu=1,vendor.com/gpu=0");
	annotate(world, "cdi.k8s.io/b", "vendor.com/gpu=0");
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, 2);
	assert_request(world, 0, "vendor.com/gpu=1", NULL);
	assert_request(world, 1, "vendor.com/gpu=0", "cdi.k8s.io/a");
}

static void test_prefixes(void **state)
{
	struct world *world = *state;

	*array_add(&world->arena, &world->prefixes) = "devices.example/";
	annotate(world, "cdi.k8s.io/a", "v/c=1");
	annotate(world, "devices.example/a", "v/c=2");
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, 2);
	world->prefixes.n = 0;
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, 0);
}

static void test_malformed(void **state)
{
	struct world *world = *state;

	annotate(world, "cdi.k8s.io/x", "bad");
	assert_true(collect(world) < 0);
	assert_error(
		&world->err, EXIT_CODE_REQUEST,
		"annotation cdi.k8s.io/x: device \"bad\": a device is named vendor.com/class=name");
}

static void test_empty_pieces_are_malformed(void **state)
{
	static const char *const values[] = {"", "v/c=d,", ",v/c=d", "v/c=d,,v/c=e"};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		world->state.annotations.n = 0;
		annotate(world, "cdi.k8s.io/x", values[i]);
		assert_true(collect(world) < 0);
		assert_error(&world->err, EXIT_CODE_REQUEST,
			     "annotation cdi.k8s.io/x: device \"\": is empty" FORM);
	}
}

static void test_all_malformed_ones_are_told(void **state)
{
	struct world *world = *state;

	*array_add(&world->arena, &world->devices) = "v/c=";
	*array_add(&world->arena, &world->devices) = "a@b";
	annotate(world, "cdi.k8s.io/x", "v/c=good, v/c=blank");
	annotate(world, "cdi.k8s.io/y", "bad");
	assert_true(collect(world) < 0);
	assert_error(&world->err, EXIT_CODE_REQUEST,
		     "device \"v/c=\": name is empty" FORM
		     "; device \"a@b\": a device is named vendor.com/class=name"
		     "; annotation cdi.k8s.io/x: device \" v/c=blank\": vendor \" v\" must start "
		     "with a letter, "
		     "not \" \"" FORM "; annotation cdi.k8s.io/y: device \"bad\": a device is "
		     "named vendor.com/class=name");
}

static void test_very_many_malformed_ones_are_counted(void **state)
{
	enum { PIECES = 300000 };
	struct world *world = *state;
	char *value = malloc(2 * PIECES);

	for (size_t i = 0; i < PIECES; i++)
		memcpy(value + 2 * i, "x,", 2);
	value[2 * PIECES - 1] = '\0';
	annotate(world, "cdi.k8s.io/x", value);
	assert_true(collect(world) < 0);
	assert_int_equal(world->err.exit_code, EXIT_CODE_REQUEST);
	assert_string_equal(strrchr(world->err.text, ';'), "; 299961 more malformed");
	free(value);
}

static void test_limit(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < LIMIT_REQUESTS; i++)
		annotate(world, arena_printf(&world->arena, "cdi.k8s.io/%d", i),
			 arena_printf(&world->arena, "v/c=%d,v/c=0", i));
	assert_int_equal(collect(world), 0);
	assert_int_equal(world->requests.n, LIMIT_REQUESTS);
	annotate(world, "cdi.k8s.io/z", "v/c=one-more");
	assert_true(collect(world) < 0);
	assert_error(&world->err, EXIT_CODE_REQUEST, "more than 256 devices are asked for");
}

static void test_no_memory(void **state)
{
	struct world *world = *state;
	struct arena arena;

	annotate(world, "cdi.k8s.io/x", "v/c=d");
	for (size_t limit = 0; limit < 128; limit += 16) {
		struct error err = {0};

		arena_init(&arena, limit);
		assert_true(request_collect(&arena, &world->state, &world->prefixes,
					    &world->devices, &world->requests, &err) < 0);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_asks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order_and_origin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asked_for_twice_counts_at_its_first_place,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_prefixes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_pieces_are_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_malformed_ones_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_very_many_malformed_ones_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
