/* The sizes of a made-up checkpoint: a known set of widths, what the caller wants otherwise,
 * and as many experts or layers as a number of bytes holds.
 */
#ifndef NJ_TOOLS_SYNTH_DIMS_H
#define NJ_TOOLS_SYNTH_DIMS_H

#include "base/status.h"
#include "model/dims.h"
#include "tools/synth.h"

/* Fills `*dims`. The text of config.json made of it is read back before anything is written,
 * so what cannot be a model is found there. NJ_E_USAGE: a base that is not known, or a number
 * of bytes that no model of these widths has. */
enum nj_status nj_synth_dims_choose(const struct nj_synth_options *options,
                                    struct nj_dims *dims, struct nj_error *err);

#endif
