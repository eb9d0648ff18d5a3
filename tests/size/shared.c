/* Streams a compiled model for a while, prints a line, waits for a line, and prints in bytes the
 * memory private to this process: pages that no file backs or that it wrote, in total and in the
 * model's file. Other pages of programs and libraries belong to the page cache; whether they
 * count as shared depends on other processes. Without a model, measures a program that only
 * links the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rill/rill.h"

static int fail(void) {
  fprintf(stderr, "%s\n", rill_last_error());
  return 1;
}

static int stream(const char* path, rill_memory_info* memory) {
  rill_plan* plan = NULL;
  rill_session* session = NULL;
  if (rill_plan_open(path, &plan) != RILL_OK) return fail();
  if (rill_session_new(plan, &session) != RILL_OK) return fail();
  for (int i = 0; i < 100; ++i) {
    if (rill_step(session) != RILL_OK) return fail();
  }
  memory->size = sizeof *memory;
  if (rill_plan_memory(plan, memory) != RILL_OK) return fail();
  return 0; /* keep the session until its memory is printed */
}

static int print_private(const char* path) {
  FILE* maps = fopen("/proc/self/smaps", "r");
  char line[4096];
  long long of_all = 0, of_file = 0, shared = 0;
  int in_file = 0;
  if (!maps) return 1;
  while (fgets(line, sizeof line, maps)) {
    long long kib = 0;
    char name[64];
    if (sscanf(line, "%63[A-Za-z_]: %lld kB", name, &kib) != 2) {
      if (strchr(line, '-')) in_file = path && strstr(line, path) != NULL;
      continue;
    }
    /* Pages without a file, or written by this process. A freshly created file is also "dirty". */
    if (strcmp(name, "Anonymous") == 0) of_all += kib;
    if (in_file && strcmp(name, "Anonymous") == 0) of_file += kib;
    if (in_file && strncmp(name, "Shared_", 7) == 0 && strcmp(name, "Shared_Hugetlb") != 0) {
      shared += kib;
    }
  }
  fclose(maps);
  printf("private %lld\nprivate_of_file %lld\nshared_of_file %lld\n", 1024 * of_all, 1024 * of_file,
         1024 * shared);
  return 0;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : NULL;
  rill_memory_info memory = {0};
  if (path && stream(path, &memory) != 0) return 1;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF || print_private(path) != 0) return 1;
  printf("weights %lld\nstate %lld\narena %lld\nio %lld\n", (long long)memory.weight_bytes,
         (long long)memory.state_bytes, (long long)memory.arena_bytes, (long long)memory.io_bytes);
  fflush(stdout);
  while (getchar() != EOF) { /* keep the file open while other processes print theirs */
  }
  return 0;
}
