#include "tools/bench_model_report.h"

static double largest_share(const struct nj_bench_model_report *report,
                            enum nj_operation operation)
{
    double largest = 0.0;
    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        double share = nj_bench_phase_share(&report->phases[phase], operation);
        largest = share > largest ? share : largest;
    }
    return largest;
}

/* --- for a person ------------------------------------------------------------------------ */

static void print_rates(FILE *out, const struct nj_bench_model_report *report)
{
    (void)fprintf(out, "%-28s %10s %10s\n", "tokens/s", "median", "best");
    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        const struct nj_bench_phase *of = &report->phases[phase];
        char name[64];
        if (of->n_sequences == 0) {
            (void)snprintf(name, sizeof name, "prompt of %u tokens",
                           report->plan.n_prompt_tokens);
        } else {
            (void)snprintf(name, sizeof name, "decode, %u at once", of->n_sequences);
        }
        (void)fprintf(out, "%-28s %10.1f %10.1f\n", name, of->tokens_s.median,
                      of->tokens_s.best);
    }
}

static void print_operation(FILE *out, const struct nj_bench_model_report *report,
                            enum nj_operation operation)
{
    (void)fprintf(out, "%-28s", nj_operation_name(operation));
    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        (void)fprintf(out, " %7.1f",
                      100.0 * nj_bench_phase_share(&report->phases[phase], operation));
    }
    (void)fputc('\n', out);
}

/* Operations that are, or are not, main work; what took no time is left out. */
static void print_operations(FILE *out, const struct nj_bench_model_report *report,
                             bool of_main_work)
{
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        enum nj_operation operation = (enum nj_operation)i;
        if (nj_bench_is_main_work(operation) == of_main_work &&
            largest_share(report, operation) > 0.0) {
            print_operation(out, report, operation);
        }
    }
}

static void print_largest_other(FILE *out, const struct nj_bench_model_report *report)
{
    enum nj_operation largest = NJ_OPERATION_EMBEDDING;
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        enum nj_operation operation = (enum nj_operation)i;
        if (!nj_bench_is_main_work(operation) &&
            largest_share(report, operation) > largest_share(report, largest)) {
            largest = operation;
        }
    }
    (void)fprintf(out, "\nlargest besides products and delta step: %s, %.1f %%\n",
                  nj_operation_name(largest), 100.0 * largest_share(report, largest));
}

void nj_bench_model_print(FILE *out, const struct nj_bench_model_report *report,
                          const char *path, const char *processor)
{
    (void)fprintf(out,
                  "%s, %.1f MB of weights\nlevel %s on %s\n%u threads, median of %u "
                  "rounds, steps after %u positions\n\n",
                  path, (double)report->weight_bytes / 1e6, report->cpu_level, processor,
                  report->n_threads, report->plan.n_rounds, report->plan.n_earlier);
    print_rates(out, report);
    (void)fprintf(out, "\n%-28s %7s", "% of the time", "prompt");
    for (int phase = 1; phase < NJ_BENCH_PHASES; phase++) {
        (void)fprintf(out, " %7u", report->phases[phase].n_sequences);
    }
    (void)fputc('\n', out);
    print_operations(out, report, true);
    (void)fputc('\n', out);
    print_operations(out, report, false);
    print_largest_other(out, report);
}

/* --- JSON -------------------------------------------------------------------------------- */

static void write_phase(struct nj_json_writer *writer, const struct nj_bench_phase *phase)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "n_sequences"); /* 0: the prompt */
    nj_json_write_unsigned(writer, phase->n_sequences);
    nj_json_key(writer, "tokens_per_s");
    nj_json_write_number(writer, phase->tokens_s.median);
    nj_json_key(writer, "best_tokens_per_s");
    nj_json_write_number(writer, phase->tokens_s.best);
    nj_json_key(writer, "shares");
    nj_json_begin_object(writer);
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        enum nj_operation operation = (enum nj_operation)i;
        nj_json_key(writer, nj_operation_name(operation));
        nj_json_write_number(writer, nj_bench_phase_share(phase, operation));
    }
    nj_json_end_object(writer);
    nj_json_end_object(writer);
}

void nj_bench_model_write(struct nj_json_writer *writer,
                          const struct nj_bench_model_report *report, const char *path,
                          const char *processor)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "model");
    nj_json_write_string(writer, path);
    nj_json_key(writer, "weight_bytes");
    nj_json_write_unsigned(writer, report->weight_bytes);
    nj_json_key(writer, "cpu_level");
    nj_json_write_string(writer, report->cpu_level);
    nj_json_key(writer, "processor");
    nj_json_write_string(writer, processor);
    nj_json_key(writer, "n_threads");
    nj_json_write_unsigned(writer, report->n_threads);
    nj_json_key(writer, "n_rounds");
    nj_json_write_unsigned(writer, report->plan.n_rounds);
    nj_json_key(writer, "n_prompt_tokens");
    nj_json_write_unsigned(writer, report->plan.n_prompt_tokens);
    nj_json_key(writer, "n_earlier_positions");
    nj_json_write_unsigned(writer, report->plan.n_earlier);
    nj_json_key(writer, "phases");
    nj_json_begin_array(writer);
    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        write_phase(writer, &report->phases[phase]);
    }
    nj_json_end_array(writer);
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
}
