bactrian_component(base SOURCES
  base/cpu_features.cc
  base/cpu_info.cc
  base/dtype.cc
  base/error.cc
  base/mapped_file.cc
  base/printable.cc
  base/thread_pool.cc)
target_link_libraries(bactrian_base PUBLIC Threads::Threads)
