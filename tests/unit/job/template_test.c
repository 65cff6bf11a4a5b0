#include "job/template.h"

#include "unit/job/reading.h"

struct fixture {
    struct nj_arena arena;
    struct nj_diagnostics diagnostics;
    struct nj_template compiled;
    struct nj_text rendered;
    const struct nj_template_part *unknown;
    enum nj_status status;
};

/* `a` is "1", `braces` is "{{a}}", `empty` is nothing. */
static bool find(void *context, struct nj_text name, struct nj_text *value)
{
    (void)context;
    static const char *const values[][2] = {
        {"a", "1"}, {"braces", "{{a}}"}, {"empty", ""}, {"two words", "2"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (nj_text_equals(name, values[i][0])) {
            *value = nj_text_from(values[i][1]);
            return true;
        }
    }
    return false;
}

static void open_fixture(struct fixture *fixture, const char *text)
{
    *fixture = (struct fixture){.unknown = NULL};
    nj_diagnostics_init(&fixture->diagnostics, &fixture->arena);
    struct nj_text span = nj_text_from(text);
    struct nj_text_origin origin = {span, 0, span.length_bytes, {"t", 1, 1}};
    struct nj_template_values values = {NULL, find};
    CHECK(nj_template_compile(span, &origin, &fixture->arena, &fixture->diagnostics,
                              &fixture->compiled));
    fixture->status = nj_template_render(&fixture->compiled, &values, &fixture->arena,
                                         &fixture->rendered, &fixture->unknown);
}

static void close_fixture(struct fixture *fixture)
{
    nj_diagnostics_deinit(&fixture->diagnostics);
    nj_arena_deinit(&fixture->arena);
}

static void check_rendered(const char *text, const char *wanted)
{
    struct fixture fixture;
    open_fixture(&fixture, text);
    CHECK_EQ(fixture.diagnostics.n_errors, 0);
    CHECK_EQ(fixture.status, NJ_OK);
    CHECK_TEXT(shown(fixture.rendered), wanted);
    close_fixture(&fixture);
}

static void values_are_inserted_once_and_verbatim(void)
{
    check_rendered("", "");
    check_rendered("plain", "plain");
    check_rendered("{{a}}", "1");
    check_rendered("x{{ a }}y{{\ta\n}}z{{empty}}", "x1y1z");
    check_rendered("{{braces}}{{a}}", "{{a}}1");
    check_rendered("{{two words}}", "2");
}

static void four_braces_give_two(void)
{
    check_rendered("{{{{a}}", "{{a}}");
    check_rendered("{{{{{{a}}}}", "{{1}}");
    check_rendered("a }} b } { c", "a }} b } { c");
    check_rendered("{{{{", "{{");
}

static void a_mistake_in_the_braces_has_its_place(void)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"ok\n {{a", "t:2:2: '{{' without '}}', write {{name}}, or {{{{ for literal braces"},
        {"{{a}} {{}}", "t:1:7: '{{' and '}}' without a name between them, write {{name}}, or "
                       "{{{{ for literal braces"},
        {"\xC3\xA9{{{a}}}", "t:1:2: '{{' and '}}' without a name between them, write {{name}}, "
                            "or {{{{ for literal braces"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture;
        char text[256] = "";
        open_fixture(&fixture, cases[i].text);
        CHECK_EQ(fixture.diagnostics.n_items, 1);
        if (fixture.diagnostics.n_items == 1) {
            (void)nj_diagnostic_format(&fixture.diagnostics.items[0], text, sizeof text);
        }
        CHECK_TEXT(text, cases[i].wanted);
        close_fixture(&fixture);
    }
}

static void an_unknown_name_is_handed_back_with_its_place(void)
{
    struct fixture fixture;
    open_fixture(&fixture, "{{{{ {{a}}\n{{a}} {{ b }}");
    CHECK_EQ(fixture.status, NJ_E_NOT_FOUND);
    REQUIRE(fixture.unknown != NULL);
    CHECK_TEXT(shown(fixture.unknown->text), "b");
    CHECK_EQ(fixture.unknown->place.line, 2);
    CHECK_EQ(fixture.unknown->place.column, 7);
    close_fixture(&fixture);
}

/* In double quotes an escape may spell a brace; the file's text then has fewer of them. */
static void braces_behind_an_escape_have_the_place_of_the_value(void)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_template compiled;
    nj_diagnostics_init(&diagnostics, &arena);
    struct nj_text source = nj_text_from("p: \"\\x7b{a}}\"");
    struct nj_text_origin origin = {source, 3, source.length_bytes, {"t", 1, 4}};

    CHECK(nj_template_compile(nj_text_from("{{a}}"), &origin, &arena, &diagnostics, &compiled));

    CHECK_EQ(compiled.n_parts, 1);
    CHECK_EQ(compiled.parts[0].place.column, 4);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

int main(void)
{
    RUN(values_are_inserted_once_and_verbatim);
    RUN(four_braces_give_two);
    RUN(a_mistake_in_the_braces_has_its_place);
    RUN(an_unknown_name_is_handed_back_with_its_place);
    RUN(braces_behind_an_escape_have_the_place_of_the_value);
    return test_result();
}
