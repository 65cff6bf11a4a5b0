#include "runner/journal.h"

static void write_turn(struct nj_byte_writer *writer, const struct nj_journal_entry *entry)
{
    nj_write_u64(writer, (uint64_t)entry->unix_ms);
    nj_write_u64(writer, entry->n_items_done);
    nj_write_u64(writer, entry->n_items_under_way);
    nj_write_u64(writer, entry->n_tokens_restored);
    nj_write_u64(writer, entry->run_ms);
    nj_write_u64(writer, entry->n_tokens_generated);
    nj_write_u64(writer, entry->n_tokens_fed_again);
}

static void read_turn(struct nj_byte_reader *reader, struct nj_journal_entry *entry)
{
    entry->unix_ms = (int64_t)nj_read_u64(reader);
    entry->n_items_done = nj_read_u64(reader);
    entry->n_items_under_way = nj_read_u64(reader);
    entry->n_tokens_restored = nj_read_u64(reader);
    if (reader->offset < reader->span.length_bytes) { /* older records end here */
        entry->run_ms = nj_read_u64(reader);
        entry->n_tokens_generated = nj_read_u64(reader);
        entry->n_tokens_fed_again = nj_read_u64(reader);
    }
}

static void write_restored(struct nj_byte_writer *writer, const struct nj_journal_entry *entry)
{
    nj_write_u64(writer, entry->item_index);
    nj_write_u32(writer, entry->sample);
    nj_write_u32(writer, entry->n_put_aside);
    nj_write_u64(writer, entry->n_tokens_restored);
    nj_write_u64(writer, entry->n_from_snapshot);
    nj_write_u64(writer, entry->n_tokens_fed_again);
    nj_write_u64(writer, entry->n_snapshot_bytes);
    nj_write_u64(writer, entry->restore_us);
}

static void read_restored(struct nj_byte_reader *reader, struct nj_journal_entry *entry)
{
    entry->item_index = nj_read_u64(reader);
    entry->sample = nj_read_u32(reader);
    entry->n_put_aside = nj_read_u32(reader);
    entry->n_tokens_restored = nj_read_u64(reader);
    entry->n_from_snapshot = nj_read_u64(reader);
    entry->n_tokens_fed_again = nj_read_u64(reader);
    entry->n_snapshot_bytes = nj_read_u64(reader);
    entry->restore_us = nj_read_u64(reader);
}

enum nj_status nj_journal_append(struct nj_log_file *journal,
                                 const struct nj_journal_entry *entry, struct nj_error *err)
{
    if (entry->type == NJ_JOURNAL_IDENTITY) {
        return nj_run_identity_append(journal, NJ_JOURNAL_IDENTITY, &entry->identity, err);
    }
    uint8_t payload[NJ_JOURNAL_ENTRY_LIMIT_BYTES];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, sizeof payload);
    switch (entry->type) {
    case NJ_JOURNAL_IDENTITY:
        break;
    case NJ_JOURNAL_CLAIMED:
    case NJ_JOURNAL_DONE:
        nj_write_u64(&writer, entry->item_index);
        nj_write_u32(&writer, entry->sample);
        nj_write_u32(&writer, entry->is_ok ? 1 : 0);
        break;
    case NJ_JOURNAL_SNAPSHOT:
        nj_write_u64(&writer, entry->item_index);
        nj_write_u32(&writer, entry->sample);
        nj_write_u32(&writer, 0);
        nj_write_u64(&writer, entry->segment_number);
        break;
    case NJ_JOURNAL_RESTORED:
        write_restored(&writer, entry);
        break;
    case NJ_JOURNAL_SLOTS:
        nj_write_u64(&writer, entry->commit_number);
        nj_write_u64(&writer, entry->sweep);
        nj_write_u64(&writer, entry->n_items_under_way);
        break;
    case NJ_JOURNAL_STARTED:
    case NJ_JOURNAL_STOPPED:
    case NJ_JOURNAL_FINISHED:
    case NJ_JOURNAL_PAUSED:
    case NJ_JOURNAL_ALIVE:
        write_turn(&writer, entry);
        break;
    }
    struct nj_bytes bytes = {.data = payload, .length_bytes = writer.offset};
    return nj_log_file_append(journal, entry->type, bytes, NULL, err);
}

enum nj_status nj_journal_decode(const struct nj_record *record, struct nj_journal_entry *entry,
                                 bool *is_known, struct nj_error *err)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    *entry = (struct nj_journal_entry){.type = (enum nj_journal_type)record->type};
    *is_known = true;
    switch (entry->type) {
    case NJ_JOURNAL_IDENTITY:
        return nj_run_identity_decode(record, &entry->identity, err);
    case NJ_JOURNAL_CLAIMED:
    case NJ_JOURNAL_DONE:
        entry->item_index = nj_read_u64(&reader);
        entry->sample = nj_read_u32(&reader);
        entry->is_ok = nj_read_u32(&reader) == 1;
        break;
    case NJ_JOURNAL_SNAPSHOT:
        entry->item_index = nj_read_u64(&reader);
        entry->sample = nj_read_u32(&reader);
        (void)nj_read_u32(&reader); /* reserved */
        entry->segment_number = nj_read_u64(&reader);
        break;
    case NJ_JOURNAL_RESTORED:
        read_restored(&reader, entry);
        break;
    case NJ_JOURNAL_SLOTS:
        entry->commit_number = nj_read_u64(&reader);
        entry->sweep = nj_read_u64(&reader);
        entry->n_items_under_way = nj_read_u64(&reader);
        break;
    case NJ_JOURNAL_STARTED:
    case NJ_JOURNAL_STOPPED:
    case NJ_JOURNAL_FINISHED:
    case NJ_JOURNAL_PAUSED:
    case NJ_JOURNAL_ALIVE:
        read_turn(&reader, entry);
        break;
    default:
        *is_known = false;
    }
    if (reader.failed) {
        return nj_fail(
            err, NJ_E_STATE, "journal.log, record %llu at %llu: verifies, but is too short",
            (unsigned long long)record->sequence, (unsigned long long)record->offset_bytes);
    }
    return NJ_OK;
}
