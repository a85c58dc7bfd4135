/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel writes three numbers a line, right-aligned. At most 340 lines, by its own bound. */
#include "id-map.h"

#include <string.h>

#include "bounds.h"

/* The next number of the line that ends at `limit`; `*at` moves behind it. */
static bool parse_number(const char **at, const char *limit, uint32_t *ret_number)
{
	unsigned long long value = 0;
	bool any = false;

	while (*at < limit && **at == ' ')
		++*at;
	for (; *at < limit && **at >= '0' && **at <= '9'; ++*at) {
		value = value * 10 + (unsigned long long)(**at - '0');
		any = true;
		if (value > UINT32_MAX)
			return false;
	}
	*ret_number = (uint32_t)value;
	return any;
}

static bool parse_range(const char *at, const char *limit, struct id_range *ret_range)
{
	return parse_number(&at, limit, &ret_range->inside) &&
	       parse_number(&at, limit, &ret_range->outside) &&
	       parse_number(&at, limit, &ret_range->count) && at == limit && ret_range->count > 0 &&
	       ret_range->inside <= UINT32_MAX - (ret_range->count - 1) &&
	       ret_range->outside <= UINT32_MAX - (ret_range->count - 1);
}

int id_map_parse(struct arena *arena, const char *text, size_t size, struct id_map *ret_map,
		 struct error *err)
{
	const char *limit = text + size;

	*ret_map = (struct id_map){0};
	for (const char *line = text; line < limit;) {
		const char *end = memchr(line, '\n', (size_t)(limit - line));
		if (!end)
			end = limit;
		if (ret_map->n == LIMIT_ID_RANGES)
			return error_say(err, EXIT_CODE_CONTAINER, "more than %d lines",
					 LIMIT_ID_RANGES);
		struct id_range *range = array_add(arena, ret_map);
		if (!range)
			return error_memory(err);
		if (!parse_range(line, end, range))
			return error_say(err, EXIT_CODE_CONTAINER,
					 "line %zu: expected INSIDE OUTSIDE COUNT", ret_map->n);
		line = end + 1;
	}
	return 0;
}

bool id_map_outside(const struct id_map *map, uint32_t inside, uint32_t *ret_outside)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct id_range *range = &map->items[i];
		if (inside < range->inside || inside - range->inside >= range->count)
			continue;
		*ret_outside = range->outside + (inside - range->inside);
		return true;
	}
	return false;
}

bool id_map_has_outside(const struct id_map *map, uint32_t outside)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct id_range *range = &map->items[i];
		if (outside >= range->outside && outside - range->outside < range->count)
			return true;
	}
	return false;
}

bool id_map_shows(const struct id_map *map, uint32_t outside, uint32_t seen)
{
	uint32_t of_seen;

	if (!id_map_has_outside(map, outside))
		return seen == OVERFLOW_ID;
	return id_map_outside(map, seen, &of_seen) && of_seen == outside;
}

bool id_map_is_identity(const struct id_map *map)
{
	/* The last id means "none" and is in no map. */
	return map->n == 1 && map->items[0].inside == 0 && map->items[0].outside == 0 &&
	       map->items[0].count == UINT32_MAX;
}
