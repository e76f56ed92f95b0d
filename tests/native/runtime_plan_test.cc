#include <numeric>

#include "base/error.h"
#include "check.h"
#include "runtime/plan.h"
#include "runtime/pooling.h"

namespace bactrian {
namespace {

std::vector<int32_t> iota(int32_t first, int n) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return values;
}

int32_t empty(int32_t) { return 0; }

TEST(batch_is_of_one_kind) {
  Batch tokens = Batch::for_tokens();
  Batch inputs = Batch::for_embeddings(Pooling::mean);
  CHECK_ERROR(tokens.add_input(iota(0, 3)), ErrorCode::invalid_argument, "add_tokens");
  CHECK_ERROR(inputs.add_tokens(0, iota(0, 3), LogitsRows::last), ErrorCode::invalid_argument,
              "add_input");
  CHECK_ERROR(tokens.add_tokens(0, {}, LogitsRows::last), ErrorCode::invalid_argument, "empty");
  CHECK_ERROR(inputs.add_input({}), ErrorCode::invalid_argument, "empty");
  CHECK_ERROR(tokens.add_tokens(-1, iota(0, 3), LogitsRows::last), ErrorCode::invalid_argument,
              "sequence is -1");
  CHECK_EQ(tokens.n_outputs() + inputs.n_outputs(), 0);
  CHECK(tokens.runs().empty());
}

TEST(batch_counts_its_outputs) {
  Batch batch = Batch::for_tokens();
  batch.add_tokens(0, iota(0, 5), LogitsRows::none);
  batch.add_tokens(1, iota(0, 5), LogitsRows::last);
  batch.add_tokens(2, iota(0, 5), LogitsRows::all);
  CHECK_EQ(batch.n_outputs(), 6);
}

TEST(plan_cuts_anywhere_and_keeps_positions) {
  Batch batch = Batch::for_tokens();
  batch.add_tokens(7, iota(100, 5), LogitsRows::last);
  batch.add_tokens(3, iota(200, 4), LogitsRows::all);
  const auto plan = plan_tokens(batch, 3, [](int32_t sequence) { return sequence == 7 ? 10 : 0; });
  CHECK_EQ(plan.size(), size_t{3});

  CHECK(plan[0].step.tokens == iota(100, 3));
  CHECK(plan[0].step.positions == iota(10, 3));
  CHECK(plan[0].sequences == std::vector<int32_t>{7});
  CHECK(plan[0].wanted_rows.empty());

  CHECK((plan[1].step.tokens == std::vector<int32_t>{103, 104, 200}));
  CHECK((plan[1].step.positions == std::vector<int32_t>{13, 14, 0}));
  CHECK((plan[1].sequences == std::vector<int32_t>{7, 3}));
  CHECK((plan[1].wanted_rows == std::vector<int32_t>{1, 2}));
  CHECK_EQ(plan[1].step.spans[1].row_begin, 2);
  CHECK_EQ(plan[1].step.spans[1].n_rows, 1);
  CHECK_EQ(plan[1].step.spans[0].position_begin, 13);

  CHECK(plan[2].step.positions == iota(1, 3));
  CHECK((plan[2].wanted_rows == std::vector<int32_t>{0, 1, 2}));
}

TEST(plan_continues_a_sequence_added_twice) {
  Batch batch = Batch::for_tokens();
  batch.add_tokens(0, iota(10, 2), LogitsRows::last);
  batch.add_tokens(1, iota(20, 1), LogitsRows::none);
  batch.add_tokens(0, iota(12, 2), LogitsRows::last);
  const auto plan = plan_tokens(batch, 512, empty);
  CHECK_EQ(plan.size(), size_t{1});
  CHECK((plan[0].step.positions == std::vector<int32_t>{0, 1, 0, 2, 3}));
  CHECK((plan[0].wanted_rows == std::vector<int32_t>{1, 4}));
  CHECK_EQ(plan[0].step.spans.size(), size_t{3});
}

TEST(plan_packs_whole_inputs) {
  Batch batch = Batch::for_embeddings(Pooling::last);
  for (const int n : {3, 2, 4, 9, 1}) batch.add_input(iota(0, n));
  const auto plan = plan_inputs(batch, 5);
  CHECK_EQ(plan.size(), size_t{4});
  CHECK_EQ(plan[0].step.spans.size(), size_t{2});
  CHECK((plan[0].wanted_rows == std::vector<int32_t>{2, 4}));
  CHECK((plan[0].step.positions == std::vector<int32_t>{0, 1, 2, 0, 1}));
  CHECK_EQ(plan[2].step.tokens.size(), size_t{9});  // longer than n_ubatch, but whole
  CHECK_EQ(plan[3].step.tokens.size(), size_t{1});
}

TEST(pooling_wants_only_the_rows_it_needs) {
  const std::vector<SequenceSpan> spans = {{.row_begin = 0, .n_rows = 3},
                                           {.row_begin = 3, .n_rows = 1}};
  CHECK((pooled_rows(Pooling::none, spans) == std::vector<int32_t>{0, 1, 2, 3}));
  CHECK((pooled_rows(Pooling::mean, spans) == std::vector<int32_t>{0, 1, 2, 3}));
  CHECK((pooled_rows(Pooling::cls, spans) == std::vector<int32_t>{0, 3}));
  CHECK((pooled_rows(Pooling::last, spans) == std::vector<int32_t>{2, 3}));
}

}  // namespace
}  // namespace bactrian
