bactrian_component(kv SOURCES
  kv/page_pool.cc
  kv/paged_cache.cc
  DEPENDS base)
