/* Where no chance is in several answers, one warning says that they are equal. */
#include "unit/job/reading.h"

#define JOB  "nightjar: 1\nprompt: x\n"
#define COLD "sampling: {temperature: 0}\n"

static void several_answers_without_chance_are_a_warning(void)
{
    CHECK_COMPLAINTS(JOB "sampling: {temperature: 0, n: 2}\n",
                     "job.yaml:3:31: warning: with temperature 0 the answers of 'n' are equal, "
                     "set a temperature above 0, or one answer is enough");
    CHECK_COMPLAINTS(JOB COLD "repeat: 2\n",
                     "job.yaml:4:9: warning: with temperature 0 the answers of 'repeat' are "
                     "equal, set a temperature above 0, or one answer is enough");
}

static void it_is_told_once_whatever_the_prompts(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompts: [x, y]\n" COLD "repeat: 3\n",
                     "job.yaml:4:9: warning: with temperature 0 the answers of 'repeat' are "
                     "equal, set a temperature above 0, or one answer is enough");
    CHECK_COMPLAINTS(
        "nightjar: 1\nprompts:\n  - x\n  - {prompt: y, sampling: {temperature: 0, n: 2}}\n",
        "job.yaml:4:5: warning: with temperature 0 the answers of 'n' are equal, set a "
        "temperature above 0, or one answer is enough");
}

static void a_column_may_bring_chance(void)
{
    CHECK_COMPLAINTS(JOB COLD "repeat: 2\nrows: [{a: 1}]\n",
                     "job.yaml:4:9: warning: with temperature 0 the answers of 'repeat' are "
                     "equal, unless a column sets sampling.temperature");
}

static void answers_that_may_differ_are_none(void)
{
    CHECK_COMPLAINTS(JOB COLD, "");
    CHECK_COMPLAINTS(JOB "repeat: 2\nsampling: {n: 2}\n", "");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"number {{_index}}\"\n" COLD "repeat: 2\n", "");
    CHECK_COMPLAINTS(
        "nightjar: 1\nmessages: [{role: user, content: \"{{_id}}\"}]\n" COLD "repeat: 2\n", "");
    CHECK_COMPLAINTS(JOB COLD "repeat: 2\nmatrix: {sampling.temperature: [0, 1]}\n", "");
}

int main(void)
{
    RUN(several_answers_without_chance_are_a_warning);
    RUN(it_is_told_once_whatever_the_prompts);
    RUN(a_column_may_bring_chance);
    RUN(answers_that_may_differ_are_none);
    return test_result();
}
