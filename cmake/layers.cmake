# SPDX-License-Identifier: Apache-2.0
#
# weir_layer(<name> [USES <layer>...] [LINK <library>...])
#
# One folder of src/ becomes one static library `weir_<name>`. USES is the allow-list of DESIGN section 2:
# a layer sees the headers of the layers named there (and of what they use) and of no other, because each layer has
# an include directory of its own. Headers stay beside their sources; the include directory is a link
# named after the layer, so code says `#include "domain/units.h"` and a layer that may not use domain
# does not compile.
#
# Tests sit beside the code: `*_test.cpp` make the program <name>_test, `*_data_test.cpp` make
# <name>_data_test, which needs the public data sets and has the ctest label `data`. Test helpers
# (`*_testing.h`) are headers like any other. `main.cpp` and `*_main.cpp` belong to programs, not to the library.
function(weir_layer name)
  cmake_parse_arguments(layer "" "" "USES;LINK" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  set(include_dir ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${include_dir})
  file(CREATE_LINK ${folder} ${include_dir}/${name} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB_RECURSE headers RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.h)
  set(data_tests ${sources})
  list(FILTER data_tests INCLUDE REGEX "_data_test\\.cpp$")
  set(unit_tests ${sources})
  list(FILTER unit_tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER unit_tests EXCLUDE REGEX "_data_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main|_main)\\.cpp$")
  list(FILTER headers EXCLUDE REGEX "_testing\\.h$")
  list(TRANSFORM headers PREPEND ${include_dir}/${name}/)
  list(TRANSFORM layer_USES PREPEND weir_)

  add_library(weir_${name} STATIC ${sources})
  target_sources(weir_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${include_dir} FILES ${headers})
  target_link_libraries(weir_${name} PUBLIC ${layer_USES} ${layer_LINK} PRIVATE weir_warnings)
  set_target_properties(weir_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON LINKER_LANGUAGE CXX)

  set(part core)
  if(name MATCHES "^(predict|plan|simulate|report|observe|network)$")
    set(part rest)
  endif()
  if(BUILD_TESTING AND unit_tests AND WEIR_TESTS MATCHES "all|${part}")
    weir_test_program(${name}_test LAYER ${name} SOURCES ${unit_tests})
  endif()
  if(BUILD_TESTING AND data_tests AND WEIR_TESTS MATCHES "all|rest")
    weir_test_program(${name}_data_test LAYER ${name} SOURCES ${data_tests} LABEL data)
  endif()
endfunction()

# weir_test_program(<program> LAYER <layer> SOURCES <file>... [LABEL <label>])
# The ctest label is the layer's name unless another is given. (One only: gtest_discover_tests takes lists apart.)
function(weir_test_program program)
  cmake_parse_arguments(test "" "LAYER;LABEL" "SOURCES" ${ARGN})
  if(NOT test_LABEL)
    set(test_LABEL ${test_LAYER})
  endif()
  add_executable(${program} ${test_SOURCES})
  target_link_libraries(${program} PRIVATE weir_${test_LAYER} weir_warnings GTest::gmock_main rapidcheck_gtest)
  # What is tested is optimised; the tests themselves need not be, and compile a third faster.
  target_compile_options(${program} PRIVATE $<IF:$<CONFIG:Release>,-O1,-O0>)
  gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${test_LABEL} TIMEOUT 600)
endfunction()

# weir_embed_text(<layer> <file> <header> <name>)
# The text of src/LAYER/FILE becomes a constant of weir::LAYER, which includes it as "LAYER/HEADER".
function(weir_embed_text layer file header name)
  set(file src/${layer}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
  file(READ ${CMAKE_SOURCE_DIR}/${file} text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${layer}/${header} @ONLY CONTENT
"// Made from ${file} when the build is configured.
#pragma once
#include <string_view>
namespace weir::@layer@ {
inline constexpr std::string_view @name@ = R\"text(@text@)text\";
}
")
  target_include_directories(weir_${layer} PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()
