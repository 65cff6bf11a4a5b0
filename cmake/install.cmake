# The program, one library made of all layers up to the runner, its headers, a pkg-config file and
# the manual pages, in their usual places.

set(objects "")
foreach(layer base format quant kernels stream tokenizer model generate job runner)
    list(APPEND objects $<TARGET_OBJECTS:nj_${layer}>)
endforeach()
add_library(nightjar_archive STATIC ${objects})
set_target_properties(nightjar_archive PROPERTIES OUTPUT_NAME nightjar LINKER_LANGUAGE C)

configure_file(${PROJECT_SOURCE_DIR}/cmake/nightjar.pc.in ${PROJECT_BINARY_DIR}/nightjar.pc @ONLY)

install(TARGETS nightjar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS nightjar_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nightjar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/nightjar.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(section 1 5)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
