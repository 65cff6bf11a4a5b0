#include "runner/item_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void nj_item_names_deinit(struct nj_item_names *names)
{
    free(names->slots);
    *names = (struct nj_item_names){0};
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Appends what a name may hold of the text; what it may not becomes one dash, also several
 * bytes in a row. `also` may be kept besides letters and digits, but in front neither a dot,
 * which hides a file, nor a dash, which makes it an option. */
static void append_safe(char *name, size_t limit, struct nj_text text, const char *also)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < text.length_bytes && length < limit; i++) {
        char c = text.data[i];
        bool is_kept = is_letter_or_digit(c) || (c != '\0' && strchr(also, c) != NULL &&
                                                 !((c == '.' || c == '-') && length == 0));
        if (is_kept) {
            name[length++] = c;
        } else if (length > 0 && name[length - 1] != '-') {
            name[length++] = '-';
        }
    }
    while (length > 0 && (name[length - 1] == '-' || name[length - 1] == '.')) {
        length--;
    }
    name[length] = '\0';
}

/* What some systems take for a device, with any ending. */
static bool is_device(const char *stem)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com", "lpt"};
    enum { N_WITHOUT_NUMBER = 4, NAME_BYTES = 3 };
    size_t length = strcspn(stem, ".");
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        bool has_number = i >= N_WITHOUT_NUMBER;
        bool ends = has_number ? length == NAME_BYTES + 1 && stem[NAME_BYTES] >= '1' &&
                                     stem[NAME_BYTES] <= '9'
                               : length == NAME_BYTES;
        if (ends && strncasecmp(stem, devices[i], NAME_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* A name that means something else to a system or a command gets a word in front. */
static void disarm(char stem[NJ_ITEM_NAME_STEM_BYTES + 1])
{
    static const char word[] = "item-";
    size_t n_word = sizeof word - 1;
    size_t length = strlen(stem);
    if (!is_device(stem)) {
        return;
    }
    length =
        length + n_word <= NJ_ITEM_NAME_STEM_BYTES ? length : NJ_ITEM_NAME_STEM_BYTES - n_word;
    memmove(stem + n_word, stem, length);
    memcpy(stem, word, n_word);
    stem[n_word + length] = '\0';
}

static void write_stem(const struct nj_item *item, char stem[NJ_ITEM_NAME_STEM_BYTES + 1])
{
    stem[0] = '\0';
    if (item->filename.length_bytes > 0) {
        append_safe(stem, NJ_ITEM_NAME_STEM_BYTES, item->filename, "-_.");
    } else {
        (void)snprintf(stem, NJ_ITEM_NAME_STEM_BYTES + 1, "%04llu-",
                       (unsigned long long)item->index);
        append_safe(stem, NJ_ITEM_NAME_STEM_BYTES, item->id, "");
    }
    if (stem[0] == '\0') {
        (void)snprintf(stem, NJ_ITEM_NAME_STEM_BYTES + 1, "item");
    }
    disarm(stem);
}

/* FNV-1a over the name in lower case: "A.md" and "a.md" are one file for some systems. Two
 * names with one hash only get a suffix that they would not need. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name);
        hash = (hash ^ c) * UINT64_C(0x100000001B3);
    }
    return hash != 0 ? hash : 1;
}

/* The slot with this hash, or the free one where it would be. */
static struct nj_given_name *find(const struct nj_item_names *names, uint64_t hash)
{
    size_t at = (size_t)hash & (names->n_slots - 1);
    while (names->slots[at].hash != 0 && names->slots[at].hash != hash) {
        at = (at + 1) & (names->n_slots - 1);
    }
    return &names->slots[at];
}

static enum nj_status grow(struct nj_item_names *names, struct nj_error *err)
{
    enum { FIRST_SLOTS = 64 };
    struct nj_item_names larger = *names;
    larger.n_slots = names->n_slots == 0 ? FIRST_SLOTS : 2 * names->n_slots;
    larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "name the items' files: out of memory");
    }
    for (size_t i = 0; i < names->n_slots; i++) {
        if (names->slots[i].hash != 0) {
            *find(&larger, names->slots[i].hash) = names->slots[i];
        }
    }
    free(names->slots);
    *names = larger;
    return NJ_OK;
}

enum nj_status nj_item_names_give(struct nj_item_names *names, const struct nj_item *item,
                                  char name[NJ_ITEM_NAME_BYTES], struct nj_error *err)
{
    char stem[NJ_ITEM_NAME_STEM_BYTES + 1];
    write_stem(item, stem);
    (void)snprintf(name, NJ_ITEM_NAME_BYTES, "%s.md", stem);
    if (2 * names->n_names >= names->n_slots) {
        enum nj_status status = grow(names, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    struct nj_given_name *first = find(names, hash_of(name));
    struct nj_given_name *slot = first;
    while (slot->hash != 0) {
        (void)snprintf(name, NJ_ITEM_NAME_BYTES, "%s-%llu.md", stem,
                       (unsigned long long)first->next_number++);
        slot = find(names, hash_of(name));
    }
    *slot = (struct nj_given_name){.hash = hash_of(name), .next_number = 2};
    names->n_names++;
    return NJ_OK;
}

bool nj_item_names_has(const struct nj_item_names *names, const char *name)
{
    return names->n_slots > 0 && find(names, hash_of(name))->hash != 0;
}
