/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's hook, as an example: loads the function that a container asks for into the card.
 *
 *   fpga-load CARD          reads the container's state on stdin, and loads what its annotation
 *                           fpga.example.com/function names
 *   fpga-load --clear CARD  empties the card, when the container has gone
 *
 * CARD is a directory that stands for the card, with these files:
 *
 *   shell           the version of the logic that is always in the card
 *   functions/NAME  a function: the first line is "shell VERSION", the rest is what is loaded
 *   slot            what is loaded now; a real card has a device node here
 *
 * What is written to stderr when this fails is what the person sees whose container does not start.
 *
 *   cc -o fpga-load fpga-load.c $(pkg-config --cflags --libs json-c)
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATION "fpga.example.com/function"
#define LINE_MAX_LENGTH 128

static FILE *open_in(const char *card, const char *directory, const char *name, const char *mode)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", card, directory, name);
	file = fopen(path, mode);
	if (!file)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return file;
}

/* The state is JSON: whoever looks for the text of an annotation in it finds that of another one some day. */
static char *wanted_function(void)
{
	struct json_object *state = json_object_from_fd(0), *annotations = NULL, *value = NULL;
	const char *text = NULL;
	char *copy;

	if (json_object_object_get_ex(state, "annotations", &annotations) &&
	    json_object_object_get_ex(annotations, ANNOTATION, &value))
		text = json_object_get_string(value);
	copy = text ? strdup(text) : NULL;
	json_object_put(state);
	if (!copy)
		fprintf(stderr, "the container has no annotation " ANNOTATION
				": it names the function to load\n");
	return copy;
}

/* Whoever starts containers chooses this text, and it becomes part of a path that root opens. */
static int is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len > 0 && len < LINE_MAX_LENGTH && text[len] == '\0' && text[0] != '-';
}

static int read_line(FILE *file, char line[static LINE_MAX_LENGTH])
{
	if (!fgets(line, LINE_MAX_LENGTH, file))
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* A function that was built for another shell can damage a card. */
static int check_shell(const char *card, const char *name, FILE *function)
{
	char wanted[LINE_MAX_LENGTH], has[LINE_MAX_LENGTH] = "shell ";
	FILE *shell = open_in(card, "", "shell", "r");
	char version[LINE_MAX_LENGTH];
	int known;

	if (!shell)
		return -1;
	known = read_line(shell, version) == 0 && read_line(function, wanted) == 0;
	fclose(shell);
	if (known && snprintf(has, sizeof(has), "shell %s", version) < (int)sizeof(has) &&
	    strcmp(wanted, has) == 0)
		return 0;
	fprintf(stderr, "function %s is built for \"%.40s\", and the card has \"%.40s\"\n", name,
		known ? wanted : "?", has);
	return -1;
}

static int load(const char *card, FILE *function)
{
	FILE *slot = open_in(card, "", "slot", "w");
	int c, bad;

	if (!slot)
		return -1;
	while ((c = getc(function)) != EOF)
		putc(c, slot);
	bad = ferror(function) || ferror(slot);
	if (fclose(slot) != 0 || bad) {
		fprintf(stderr, "%s/slot: the card does not take the function\n", card);
		return -1;
	}
	return 0;
}

static int load_wanted(const char *card)
{
	char *name = wanted_function();
	FILE *function = NULL;
	int r = -1;

	if (name && !is_name(name))
		fprintf(stderr,
			"\"%.40s\" is no name of a function: small letters, digits and - "
			"only\n",
			name);
	else if (name)
		function = open_in(card, "functions/", name, "r");
	if (function && check_shell(card, name, function) == 0)
		r = load(card, function);
	if (function)
		fclose(function);
	free(name);
	return r;
}

static int clear(const char *card)
{
	FILE *slot = open_in(card, "", "slot", "w");

	return slot && fclose(slot) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int r;

	if (argc == 3 && strcmp(argv[1], "--clear") == 0)
		r = clear(argv[2]);
	else if (argc == 2)
		r = load_wanted(argv[1]);
	else {
		fprintf(stderr, "usage: fpga-load [--clear] CARD\n");
		r = -1;
	}
	return r == 0 ? 0 : 1;
}
