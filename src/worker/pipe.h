/* The worker's two ends: messages to the daemon and from it (docs/formats/worker-pipe.md).
 *
 * Threads: the engine thread.
 */
#ifndef NJ_WORKER_PIPE_H
#define NJ_WORKER_PIPE_H

#include "base/frame.h"
#include "base/status.h"
#include "job/worker_message.h"

/* Zeroed descriptors are stdin's; open it with nj_pipe_open. */
struct nj_pipe {
    int from_daemon;
    int to_daemon;
    struct nj_frame_reader reader;
    uint8_t *payload; /* NJ_FRAME_PAYLOAD_LIMIT_BYTES, of the message being sent */
};

/* The descriptors stay the caller's. SIGPIPE must be ignored. */
enum nj_status nj_pipe_open(struct nj_pipe *pipe, int from_daemon, int to_daemon,
                            struct nj_error *err);
void nj_pipe_close(struct nj_pipe *pipe);

/* NJ_E_STOPPED when the daemon is gone. */
enum nj_status nj_pipe_send(struct nj_pipe *pipe, const struct nj_worker_message *message,
                            struct nj_error *err);

/* Waits for the next message, whose text is valid until the next call. NJ_E_STOPPED when the
 * daemon is gone, NJ_E_INPUT for what is no message. */
enum nj_status nj_pipe_receive(struct nj_pipe *pipe, struct nj_worker_message *message,
                               struct nj_error *err);

#endif
