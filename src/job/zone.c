#include "job/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "job/civil.h"
#include "job/zone_rule.h"

enum {
    FILE_LIMIT_BYTES = 256 * 1024, /* the largest of the database has 4 KiB */
    NAME_LIMIT_BYTES = 128,
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    LEAP_BYTES = 12,
    MOST_TYPES = 256
};

/* From `unix_seconds` on the offset is `offset_seconds`. */
struct change {
    int64_t unix_seconds;
    int32_t offset_seconds;
};

/* Invariant: changes rise. After the last one the rule holds, when there is one. */
struct nj_zone {
    struct change *changes; /* (n_changes) */
    size_t n_changes;
    int32_t first_offset; /* before the first change */
    bool has_rule;
    struct nj_zone_rule rule;
};

/* --- reading a file (RFC 8536 section 3); its numbers are big-endian --- */

struct counts {
    uint8_t version;
    uint32_t n_utc_flags, n_standard_flags, n_leap_seconds, n_changes, n_types, n_name_bytes;
};

static uint64_t read_big(struct nj_byte_reader *reader, unsigned n_bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++) {
        value = value << 8 | nj_read_u8(reader);
    }
    return value;
}

static bool read_header(struct nj_byte_reader *reader, struct counts *counts)
{
    struct nj_bytes magic = nj_read_span(reader, 4);
    if (reader->failed || memcmp(magic.data, "TZif", 4) != 0) {
        return false;
    }
    counts->version = nj_read_u8(reader);
    (void)nj_read_span(reader, 15); /* reserved */
    counts->n_utc_flags = (uint32_t)read_big(reader, 4);
    counts->n_standard_flags = (uint32_t)read_big(reader, 4);
    counts->n_leap_seconds = (uint32_t)read_big(reader, 4);
    counts->n_changes = (uint32_t)read_big(reader, 4);
    counts->n_types = (uint32_t)read_big(reader, 4);
    counts->n_name_bytes = (uint32_t)read_big(reader, 4);
    return !reader->failed && counts->n_types >= 1 && counts->n_types <= MOST_TYPES &&
           counts->n_changes <= FILE_LIMIT_BYTES;
}

/* The first block, whose instants have 32 bits, repeats what the second says better. */
static void skip_first_block(struct nj_byte_reader *reader, const struct counts *counts)
{
    uint64_t length = (uint64_t)counts->n_changes * 5 + (uint64_t)counts->n_types * TYPE_BYTES +
                      counts->n_name_bytes + (uint64_t)counts->n_leap_seconds * 8 +
                      counts->n_standard_flags + counts->n_utc_flags;
    (void)nj_read_span(reader, (size_t)length);
}

static bool read_offsets(struct nj_byte_reader *reader, uint32_t n_types,
                         int32_t offsets[MOST_TYPES])
{
    for (uint32_t i = 0; i < n_types; i++) {
        offsets[i] = (int32_t)(uint32_t)read_big(reader, 4);
        (void)nj_read_span(reader, 2); /* whether it is summer time, and its name */
    }
    return !reader->failed;
}

static bool read_changes(struct nj_byte_reader *reader, const struct counts *counts,
                         struct nj_zone *zone)
{
    int32_t offsets[MOST_TYPES];
    struct nj_bytes kinds;
    for (size_t i = 0; i < counts->n_changes; i++) {
        zone->changes[i].unix_seconds = (int64_t)read_big(reader, 8);
        if (i > 0 && zone->changes[i].unix_seconds <= zone->changes[i - 1].unix_seconds) {
            return false;
        }
    }
    kinds = nj_read_span(reader, counts->n_changes);
    if (!read_offsets(reader, counts->n_types, offsets)) {
        return false;
    }
    for (size_t i = 0; i < counts->n_changes; i++) {
        if (kinds.data[i] >= counts->n_types) {
            return false;
        }
        zone->changes[i].offset_seconds = offsets[kinds.data[i]];
    }
    zone->n_changes = counts->n_changes;
    zone->first_offset = offsets[0];
    return true;
}

/* "\n<rule>\n"; an empty rule leaves the last offset in force. */
static bool read_rule(struct nj_byte_reader *reader, const struct counts *counts,
                      struct nj_zone *zone)
{
    uint64_t between = counts->n_name_bytes + (uint64_t)counts->n_leap_seconds * LEAP_BYTES +
                       counts->n_standard_flags + counts->n_utc_flags;
    (void)nj_read_span(reader, (size_t)between);
    if (nj_read_u8(reader) != '\n' || reader->failed) {
        return false;
    }
    struct nj_text text = {(const char *)reader->span.data + reader->offset, 0};
    size_t left = reader->span.length_bytes - reader->offset;
    while (text.length_bytes < left && text.data[text.length_bytes] != '\n') {
        text.length_bytes++;
    }
    if (text.length_bytes == left) {
        return false;
    }
    zone->has_rule = text.length_bytes > 0;
    return !zone->has_rule || nj_zone_rule_parse(text, &zone->rule);
}

/* False when the bytes are no zone file of version 2 or later (1 ends in 2037). */
static bool parse(struct nj_bytes content, struct nj_zone *zone)
{
    struct counts counts;
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, content);
    if (!read_header(&reader, &counts) || counts.version < '2') {
        return false;
    }
    skip_first_block(&reader, &counts);
    if (!read_header(&reader, &counts)) {
        return false;
    }
    zone->changes = calloc((size_t)counts.n_changes + 1, sizeof *zone->changes);
    return zone->changes != NULL && read_changes(&reader, &counts, zone) &&
           read_rule(&reader, &counts, zone);
}

