# One static library per folder of src/, with its allowed dependencies (docs/ARCHITECTURE.md).
#
#   nj_layer(stream SOURCES memory.c USES base THIRD_PARTY PkgConfig::LIBURING)
#   nj_test(base.byte_budget SOURCE byte_budget_test.c USES base)
#
# tests/architecture checks the #includes against the same table.

set_property(GLOBAL PROPERTY NJ_LAYERS "")

function(nj_layer NAME)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;THIRD_PARTY" ${ARGN})
    add_library(nj_${NAME} STATIC ${ARG_SOURCES})
    target_link_libraries(nj_${NAME} PRIVATE nj_options)
    foreach(used ${ARG_USES})
        target_link_libraries(nj_${NAME} PUBLIC nj_${used})
    endforeach()
    target_link_libraries(nj_${NAME} PRIVATE ${ARG_THIRD_PARTY})
    set_property(GLOBAL APPEND PROPERTY NJ_LAYERS ${NAME})
endfunction()

# One test program, one ctest entry, its own process. Exit 77 is a skip with a printed reason.
function(nj_test NAME)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCE;USES;ARGS;LINK" ${ARGN})
    string(REPLACE "." "_" target "test_${NAME}")
    add_executable(${target} ${ARG_SOURCE})
    target_link_libraries(${target} PRIVATE nj_options nj_test_support ${ARG_LINK})
    foreach(used ${ARG_USES})
        target_link_libraries(${target} PRIVATE nj_${used})
    endforeach()
    add_test(NAME ${NAME} COMMAND ${target} ${ARG_ARGS}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    set_tests_properties(${NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()
