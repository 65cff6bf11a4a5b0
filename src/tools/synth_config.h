/* The config.json of a made-up checkpoint, nested as released. */
#ifndef NJ_TOOLS_SYNTH_CONFIG_H
#define NJ_TOOLS_SYNTH_CONFIG_H

#include "base/json.h"
#include "model/dims.h"

void nj_synth_config_write(struct nj_json_writer *writer, const struct nj_dims *dims);

#endif
