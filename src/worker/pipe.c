#include "worker/pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_BYTES = 4096 };

enum nj_status nj_pipe_open(struct nj_pipe *pipe, int from_daemon, int to_daemon,
                            struct nj_error *err)
{
    *pipe = (struct nj_pipe){.from_daemon = from_daemon, .to_daemon = to_daemon};
    pipe->payload = malloc(NJ_FRAME_PAYLOAD_LIMIT_BYTES);
    return pipe->payload == NULL
               ? nj_fail(err, NJ_E_MEMORY, "talk to the daemon: out of memory")
               : NJ_OK;
}

void nj_pipe_close(struct nj_pipe *pipe)
{
    nj_frame_reader_deinit(&pipe->reader);
    free(pipe->payload);
    pipe->payload = NULL;
}

static enum nj_status fail(const char *what, int error_number, struct nj_error *err)
{
    return error_number == EPIPE
               ? nj_fail(err, NJ_E_STOPPED, "%s the daemon: it is gone", what)
               : nj_fail(err, NJ_E_IO, "%s the daemon: %s", what, strerror(error_number));
}

/* What is left of two parts after so many bytes. */
static size_t leave_out(const struct iovec whole[2], size_t n_sent, struct iovec left[2])
{
    size_t n_first = n_sent < whole[0].iov_len ? n_sent : whole[0].iov_len;
    size_t n_second = n_sent - n_first;
    left[0] =
        (struct iovec){(uint8_t *)whole[0].iov_base + n_first, whole[0].iov_len - n_first};
    left[1] =
        (struct iovec){(uint8_t *)whole[1].iov_base + n_second, whole[1].iov_len - n_second};
    return left[0].iov_len + left[1].iov_len;
}

enum nj_status nj_pipe_send(struct nj_pipe *pipe, const struct nj_worker_message *message,
                            struct nj_error *err)
{
    uint8_t header[NJ_FRAME_HEADER_BYTES];
    struct iovec left[2];
    size_t n_sent = 0;
    struct nj_frame frame = nj_worker_message_encode(message, pipe->payload);
    nj_frame_write_header(&frame, header);
    const struct iovec whole[2] = {{header, sizeof header},
                                   {pipe->payload, frame.payload.length_bytes}};
    while (leave_out(whole, n_sent, left) > 0) {
        ssize_t written = writev(pipe->to_daemon, left, 2);
        if (written < 0 && errno != EINTR) {
            return fail("tell", errno, err);
        }
        n_sent += written < 0 ? 0 : (size_t)written;
    }
    return NJ_OK;
}

static enum nj_status read_more(struct nj_pipe *pipe, struct nj_error *err)
{
    uint8_t bytes[READ_BYTES];
    ssize_t length = read(pipe->from_daemon, bytes, sizeof bytes);
    if (length < 0) {
        return errno == EINTR ? NJ_OK : fail("hear", errno, err);
    }
    if (length == 0) {
        return fail("hear", EPIPE, err);
    }
    return nj_frame_reader_add(&pipe->reader, (struct nj_bytes){bytes, (size_t)length}, err);
}

enum nj_status nj_pipe_receive(struct nj_pipe *pipe, struct nj_worker_message *message,
                               struct nj_error *err)
{
    struct nj_frame frame;
    bool has_frame = false;
    enum nj_status status = nj_frame_reader_next(&pipe->reader, &frame, &has_frame, err);
    while (status == NJ_OK && !has_frame) {
        status = read_more(pipe, err);
        if (status == NJ_OK) {
            status = nj_frame_reader_next(&pipe->reader, &frame, &has_frame, err);
        }
    }
    return status == NJ_OK ? nj_worker_message_decode(&frame, message, err) : status;
}