static enum nj_status read_zone(const struct nj_file_system *fs, const char *path,
                                struct nj_zone **zone, struct nj_error *err)
{
    struct nj_arena arena;
    struct nj_bytes content = {NULL, 0};
    nj_arena_init(&arena, 0);
    struct nj_zone *read = calloc(1, sizeof *read);
    enum nj_status status = NJ_OK;
    if (read == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "read %s: out of memory", path);
        goto out;
    }
    status = nj_file_read_whole(fs, AT_FDCWD, path, FILE_LIMIT_BYTES, &arena, &content, err);
    if (status != NJ_OK) {
        goto out;
    }
    if (!parse(content, read)) {
        status = nj_fail(err, NJ_E_INPUT, "%s is not a time zone file", path);
        goto out;
    }
    *zone = read;
    read = NULL;
out:
    nj_arena_deinit(&arena);
    nj_zone_close(read);
    return status;
}

/* --- opening --- */

/* Names stay inside the database: parts of letters, digits and "_+-", one "/" between. */
static bool is_name(struct nj_text name)
{
    char before = '/';
    for (size_t i = 0; i < name.length_bytes; i++) {
        char character = name.data[i];
        bool is_word = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9') ||
                       (character != '\0' && strchr("_+-", character) != NULL);
        if (!is_word && (character != '/' || before == '/')) {
            return false;
        }
        before = character;
    }
    return name.length_bytes > 0 && name.length_bytes <= NAME_LIMIT_BYTES && before != '/';
}

enum nj_status nj_zone_open(const struct nj_file_system *fs, const char *directory,
                            struct nj_text name, struct nj_zone **zone, struct nj_error *err)
{
    char path[4096];
    if (!is_name(name)) {
        return nj_fail(
            err, NJ_E_INPUT,
            "'%.*s' is no time zone; write a name such as Europe/Berlin or UTC",
            (int)(name.length_bytes < NAME_LIMIT_BYTES ? name.length_bytes : NAME_LIMIT_BYTES),
            name.data);
    }
    int length =
        snprintf(path, sizeof path, "%s/%.*s", directory, (int)name.length_bytes, name.data);
    if (length < 0 || (size_t)length >= sizeof path) {
        return nj_fail(err, NJ_E_INPUT, "%s: the path is too long", directory);
    }
    enum nj_status status = read_zone(fs, path, zone, err);
    if (status == NJ_E_NOT_FOUND || status == NJ_E_INPUT) {
        return nj_fail(err, NJ_E_INPUT,
                       "there is no time zone '%.*s' in %s (is the package tzdata installed?)",
                       (int)name.length_bytes, name.data, directory);
    }
    return status;
}

enum nj_status nj_zone_open_default(const struct nj_file_system *fs, const char *link,
                                    struct nj_zone **zone, struct nj_error *err)
{
    enum nj_status status = read_zone(fs, link, zone, err);
    if (status != NJ_E_NOT_FOUND) {
        return status;
    }
    struct nj_zone *utc = calloc(1, sizeof *utc);
    if (utc == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "time zone UTC: out of memory");
    }
    *zone = utc;
    return NJ_OK;
}

void nj_zone_close(struct nj_zone *zone)
{
    if (zone != NULL) {
        free(zone->changes);
        free(zone);
    }
}

/* --- asking --- */

/* How many changes lie at or before an instant. */
static size_t changes_until(const struct nj_zone *zone, int64_t unix_seconds)
{
    size_t low = 0;
    size_t high = zone->n_changes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].unix_seconds <= unix_seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int32_t nj_zone_offset(const struct nj_zone *zone, int64_t unix_seconds)
{
    size_t n_before = changes_until(zone, unix_seconds);
    if (n_before == zone->n_changes && zone->has_rule) {
        return nj_zone_rule_offset(&zone->rule, unix_seconds);
    }
    return n_before == 0 ? zone->first_offset : zone->changes[n_before - 1].offset_seconds;
}

int64_t nj_zone_next_change(const struct nj_zone *zone, int64_t unix_seconds)
{
    size_t n_before = changes_until(zone, unix_seconds);
    if (n_before < zone->n_changes) {
        return zone->changes[n_before].unix_seconds;
    }
    return zone->has_rule ? nj_zone_rule_next_change(&zone->rule, unix_seconds) : INT64_MAX;
}

int64_t nj_zone_resolve(const struct nj_zone *zone, int64_t local_seconds,
                        enum nj_zone_pick pick)
{
    /* No zone is further from UTC than a day, so the offsets that can apply are those in force
     * from a day before to a day after. Each stretch between two changes proposes an instant,
     * which holds when it lies in that stretch. */
    int64_t begin = local_seconds - NJ_DAY_SECONDS;
    int64_t end = local_seconds + NJ_DAY_SECONDS;
    int64_t found = INT64_MAX;
    int64_t over_gap = INT64_MAX;
    for (int64_t at = begin; at <= end;) {
        int64_t next = nj_zone_next_change(zone, at);
        int64_t candidate = local_seconds - nj_zone_offset(zone, at);
        if (candidate >= at && candidate < next) {
            if (pick == NJ_ZONE_FIRST) {
                return candidate;
            }
            found = candidate;
        } else if (candidate >= next) {
            over_gap = candidate; /* later than its stretch: perhaps in the gap behind it */
        }
        at = next;
    }
    return found != INT64_MAX ? found : over_gap;
}
