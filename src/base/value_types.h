/* The value types that weights come in, and the bytes they take. */
#ifndef NJ_BASE_VALUE_TYPES_H
#define NJ_BASE_VALUE_TYPES_H

#include <stdint.h>

/* A token id. Vocabularies have fewer than 2^31 entries. */
typedef int32_t nj_token;

enum nj_value_type {
    NJ_VALUE_F32,
    NJ_VALUE_BF16,
    NJ_VALUE_U8,   /* raw bytes: packed nibbles, E8M0 scales */
    NJ_VALUE_OTHER /* a type that safetensors knows and the engine does not compute with */
};

/* Bytes of one value of the three computed types; 0 for NJ_VALUE_OTHER. */
static inline uint32_t nj_value_bytes(enum nj_value_type type)
{
    switch (type) {
    case NJ_VALUE_F32:
        return 4;
    case NJ_VALUE_BF16:
        return 2;
    case NJ_VALUE_U8:
        return 1;
    case NJ_VALUE_OTHER:
        break;
    }
    return 0;
}

#endif
