# SPDX-License-Identifier: Apache-2.0
#
# weir_embed_page(<target>)
#
# Builds the page in ui/ and gives it to the target: WEIR_HAS_PAGE, and embedded_page.bin and .inc to include.
# Needs node, npm and ui/node_modules (tools/install_page_deps.sh). Without them the target has no page, and all else is
# built as always. Which node counts is decided by PATH alone, as for a person who types it.
function(weir_embed_page target)
  # It alone is compiled anew when the page changes.
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/dashboard/embedded_page.cpp PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  set(ui ${CMAKE_SOURCE_DIR}/ui)
  foreach(program node npm)
    if(WEIR_${program} AND NOT EXISTS "${WEIR_${program}}")
      unset(WEIR_${program} CACHE)
    endif()
    find_program(WEIR_${program} ${program} NO_CMAKE_PATH NO_CMAKE_SYSTEM_PATH)
    mark_as_advanced(WEIR_${program})
  endforeach()
  # npm writes this file last. The glob makes the build look again when it appears.
  file(GLOB installed CONFIGURE_DEPENDS ${ui}/node_modules/.package-lock.json)
  if(NOT WEIR_node OR NOT WEIR_npm)
    message(STATUS "The page is left out: node and npm are not on PATH (tools/install_deps.sh page)")
    return()
  endif()
  execute_process(COMMAND ${WEIR_node} -p "process.versions.node" OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT version VERSION_GREATER_EQUAL 18)
    message(STATUS "The page is left out: node ${version} is too old, 18 or newer is needed")
    return()
  elseif(NOT installed)
    message(STATUS "The page is left out: ui/node_modules is not there (tools/install_page_deps.sh)")
    return()
  endif()

  # tools/build_page.sh looks at the same files.
  file(GLOB sources LIST_DIRECTORIES false CONFIGURE_DEPENDS ${ui}/*)
  file(GLOB_RECURSE more CONFIGURE_DEPENDS ${ui}/src/* ${ui}/public/* ${ui}/tools/*)
  list(FILTER more EXCLUDE REGEX "\\.generated\\.")
  set(folder ${CMAKE_BINARY_DIR}/generated/page)
  add_custom_command(
    OUTPUT ${folder}/embedded_page.bin ${folder}/embedded_page.inc
    COMMAND ${CMAKE_SOURCE_DIR}/tools/build_page.sh ${folder}
    DEPENDS ${sources} ${more} ${installed} ${CMAKE_SOURCE_DIR}/docs/openapi.yaml
            ${CMAKE_SOURCE_DIR}/docs/reference/job.schema.json ${CMAKE_SOURCE_DIR}/tools/build_page.sh
    COMMENT "Building the page" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/embedded_page.inc)
  target_include_directories(${target} PRIVATE ${folder})
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/dashboard/embedded_page.cpp
               PROPERTY OBJECT_DEPENDS ${folder}/embedded_page.bin ${folder}/embedded_page.inc)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/dashboard/embedded_page.cpp
               PROPERTY COMPILE_DEFINITIONS WEIR_HAS_PAGE "WEIR_PAGE_BYTES=\"${folder}/embedded_page.bin\"")
endfunction()
