/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results are read by people in a terminal and by other programs through a pipe; the first want lines that fit, the second
 * want all of it. Text is plain ASCII once it is shown, so that its length is its width.
 */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "error.h"

/* Narrower than this nothing can be read any more: then lines are left too long. */
#define WIDTH_LEAST 40
#define WIDTH_USUAL 80
/* Bytes that SHOW() surely does not shorten: each takes four at most. */
#define SHOWN_PIECE ((ERROR_SHOW_MAX - 8) / 4)

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_USUAL;
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}

struct screen screen_stdout(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (!isatty(STDOUT_FILENO))
		return (struct screen){0};
	return (struct screen){
		.width = terminal_width(),
		.colours = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0,
	};
}

void screen_put(const struct screen *screen, enum colour colour, const char *text)
{
	static const char *const codes[] = {[COLOUR_BOLD] = "1",
					    [COLOUR_RED] = "31",
					    [COLOUR_GREEN] = "32",
					    [COLOUR_YELLOW] = "33"};

	if (screen->colours && colour != COLOUR_NONE)
		printf("\033[%sm%s\033[0m", codes[colour], text);
	else
		fputs(text, stdout);
}

size_t screen_line(const char *text, size_t width, const char **ret_next)
{
	size_t len = strlen(text), at = width;

	if (width == 0 || len <= width) {
		*ret_next = text + len;
		return len;
	}
	while (at > 0 && text[at] != ' ')
		at--;
	if (at > 0) {
		*ret_next = text + at + 1;
		return at;
	}
	/* A path, or a list without blanks: better between its parts than inside of one. */
	for (at = width; at > width / 3 && text[at - 1] != '/' && text[at - 1] != ',';)
		at--;
	at = at > width / 3 ? at : width;
	*ret_next = text + at;
	return at;
}

void screen_put_paragraph(const struct screen *screen, size_t indent, const char *text)
{
	size_t width = screen->width > indent ? screen->width - indent : 0;

	while (*text) {
		const char *next;
		size_t len = screen_line(text, width, &next);

		printf("%*s%.*s\n", (int)indent, "", (int)len, text);
		text = next;
	}
}

const char *screen_shown(struct arena *arena, const char *s)
{
	size_t len = strlen(s), used = 0;
	char *shown = arena_alloc(arena, 4 * len + 1), piece[SHOWN_PIECE + 1];

	if (!shown)
		return NULL;
	while (len > 0) {
		size_t n = len < SHOWN_PIECE ? len : SHOWN_PIECE;

		memcpy(piece, s, n);
		piece[n] = '\0';
		const char *text = SHOW(piece);
		memcpy(shown + used, text, strlen(text));
		used += strlen(text);
		s += n;
		len -= n;
	}
	shown[used] = '\0';
	return shown;
}
