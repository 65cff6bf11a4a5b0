# Compiler, warnings, sanitizers and third-party libraries: everything that holds for all targets.

option(NJ_WERROR "Warnings are errors" OFF)
option(NJ_BUILD_TESTS "Build the tests" ON)
set(NJ_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")
option(NJ_COVERAGE "Instrument for coverage" OFF)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -fno-omit-frame-pointer")

# What every target of ours is compiled with. Contraction stays off everywhere: a fused multiply-add
# exists only where it is written, or results would depend on the compiler.
add_library(nj_options INTERFACE)
target_compile_definitions(nj_options INTERFACE _GNU_SOURCE)
target_compile_options(nj_options INTERFACE
    -ffp-contract=off -fno-math-errno
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wcast-qual -Wformat=2 -Wundef -Wvla)
target_include_directories(nj_options INTERFACE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(NJ_WERROR)
    target_compile_options(nj_options INTERFACE -Werror)
endif()
if(NJ_SANITIZE)
    target_compile_options(nj_options INTERFACE
        -fsanitize=${NJ_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(nj_options INTERFACE -fsanitize=${NJ_SANITIZE})
endif()
if(NJ_COVERAGE)
    target_compile_options(nj_options INTERFACE --coverage)
    target_link_options(nj_options INTERFACE --coverage)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
