/* Is a CPU level one that this machine has? For command lines, which are refused before any
 * work. */
#ifndef NJ_TOOLS_CPU_LEVEL_H
#define NJ_TOOLS_CPU_LEVEL_H

#include "base/status.h"

/* NULL is the default. NJ_E_USAGE a word that is no level, NJ_E_UNSUPPORTED a level that the
 * processor or the system lacks. */
enum nj_status nj_cpu_level_check(const char *name, struct nj_error *err);

#endif
