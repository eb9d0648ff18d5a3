/* host PLUGIN [argument ...]: loads and runs a plugin twice, and checks that the system unloads
 * it after each run. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return whether a file is mapped, by its full path; 0 if the system does not list maps. */
static int is_mapped(const char* path) {
  char line[8192];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return 0;
  while (fgets(line, sizeof line, maps)) {
    const char* at = strchr(line, '/');
    if (at && strncmp(at, path, strlen(path)) == 0) found = 1;
  }
  fclose(maps);
  return found;
}

static int run_once(const char* path, int argc, char** argv) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = plugin ? dlsym(plugin, "plugin_entry") : NULL;
  int (*entry)(int, char**) = NULL;
  if (!symbol) return fprintf(stderr, "%s\n", dlerror()), 1;
  memcpy(&entry, &symbol, sizeof entry);
  if (!is_mapped(path) && is_mapped("/"))
    return fprintf(stderr, "%s is not in the maps\n", path), 1;
  if (entry(argc, argv) != 0) return 1;
  dlclose(plugin);
  void* kept = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (kept || is_mapped(path)) return fprintf(stderr, "%s was not unloaded\n", path), 1;
  return 0;
}

int main(int argc, char** argv) {
  char* path = argc > 1 ? realpath(argv[1], NULL) : NULL;
  if (!path) return fprintf(stderr, "host: no plugin\n"), 1;
  int status = 0;
  for (int i = 0; i < 2 && status == 0; ++i) status = run_once(path, argc - 1, argv + 1);
  free(path);
  return status;
}
