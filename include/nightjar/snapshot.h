/* Looks into the states that a run keeps of its items, and carries a run to another machine.
 *
 * A run folder (nightjar/run.h) holds, for each item under way, the last states of its
 * generation: segments, in items/INDEX (docs/formats/snapshot.md). Losing one costs time and
 * never text, so nothing here is needed to run or to resume; it tells what a resume would find.
 *
 * Listing, showing and verifying change nothing and take no lock: in a folder in which a run
 * works, a segment may go while it is looked at, and then is not told. Exporting and importing
 * need the folder for themselves.
 *
 * Threads: each call uses its arguments only.
 */
#ifndef NIGHTJAR_SNAPSHOT_H
#define NIGHTJAR_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nightjar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    NJ_SNAPSHOT_FILE_BYTES = 96,
    NJ_SNAPSHOT_TEXT_BYTES = 240,
    NJ_SNAPSHOT_HEX_BYTES = 65,
    NJ_SNAPSHOT_NAME_BYTES = 24
};

/* What a segment is to its item. */
enum nj_snapshot_use {
    NJ_SNAPSHOT_CURRENT,  /* the newest that can be restored: a resume takes it */
    NJ_SNAPSHOT_PREVIOUS, /* the one before it: taken if the current one fails */
    NJ_SNAPSHOT_CHAINED,  /* holds older positions of one of these two */
    NJ_SNAPSHOT_SPARE,    /* needed by none of them; the next snapshot removes it */
    NJ_SNAPSHOT_UNUSABLE  /* it, or what it needs, is torn, damaged or missing */
};

/* "current", "previous", "chained", "spare", "unusable". Never NULL. */
const char *nj_snapshot_use_name(enum nj_snapshot_use use);

/* One segment. All values; 0 where an unusable one does not tell. */
struct nj_snapshot_info {
    char file[NJ_SNAPSHOT_FILE_BYTES]; /* below the run folder */
    enum nj_snapshot_use use;
    char complaint[NJ_SNAPSHOT_TEXT_BYTES]; /* of an unusable one: why; else empty */
    uint64_t item_index;
    uint32_t sample;
    uint64_t generation;  /* the segment's number: grows with each snapshot of the item */
    uint64_t previous;    /* generation that holds the older positions; 0: this is a base */
    bool is_in_journal;   /* the journal says that it is the item's current one */
    uint32_t n_positions; /* that the state has read */
    uint32_t
        first_position; /* of the latent cache in this segment; the older ones are before */
    uint32_t n_tokens;  /* ids of prompt and output that it holds */
    uint32_t n_prompt_tokens;
    uint64_t file_bytes;
    uint64_t raw_bytes;      /* of what it holds, before it was packed */
    uint64_t stored_bytes;   /* of the same, as stored */
    int64_t written_unix_ms; /* 0: not known */
};

/* Pointers are valid during the call. A status ends the listing, which returns it. */
typedef enum nj_status nj_snapshot_visit(void *context, const struct nj_snapshot_info *info,
                                         struct nj_error *err);

/* Visits every segment of every item, by item and generation. NJ_E_NOT_FOUND no such folder;
 * NJ_E_STATE it is no run folder, or one of a newer nightjar; NJ_E_PERMISSION, NJ_E_IO,
 * NJ_E_STORAGE, NJ_E_MEMORY, or what `visit` returned. */
enum nj_status nj_snapshot_list(const char *run_folder, nj_snapshot_visit *visit, void *context,
                                struct nj_error *err);

/* All records of one kind and layer in a segment. */
struct nj_snapshot_section {
    const char *name; /* "RECURRENT", "KV" ...: docs/formats/snapshot.md */
    bool has_layer;
    uint32_t layer;
    uint32_t n_records;
    uint32_t n_packed; /* of these, as byte planes through zlib; the others are raw */
    uint64_t raw_bytes;
    uint64_t stored_bytes;
};

