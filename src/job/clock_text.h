/* Times of the day taken off the front of a text: what moments and windows are made of.
 *
 * Each call returns false when the text does not begin so; what it has taken by then is lost.
 */
#ifndef NJ_JOB_CLOCK_TEXT_H
#define NJ_JOB_CLOCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Exactly so many digits. */
bool nj_take_digits(struct nj_text *rest, size_t n_digits, unsigned *value);

/* One of these characters. */
bool nj_take_character(struct nj_text *rest, const char *allowed);

/* All of the word; else nothing is taken. */
bool nj_take_word(struct nj_text *rest, const char *word);

/* HH:MM up to 24:00, as the end of a window. */
bool nj_take_end_of_day(struct nj_text *rest, unsigned *minute_of_day);

/* HH:MM up to 23:59. */
bool nj_take_time_of_day(struct nj_text *rest, unsigned *minute_of_day);

#endif
