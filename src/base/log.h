/* Leveled lines into a sink that was given; the library never prints by itself. */
#ifndef NJ_BASE_LOG_H
#define NJ_BASE_LOG_H

enum nj_log_level { NJ_LOG_ERROR, NJ_LOG_WARNING, NJ_LOG_INFO, NJ_LOG_DEBUG };

/* A NULL sink drops everything. The line has no newline at its end. */
struct nj_log {
    void *context;
    enum nj_log_level level; /* lines above it are dropped */
    void (*sink)(void *context, enum nj_log_level level, const char *line);
};

/* `log` may be NULL. */
void nj_log_write(const struct nj_log *log, enum nj_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
