bactrian_component(runtime SOURCES
  runtime/batch.cc
  runtime/context.cc
  runtime/output.cc
  runtime/plan.cc
  runtime/pooling.cc
  runtime/reservation.cc
  DEPENDS model kv sample)
