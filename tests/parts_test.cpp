// Steps that are split into parts give the bits of single-threaded steps, for any number of parts
// and any pool.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "api/src/model_handle.h"
#include "core/exec/workers.h"
#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

const char* const kTiers[] = {"scalar", "sse42", "avx2", "avx512", "neon"};

/// Split even the smallest steps.
PrepareOptions every_step() {
  PrepareOptions options;
  options.part_work = 1e-9;
  return options;
}

/// Run all parts on the calling thread, the last one first.
std::shared_ptr<const Pool> backwards(uint32_t threads) {
  Pool pool;
  pool.threads = threads;
  pool.run = [](void*, Task task, void* argument, uint32_t parts) {
    while (parts-- > 0) task(argument, parts);
  };
  return std::make_shared<const Pool>(pool);
}

/// Start a new thread for every part.
std::shared_ptr<const Pool> new_threads(uint32_t threads) {
  Pool pool;
  pool.threads = threads;
  pool.run = [](void*, Task task, void* argument, uint32_t parts) {
    std::vector<std::thread> running;
    for (uint32_t part = 0; part < parts; ++part) running.emplace_back(task, argument, part);
    for (std::thread& thread : running) thread.join();
  };
  return std::make_shared<const Pool>(pool);
}

std::shared_ptr<const Pool> workers(uint32_t threads) {
  auto pool = make_pool(threads);
  EXPECT_TRUE(pool.ok()) << pool.error().to_string();
  return pool.ok() ? std::move(pool).value() : nullptr;
}

void fill(const View& view, uint64_t seed) {
  Random random(seed);
  auto* bytes = view.as<std::byte>();
  const int64_t size = view.volume() * dtype_size(view.dtype);
  for (int64_t i = 0; i < size; ++i) bytes[i] = std::byte(0);
  if (view.dtype != DType::kF32) return;
  for (int64_t i = 0; i < view.volume(); ++i) {
    const bool tiny = random.chance(2);  // denormals count as zero on every thread
    view.as<float>()[i] = static_cast<float>(random.in(-999, 999)) * (tiny ? 1e-41F : 1e-3F);
  }
}

using Outputs = std::vector<std::vector<std::byte>>;

/// Run a few steps from the start. Inputs are derived from the seed unless given.
Outputs run(const std::shared_ptr<const Plan>& plan, std::shared_ptr<const Pool> pool,
            const Arrays* inputs = nullptr) {
  auto session = std::move(Session::make(plan)).value();
  EXPECT_TRUE(session->use_threads(std::move(pool)).ok());
  Outputs out;
  for (uint64_t step = 0; step < 3; ++step) {
    for (size_t i = 0; i < plan->inputs.size(); ++i) {
      const View to = session->input(i);
      fill(to, 100 * step + i);
      if (inputs == nullptr) continue;
      const std::vector<std::byte>& from = inputs->at(std::string(plan->inputs[i].name)).bytes;
      std::copy(from.begin(), from.end(), to.as<std::byte>());
    }
    session->step();
    for (size_t i = 0; i < plan->outputs.size(); ++i) {
      const auto* first = session->output(i).as<std::byte>();
      out.emplace_back(first, first + plan->outputs[i].bytes);
    }
  }
  return out;
}

int64_t parted_steps(const Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [](const Step& step) { return step.parts.most > 1; });
}

/// Return the number of steps that run in parts.
int64_t expect_same_bits(const Graph& graph, std::initializer_list<uint32_t> counts,
                         const Arrays* inputs = nullptr) {
  const auto plan = prepare(graph, every_step());
  if (!plan.ok()) {
    ADD_FAILURE() << plan.error().to_string();
    return 0;
  }
  const Outputs want = run(*plan, nullptr, inputs);
  for (const uint32_t count : counts) {
    EXPECT_TRUE(run(*plan, backwards(count), inputs) == want) << count << " parts, backwards";
    EXPECT_TRUE(run(*plan, workers(count), inputs) == want) << count << " threads";
  }
  return parted_steps(**plan);
}

class PartsOfModel : public ::testing::TestWithParam<ModelFolder> {};

TEST_P(PartsOfModel, WholeRunsAreTheSame) {
  const Arrays bundle = read_bundle(GetParam().bundles[0]);
  const ModelPtr model = load_bound(GetParam().archive, bundle, "");
  ASSERT_TRUE(model) << rill_last_error();
  expect_same_bits(model->graph, {1, 2, 3, 7}, &bundle);
}

