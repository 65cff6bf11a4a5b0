#include "snapshot/handover.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* In front of each message; a skip fills the memory's end where a message did not fit. */
struct slot {
    size_t slot_bytes; /* this header included */
    size_t n_bytes;
    bool is_skip;
};

enum { SLOT_BYTES = NJ_HANDOVER_OVERHEAD_BYTES };
_Static_assert(sizeof(struct slot) <= SLOT_BYTES, "a slot fits in front of a message");

/* Slots from `tail` to `head`, which go round. Invariant: used_bytes is their sum, at most
 * the capacity; an empty memory has both at 0. The lock guards everything but the bytes of
 * messages. */
struct nj_handover {
    pthread_mutex_t lock;
    pthread_cond_t has_room;
    pthread_cond_t has_message;
    uint8_t *memory;
    size_t capacity_bytes;
    size_t head;
    size_t tail;
    size_t used_bytes;
    size_t reserved; /* place of the slot being written */
    bool is_closed;
};

enum nj_status nj_handover_create(size_t capacity_bytes, struct nj_handover **handover,
                                  struct nj_error *err)
{
    struct nj_handover *made = calloc(1, sizeof *made);
    size_t rounded = (capacity_bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
    if (made != NULL) {
        made->memory = aligned_alloc(SLOT_BYTES, rounded);
    }
    if (made == NULL || made->memory == NULL) {
        free(made);
        return nj_fail(err, NJ_E_MEMORY, "a buffer of %zu bytes for snapshots: out of memory",
                       capacity_bytes);
    }
    made->capacity_bytes = rounded;
    /* With default attributes these cannot fail on Linux. */
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->has_room, NULL);
    (void)pthread_cond_init(&made->has_message, NULL);
    *handover = made;
    return NJ_OK;
}

void nj_handover_destroy(struct nj_handover *handover)
{
    if (handover == NULL) {
        return;
    }
    (void)pthread_cond_destroy(&handover->has_message);
    (void)pthread_cond_destroy(&handover->has_room);
    (void)pthread_mutex_destroy(&handover->lock);
    free(handover->memory);
    free(handover);
}

static struct slot *slot_at(const struct nj_handover *handover, size_t place)
{
    void *memory = handover->memory + place;
    return memory;
}

static void lock(struct nj_handover *handover)
{
    (void)pthread_mutex_lock(&handover->lock); /* fails only on misuse */
}

static void unlock(struct nj_handover *handover)
{
    (void)pthread_mutex_unlock(&handover->lock);
}

static size_t slot_bytes_for(size_t n_bytes)
{
    return SLOT_BYTES + (n_bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
}

/* Finds a place for so many bytes in one piece; fills the end with a skip if it must go round.
 */
static bool find_room(struct nj_handover *handover, size_t wanted)
{
    if (handover->used_bytes == 0) {
        handover->head = 0;
        handover->tail = 0;
    }
    size_t n_behind = handover->capacity_bytes - handover->head;
    size_t n_free = handover->capacity_bytes - handover->used_bytes;
    bool goes_round = n_behind < wanted;
    if (wanted + (goes_round ? n_behind : 0) > n_free) {
        return false;
    }
    if (goes_round) {
        *slot_at(handover, handover->head) =
            (struct slot){.slot_bytes = n_behind, .is_skip = true};
        handover->used_bytes += n_behind;
        handover->head = 0;
    }
    handover->reserved = handover->head;
    return true;
}

void *nj_handover_reserve(struct nj_handover *handover, size_t n_bytes, bool *waited)
{
    size_t wanted = slot_bytes_for(n_bytes);
    assert(wanted <= handover->capacity_bytes);
    *waited = false;
    lock(handover);
    while (!find_room(handover, wanted)) {
        *waited = true;
        (void)pthread_cond_wait(&handover->has_room, &handover->lock);
    }
    struct slot *slot = slot_at(handover, handover->reserved);
    *slot = (struct slot){.slot_bytes = wanted, .n_bytes = n_bytes};
    unlock(handover);
    return handover->memory + handover->reserved + SLOT_BYTES;
}

void nj_handover_publish(struct nj_handover *handover)
{
    lock(handover);
    size_t slot_bytes = slot_at(handover, handover->reserved)->slot_bytes;
    handover->used_bytes += slot_bytes;
    handover->head = handover->reserved + slot_bytes;
    if (handover->head == handover->capacity_bytes) {
        handover->head = 0;
    }
    (void)pthread_cond_signal(&handover->has_message);
    unlock(handover);
}

static void drop_tail(struct nj_handover *handover)
{
    size_t slot_bytes = slot_at(handover, handover->tail)->slot_bytes;
    handover->used_bytes -= slot_bytes;
    handover->tail += slot_bytes;
    if (handover->tail == handover->capacity_bytes) {
        handover->tail = 0;
    }
}

const void *nj_handover_take(struct nj_handover *handover, size_t *n_bytes)
{
    const uint8_t *message = NULL;
    lock(handover);
    for (;;) {
        bool is_idle = handover->used_bytes == 0;
        if (is_idle && handover->is_closed) {
            break;
        }
        if (is_idle) {
            (void)pthread_cond_wait(&handover->has_message, &handover->lock);
        } else if (slot_at(handover, handover->tail)->is_skip) {
            drop_tail(handover); /* the message it made way for may still be in the making */
        } else {
            break;
        }
    }
    if (handover->used_bytes > 0) {
        *n_bytes = slot_at(handover, handover->tail)->n_bytes;
        message = handover->memory + handover->tail + SLOT_BYTES;
    }
    unlock(handover);
    return message;
}

void nj_handover_release(struct nj_handover *handover)
{
    lock(handover);
    drop_tail(handover);
    (void)pthread_cond_signal(&handover->has_room);
    unlock(handover);
}

void nj_handover_close(struct nj_handover *handover)
{
    lock(handover);
    handover->is_closed = true;
    (void)pthread_cond_signal(&handover->has_message);
    unlock(handover);
}

bool nj_handover_is_empty(struct nj_handover *handover)
{
    lock(handover);
    bool is_empty = handover->used_bytes == 0;
    unlock(handover);
    return is_empty;
}

void nj_handover_wait_until_empty(struct nj_handover *handover)
{
    lock(handover);
    while (handover->used_bytes > 0) {
        (void)pthread_cond_wait(&handover->has_room, &handover->lock);
    }
    unlock(handover);
}
