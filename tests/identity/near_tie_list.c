#include "identity/near_tie_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity/subject.h"

/* The ids behind the colon; false when one is not a number or there are too many. */
static bool read_ids(struct near_tie *tie, char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        char *end = NULL;
        long id = strtol(word, &end, 10);
        if (*end != '\0' || id < 0 || tie->n_ids == NEAR_TIE_MOST_IDS) {
            return false;
        }
        tie->ids[tie->n_ids++] = (nj_token)id;
    }
    return tie->n_ids > 0;
}

static bool read_line(struct near_tie *tie, char *line)
{
    char *at = line;
    tie->best = (nj_token)strtol(at, &at, 10);
    tie->reordered = (nj_token)strtol(at, &at, 10);
    tie->gap = strtod(at, &at);
    tie->n_ids = 0;
    return strncmp(at, " : ", 3) == 0 && read_ids(tie, at + 3);
}

void near_tie_list_read(struct near_tie_list *list, const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        subject_die(path, "cannot be opened");
    }
    list->n = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        if (list->n == NEAR_TIE_LIST_LIMIT || !read_line(&list->ties[list->n], line)) {
            subject_die(path, "a line is no near tie, or there are too many");
        }
        list->n += 1;
    }
    (void)fclose(file); /* only read from */
}

void near_tie_print(const struct near_tie *tie)
{
    (void)printf("%d %d %.9g :", tie->best, tie->reordered, tie->gap);
    for (uint32_t i = 0; i < tie->n_ids; i++) {
        (void)printf(" %d", tie->ids[i]);
    }
    (void)printf("\n");
}