TEST_P(PartsOfModel, WholeRunsOnNewThreadsAreTheSame) {
  const Arrays bundle = read_bundle(GetParam().bundles[0]);
  const ModelPtr model = load_bound(GetParam().archive, bundle, "");
  ASSERT_TRUE(model) << rill_last_error();
  // Loops of hundreds of iterations would start too many threads.
  const auto plan = prepare(model->graph);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_TRUE(run(*plan, new_threads(3), &bundle) == run(*plan, nullptr, &bundle));
}

TEST_P(PartsOfModel, StreamsAreTheSame) {
  if (GetParam().pulse == 0) return;
  const Arrays bundle = read_bundle(GetParam().bundles[0]);
  const ModelPtr model = load_bound(GetParam().archive, bundle, GetParam().symbol);
  ASSERT_TRUE(model) << rill_last_error();
  if (rill_model_pulse(model.get(), GetParam().symbol.c_str(),
                       std::to_string(GetParam().pulse).c_str()) != RILL_OK) {
    return;  // tests/streams_test.cpp lists the models that stream
  }
  expect_same_bits(model->graph, {2, 7});
}

INSTANTIATE_TEST_SUITE_P(, PartsOfModel, ::testing::ValuesIn(all_models()), ModelName());

TEST(Parts, RandomGraphsAreTheSame) {
  int64_t parted = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = load_text(generate(recipe(seed)).text);
    if (!graph.ok()) continue;  // some chains are invalid
    const auto bound = graph->with_symbol("S", Dim(29));
    if (!bound.ok()) continue;
    const auto simple = declutter(*bound);
    ASSERT_TRUE(simple.ok()) << simple.error().to_string();
    parted += expect_same_bits(*simple, {2, 5});
  }
  EXPECT_GT(parted, 300);
}

/// Random numbers of this shape as an NNEF literal.
std::string literal(Random* random, std::vector<int64_t> shape) {
  if (shape.empty()) return str_cat(random->chance(50) ? "-0." : "0.", random->in(1, 999));
  const int64_t count = shape.front();
  shape.erase(shape.begin());
  std::string out = "[";
  for (int64_t i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + literal(random, shape);
  return out + "]";
}

class PartsOfTier : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_EQ(rill_set_cpu_limit(GetParam()), RILL_OK); }
  void TearDown() override { (void)rill_set_cpu_limit(nullptr); }

  /// Run `statements` on x of this shape, with fewer and with more parts than rows.
  void expect_parts(const std::string& shape, const std::string& statements, int64_t least_steps) {
    SCOPED_TRACE(str_cat(shape, "\n", statements.substr(0, 200)));
    const auto graph = load_text(document(shape, statements));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    const auto simple = declutter(*graph);
    ASSERT_TRUE(simple.ok()) << simple.error().to_string();
    EXPECT_GE(expect_same_bits(*simple, {2, 3, 7, 61}), least_steps);
  }
};

TEST_P(PartsOfTier, ProductsWithWeights) {
  Random random(1);
  for (const int64_t rows : {1, 2, 5, 13, 67}) {
    for (const int64_t columns : {1, 3, 33, 70}) {
      const int64_t k = random.in(1, 40);
      const std::string weights = literal(&random, {1, k, columns});
      // Split from two tiles of rows or columns.
      const auto steps = [&](int64_t m) { return m > 8 || columns > 32 ? 1 : 0; };
      expect_parts(str_cat("1, ", rows, ", ", k), str_cat("  y = matmul(x, ", weights, ");\n"),
                   steps(rows));
      expect_parts(str_cat("3, ", rows, ", ", k),
                   str_cat("  y = max(matmul(x, ", weights, ") + 0.25, 0.0);\n"),
                   steps(3 * rows));
    }
  }
  // This sum is split into blocks, each continuing the previous one.
  const std::string weights = literal(&random, {1, 1200, 40});
  expect_parts("1, 30, 1200", str_cat("  y = matmul(x, ", weights, ");\n"), 1);
}

