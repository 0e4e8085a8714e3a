# The imported target tfhe_sbc::tfhe_sbc, of an installation by `cargo xtask install-c`.
get_filename_component(_tfhe_sbc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tfhe_sbc::tfhe_sbc)
  add_library(tfhe_sbc::tfhe_sbc STATIC IMPORTED)
  set_target_properties(tfhe_sbc::tfhe_sbc PROPERTIES
    IMPORTED_LOCATION "${_tfhe_sbc_prefix}/lib/libtfhe_sbc.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_tfhe_sbc_prefix}/include")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # What Rust's standard library asks of the system.
    set_target_properties(tfhe_sbc::tfhe_sbc PROPERTIES
      INTERFACE_LINK_LIBRARIES "gcc_s;pthread;m;dl;c")
  endif()
endif()

unset(_tfhe_sbc_prefix)
