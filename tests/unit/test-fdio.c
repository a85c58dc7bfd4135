/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <signal.h>
#include <sys/time.h>

#include "fdio.h"

struct fixture {
	struct tree tree;
	struct arena arena;
	size_t fds;
	char *data;
	size_t size;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	tree_init(&fixture->tree);
	arena_init(&fixture->arena, 1 << 20);
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

static int read_at(struct fixture *fixture, const char *path, size_t limit)
{
	return fdio_read_at(&fixture->arena, fixture->tree.fd, path, limit, &fixture->data,
			    &fixture->size, &fixture->err);
}

static void test_whole_file(void **state)
{
	struct fixture *fixture = *state;

	tree_file(&fixture->tree, "/f", "five\n");
	assert_int_equal(read_at(fixture, "f", 5), 0);
	assert_int_equal(fixture->size, 5);
	assert_string_equal(fixture->data, "five\n");
	tree_file(&fixture->tree, "/f", "");
	assert_int_equal(read_at(fixture, "f", 5), 0);
	assert_int_equal(fixture->size, 0);
	assert_string_equal(fixture->data, "");
}

static void test_limit(void **state)
{
	struct fixture *fixture = *state;

	tree_file(&fixture->tree, "/f", "five\n");
	assert_int_equal(read_at(fixture, "f", 4), -EFBIG);
	assert_error(&fixture->err, EXIT_CODE_DONE, "read f: more than 4 bytes: File too large");
	assert_int_equal(read_at(fixture, "f", 0), -EFBIG);
	/* A file that is far too large, and says so, is not read at all. */
	int fd = openat(fixture->tree.fd, "f", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 1LL << 40), 0);
	close(fd);
	assert_int_equal(read_at(fixture, "f", 1000000), -EFBIG);
	assert_true(fixture->arena.used < 4096);
}

/* Files of procfs say that they are empty. */
static void test_file_that_does_not_know_its_size(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fdio_read_at(&fixture->arena, AT_FDCWD, "/proc/self/status",
				      LIMIT_PROC_SIZE, &fixture->data, &fixture->size,
				      &fixture->err),
			 0);
	assert_true(fixture->size > 0);
	assert_int_equal(fixture->size, strlen(fixture->data));
}

static void test_pipe_in_pieces(void **state)
{
	struct fixture *fixture = *state;
	static char text[50000];
	int ends[2];

	memset(text, 'x', sizeof(text));
	text[0] = 'a';
	text[sizeof(text) - 1] = 'z';
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], text, sizeof(text)), sizeof(text));
	close(ends[1]);
	assert_int_equal(fdio_read(&fixture->arena, ends[0], sizeof(text), "state", &fixture->data,
				   &fixture->size, &fixture->err),
			 0);
	close(ends[0]);
	assert_int_equal(fixture->size, sizeof(text));
	assert_memory_equal(fixture->data, text, sizeof(text));
	assert_int_equal(fixture->data[fixture->size], '\0');
}

static void test_endless(void **state)
{
	struct fixture *fixture = *state;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_int_equal(fdio_read(&fixture->arena, fd, 100000, "/dev/zero", &fixture->data,
				   &fixture->size, &fixture->err),
			 -EFBIG);
	close(fd);
	assert_error(&fixture->err, EXIT_CODE_DONE,
		     "read /dev/zero: more than 100000 bytes: File too large");
}

static void test_no_memory(void **state)
{
	struct fixture *fixture = *state;
	struct arena small;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (size_t limit = 0; limit < 100000; limit += 10000) {
		arena_init(&small, limit);
		assert_int_equal(fdio_read(&small, fd, 1 << 20, "x", &fixture->data, &fixture->size,
					   &fixture->err),
				 -ENOMEM);
		arena_done(&small);
		assert_error(&fixture->err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
	}
	close(fd);
}

static void test_what_is_not_a_file(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(read_at(fixture, "missing", 10), -ENOENT);
	assert_error(&fixture->err, EXIT_CODE_DONE, "open missing: No such file or directory");
	tree_dir(&fixture->tree, "/d");
	assert_int_equal(read_at(fixture, "d", 10), -EISDIR);
	assert_error(&fixture->err, EXIT_CODE_DONE, "read d: Is a directory");
	/* Nobody writes into it: reading must not wait for that. */
	tree_fifo(&fixture->tree, "/fifo");
	assert_int_equal(read_at(fixture, "fifo", 10), -EINVAL);
	assert_error(&fixture->err, EXIT_CODE_DONE, "read fifo: not a regular file");
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* The deadline of a run is a signal: a read that it interrupts ends. */
static void test_interrupted(void **state)
{
	struct fixture *fixture = *state;
	struct sigaction action = {.sa_handler = on_alarm}, before;
	struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(fdio_read(&fixture->arena, ends[0], 10, "state", &fixture->data,
				   &fixture->size, &fixture->err),
			 -EINTR);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	sigaction(SIGALRM, &before, NULL);
	close(ends[0]);
	close(ends[1]);
	assert_error(&fixture->err, EXIT_CODE_DONE, "read state: Interrupted system call");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole_file),
		TEST(test_limit),
		TEST(test_file_that_does_not_know_its_size),
		TEST(test_pipe_in_pieces),
		TEST(test_endless),
		TEST(test_no_memory),
		TEST(test_what_is_not_a_file),
		TEST(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
