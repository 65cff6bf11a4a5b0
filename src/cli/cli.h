/* The command line: picks a verb, prints for people, turns statuses into exit codes.
 *
 * Data goes to stdout, everything else to stderr.
 */
#ifndef NJ_CLI_CLI_H
#define NJ_CLI_CLI_H

/* Returns the program's exit code. */
int nj_cli_main(int argc, char **argv);

/* One verb's arguments, without the program and the verb. */
int nj_cli_run(int argc, char **argv);
int nj_cli_validate(int argc, char **argv);
int nj_cli_describe(int argc, char **argv);
int nj_cli_bench(int argc, char **argv);
int nj_cli_bench_sweep(int argc, char **argv); /* of the word behind bench, and so below */
int nj_cli_bench_snapshot(int argc, char **argv);
int nj_cli_synth(int argc, char **argv);
int nj_cli_snapshot(int argc, char **argv);

#endif
