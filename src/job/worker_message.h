/* What the daemon and its worker say to each other, one pipe each way
 * (docs/formats/worker-pipe.md).
 *
 * The worker leads: at the end of each sweep it says what has become durable in its logs, the
 * daemon makes that durable in the queue and answers which items to begin and whether to go on.
 * So nothing that a person does in the daemon waits for a sweep, and no item runs that the
 * queue does not know of.
 *
 * Bytes to structs and back; framing is base/frame.
 */
#ifndef NJ_JOB_WORKER_MESSAGE_H
#define NJ_JOB_WORKER_MESSAGE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/frame.h"
#include "base/status.h"
#include "base/text.h"

enum { NJ_WORKER_PROTOCOL_VERSION = 1, NJ_WORKER_TEXT_LIMIT_BYTES = 64 * 1024 };

enum nj_worker_message_type {
    /* the worker says */
    NJ_WORKER_HELLO = 1, /* version, number: its process id. First of all */
    NJ_WORKER_READY = 2, /* number: places of its batch. The model is open */
    NJ_WORKER_DONE = 3,  /* job, item, sample, is_ok; text: why it failed. In the results log */
    NJ_WORKER_PROGRESS = 4, /* job, item: a token of it is in the token log */
    NJ_WORKER_SWEPT =
        5, /* number: ns of the sweep, 0 before the first. All of these before it are to be made
            * durable, then answered with takes and a NJ_WORKER_GO */
    NJ_WORKER_RESERVE = 6, /* number: bytes that it may write; answered with NJ_WORKER_ROOM */
    NJ_WORKER_EVENT = 7,   /* text: an event (docs/formats/events.md) of the job */
    NJ_WORKER_ALIVE = 8,   /* something was read or computed */
    NJ_WORKER_BYE = 9,     /* number: enum nj_status; text: why it ends */
    /* the daemon says */
    NJ_WORKER_WELCOME = 32, /* version */
    NJ_WORKER_TAKE = 33,    /* job, item: claimed, durably; it is to be begun */
    NJ_WORKER_GO = 34,      /* number: enum nj_worker_order */
    NJ_WORKER_ROOM = 35     /* number: bytes that there are; is_ok: enough */
};

enum nj_worker_order { NJ_WORKER_GO_ON = 0, NJ_WORKER_DRAIN = 1 };

/* Fields that a type does not use are zero, and not on the pipe. */
struct nj_worker_message {
    enum nj_worker_message_type type;
    uint32_t version;
    uint64_t job_id;
    uint64_t item_index;
    uint32_t sample;
    bool is_ok;
    uint64_t number;
    struct nj_text text; /* of a decoded message: valid as long as the frame's payload */
};

/* The frame of a message; its payload is written to `payload`, which must hold
 * NJ_FRAME_PAYLOAD_LIMIT_BYTES. A text beyond its limit is cut at a character. */
struct nj_frame nj_worker_message_encode(const struct nj_worker_message *message,
                                         uint8_t *payload);

/* NJ_E_INPUT for a type that is not known, for fields that are missing, too many or impossible,
 * and for text that is not UTF-8. */
enum nj_status nj_worker_message_decode(const struct nj_frame *frame,
                                        struct nj_worker_message *message,
                                        struct nj_error *err);

#endif
