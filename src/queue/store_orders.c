#include "queue/store_orders.h"

#include <stdio.h>
#include <string.h>

#include "job/schedule_keys.h"

enum { WINDOW_BYTES = sizeof "22:30-06:30 " - 1 };

struct nj_text nj_store_windows_write(const struct nj_job_hours *hours, struct nj_arena *arena)
{
    size_t capacity = hours->n_windows * WINDOW_BYTES + 1;
    char *text = nj_arena_take(arena, capacity);
    size_t used = 0;
    for (size_t i = 0; i < hours->n_windows && text != NULL; i++) {
        const struct nj_window *window = &hours->windows[i];
        int length =
            snprintf(text + used, capacity - used, "%s%02u:%02u-%02u:%02u", i == 0 ? "" : " ",
                     window->start_minute / 60, window->start_minute % 60,
                     window->end_minute / 60, window->end_minute % 60);
        used += length < 0 ? 0 : (size_t)length;
    }
    return (struct nj_text){text, used};
}

static size_t count_words(struct nj_text text)
{
    size_t n_words = text.length_bytes == 0 ? 0 : 1;
    for (size_t i = 0; i < text.length_bytes; i++) {
        n_words += text.data[i] == ' ' ? 1 : 0;
    }
    return n_words;
}

bool nj_store_windows_read(struct nj_text text, struct nj_arena *arena,
                           struct nj_job_hours *hours)
{
    size_t n_windows = count_words(text);
    struct nj_window *windows = nj_arena_take_array(arena, n_windows, sizeof windows[0]);
    struct nj_text rest = text;
    for (size_t i = 0; i < n_windows && windows != NULL; i++) {
        const char *space = memchr(rest.data, ' ', rest.length_bytes);
        size_t length = space == NULL ? rest.length_bytes : (size_t)(space - rest.data);
        struct nj_text word = {rest.data, length};
        if (!nj_window_parse(word, &windows[i].start_minute, &windows[i].end_minute)) {
            return false;
        }
        length += space == NULL ? 0 : 1;
        rest = (struct nj_text){rest.data + length, rest.length_bytes - length};
    }
    hours->windows = windows;
    hours->n_windows = n_windows;
    return windows != NULL;
}