/* Everything that a segment says of itself. */
struct nj_snapshot_details {
    struct nj_snapshot_info info;
    uint32_t format_version;
    /* What must be the same for it to be of use. */
    char weights[NJ_SNAPSHOT_HEX_BYTES];
    char chat_template[NJ_SNAPSHOT_HEX_BYTES]; /* empty: none */
    char item_digest[NJ_SNAPSHOT_HEX_BYTES];
    uint32_t numerics_version;
    float latent_norm_eps;
    uint32_t n_layers;
    uint32_t n_recurrent_layers;
    uint32_t position_values; /* of a latent layer */
    uint64_t layer_values;    /* of a recurrent layer */
    /* Where drawing and text stand. */
    uint64_t seed;
    char part[NJ_SNAPSHOT_NAME_BYTES]; /* "structure", "reasoning", "response" */
    uint64_t n_reasoning_tokens;
    uint32_t n_tag_tokens;    /* of a chat tag that is being read */
    uint32_t n_pending_bytes; /* of a character that is not complete */
    uint64_t n_held_bytes;    /* that a stop string may begin with */
    uint64_t response_bytes;
    uint64_t reasoning_bytes;
    char output_sha256[NJ_SNAPSHOT_HEX_BYTES];
    const struct nj_snapshot_section *sections; /* in file order */
    size_t n_sections;
};

/* Which segment. */
struct nj_snapshot_choice {
    uint64_t item_index; /* of a run folder */
    uint64_t generation; /* 0: the current one, or the newest when none can be restored */
};

typedef enum nj_status nj_snapshot_details_visit(void *context,
                                                 const struct nj_snapshot_details *details,
                                                 struct nj_error *err);

/* Visits one segment: `path` is its file, and then `choice` may be NULL, or a run folder.
 * NJ_E_NOT_FOUND also when the item has no such segment; otherwise as nj_snapshot_list. */
enum nj_status nj_snapshot_show(const char *path, const struct nj_snapshot_choice *choice,
                                nj_snapshot_details_visit *visit, void *context,
                                struct nj_error *err);

/* Something that is not as it should be. */
struct nj_snapshot_finding {
    const char *file; /* below the run folder */
    bool has_place;
    uint64_t record; /* of the file, from 0 */
    uint64_t offset_bytes;
    const char *text;
};

typedef enum nj_status nj_snapshot_finding_visit(void *context,
                                                 const struct nj_snapshot_finding *finding,
                                                 struct nj_error *err);

struct nj_snapshot_verification {
    uint64_t n_files;
    uint64_t n_records;
    uint64_t n_bytes;
    uint64_t n_restorable; /* states that a resume could use */
    uint64_t n_findings;
};

/* Verifies the segments of a run folder, one segment's file with its chain, or an export: every
 * checksum and chain value, the digest of each commit, that records fill their layers, that
 * packed ones unpack, that ids are those of the token log and headers those of the journal.
 * With `model_path` (may be NULL) also that weights and layers are that model's. NJ_OK also
 * with findings; else as nj_snapshot_list, NJ_E_WEIGHTS for the model. */
enum nj_status nj_snapshot_verify(const char *path, const char *model_path,
                                  nj_snapshot_finding_visit *visit, void *context,
                                  struct nj_snapshot_verification *verification,
                                  struct nj_error *err);

/* Zero means the default everywhere; folder and file are required. */
struct nj_snapshot_export_options {
    const char *run_folder;
    const char *file; /* written whole or not at all; replaced if it is there */
    bool has_item;    /* states of one item only; the logs go whole in any case */
    uint64_t item_index;
};

/* Of an export or an import. */
struct nj_snapshot_carried {
    uint64_t n_files;
    uint64_t n_bytes;
    uint64_t n_segments;
    char job_file[4096]; /* an import's: the job file in the new folder */
    char flags[8192];    /* and the flags of `nightjar run` that belong to the job, quoted for a
                            shell; empty: none */
};

/* Writes one file with everything that another machine needs to go on, but the model: job and
 * inputs, logs, and of each item under way the current state and the one before it.
 * NJ_E_STATE a run works in the folder, its inputs changed since, or it was begun by an older
 * nightjar that did not note its job file; NJ_E_UNSUPPORTED a job whose inputs have absolute
 * paths, or a file of several jobs; NJ_E_NOT_FOUND the folder, an input, or no state of the
 * item; NJ_E_STORAGE; else as nj_snapshot_list. */
enum nj_status nj_snapshot_export(const struct nj_snapshot_export_options *options,
                                  struct nj_snapshot_carried *carried, struct nj_error *err);

/* Makes `run_folder` (absent, or empty) from such a file, whole or not at all. Everything in
 * the file is verified before the first byte is written. NJ_E_STATE the folder holds files, or
 * the file is damaged, cut off, of a newer version or no export; NJ_E_NOT_FOUND, NJ_E_STORAGE,
 * NJ_E_PERMISSION, NJ_E_IO, NJ_E_MEMORY. */
enum nj_status nj_snapshot_import(const char *file, const char *run_folder,
                                  struct nj_snapshot_carried *carried, struct nj_error *err);

#ifdef __cplusplus
}
#endif

#endif