TEST_P(PartsOfTier, ProductsOfComputedOperands) {
  Random random(2);
  for (const int64_t batch : {1, 2, 5}) {
    for (const int64_t rows : {1, 2, 9, 50}) {
      const int64_t k = random.in(2, 40);
      expect_parts(str_cat(batch, ", ", rows, ", ", k),
                   "  s = x * 0.5;\n  a = matmul(x, s, transposeB = true);\n"
                   "  w = softmax(a, axes = [2]);\n  y = matmul(w, s);\n",
                   batch > 1 || rows > 8 ? 2 : 0);
      // The columns of one batch element are shared by the rows of all.
      expect_parts(str_cat(batch, ", ", rows, ", ", k),
                   "  s = slice(x, axes = [0], begin = [0], end = [1]);\n"
                   "  y = matmul(x, s * 0.5, transposeB = true);\n",
                   batch * rows > 8 ? 1 : 0);
    }
  }
}

TEST_P(PartsOfTier, Convolutions) {
  Random random(3);
  const auto window = [](const std::string& each, const std::string& padding) {
    return str_cat(", stride = [", each, "], dilation = [", each, "], padding = [", padding, "]");
  };
  for (const int64_t frames : {1, 4, 23, 90}) {
    for (const int64_t outputs : {1, 5, 40}) {
      const std::string one = literal(&random, {outputs, 3, 3});
      expect_parts(
          str_cat("2, 3, ", frames),
          str_cat("  y = conv(x, ", one, ", 0.25", window("2", "(2, 2)"), ", groups = 1);\n"), 1);
      const std::string two = literal(&random, {outputs, 3, 3, 2});
      expect_parts(str_cat("1, 3, 7, ", frames + 4),
                   str_cat("  y = conv(x, ", two, ", 0.0", window("1, 2", "(1, 1), (0, 1)"),
                           ", groups = 1);\n"),
                   1);
    }
    const std::string each = literal(&random, {12, 1, 3});
    expect_parts(
        str_cat("2, 12, ", frames),
        str_cat("  y = conv(x, ", each, ", 0.5", window("1", "(1, 1)"), ", groups = 12);\n"), 1);
    const std::string grouped = literal(&random, {12, 2, 3});
    expect_parts(
        str_cat("2, 6, ", frames),
        str_cat("  y = conv(x, ", grouped, ", 0.5", window("1", "(1, 1)"), ", groups = 3);\n"), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, PartsOfTier, ::testing::ValuesIn(kTiers),
                         [](const auto& tier) { return std::string(tier.param); });

TEST(Parts, SmallStepsStayOnOneThread) {
  const auto graph = load_text(document("1, 16, 16", "  y = matmul(x, x);\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto small = prepare(*graph);
  ASSERT_TRUE(small.ok()) << small.error().to_string();
  EXPECT_EQ(parted_steps(**small), 0);
  EXPECT_EQ((*small)->part_scratch_bytes, 0);
  const auto session = std::move(Session::make(*small)).value();
  Pool never;
  never.threads = 2;
  never.run = [](void*, Task, void*, uint32_t) { ADD_FAILURE() << "called"; };
  const int64_t alone = session->memory_bytes();
  ASSERT_TRUE(session->use_threads(std::make_shared<const Pool>(never)).ok());
  EXPECT_EQ(session->memory_bytes(), alone);
  session->step();
}

TEST(Parts, LargeStepsTakeNoMorePartsThanThereAreThreadsOrIsWork) {
  const auto graph =
      load_text(document("1, 256, 32", "  y = matmul(x, x * 0.5, transposeB = true);\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto plan = prepare(*graph);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  const auto session = std::move(Session::make(*plan)).value();
  uint32_t seen = 0;
  Pool counting;
  counting.context = &seen;
  counting.run = [](void* context, Task task, void* argument, uint32_t parts) {
    *static_cast<uint32_t*>(context) = parts;
    // A call with a part index past the last part must have no effect.
    for (uint32_t part = 0; part <= parts; ++part) task(argument, part);
  };
  const int64_t alone = session->memory_bytes();
  for (const auto& [threads, parts] : {std::pair{2U, 2U}, {200U, 8U}}) {
    counting.threads = threads;
    ASSERT_TRUE(session->use_threads(std::make_shared<const Pool>(counting)).ok());
    EXPECT_GT(session->memory_bytes(), alone);
    session->step();
    // 256 x 256 x 32 multiply-adds are 8 times the threshold for one thread.
    EXPECT_EQ(seen, parts);
  }
  seen = 0;
  ASSERT_TRUE(session->use_threads(nullptr).ok());
  EXPECT_EQ(session->memory_bytes(), alone);
  session->step();
  EXPECT_EQ(seen, 0U);
}

}  // namespace
}  // namespace rill::test
