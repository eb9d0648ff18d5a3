/* Streams a model for a while, then prints in bytes the process memory that no file backs, and
 * the weights. Without a model, prints the memory of a program that only links the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rill/rill.h"

static long long line_kib(const char* name) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long long kib = -1;
  while (status && fgets(line, sizeof line, status)) {
    if (strncmp(line, name, strlen(name)) == 0) kib = atoll(line + strlen(name));
  }
  if (status) fclose(status);
  return kib;
}

static int fail(void) {
  fprintf(stderr, "%s\n", rill_last_error());
  return 1;
}

static int stream(const char* path, long long* weights) {
  rill_model* model = NULL;
  rill_plan* plan = NULL;
  rill_session* session = NULL;
  if (rill_load(path, NULL, &model) != RILL_OK) return fail();
  if (rill_model_set_symbol(model, "B", "1") != RILL_OK) return fail();
  if (rill_model_pulse(model, "S", "8") != RILL_OK) return fail();
  if (rill_prepare(model, NULL, &plan) != RILL_OK) return fail();
  rill_model_free(model);
  if (rill_session_new(plan, &session) != RILL_OK) return fail();
  for (int i = 0; i < 100; ++i) {
    if (rill_step(session) != RILL_OK) return fail();
  }
  rill_memory_info memory = {0};
  memory.size = sizeof memory;
  if (rill_plan_memory(plan, &memory) != RILL_OK) return fail();
  *weights = memory.weight_bytes;
  return 0; /* keep the session until its memory is printed */
}

int main(int argc, char** argv) {
  long long weights = 0;
  if (argc > 1 && stream(argv[1], &weights) != 0) return 1;
  printf("weights %lld\nanonymous %lld\nfiles %lld\n", weights, 1024 * line_kib("RssAnon:"),
         1024 * line_kib("RssFile:"));
  return 0;
}
