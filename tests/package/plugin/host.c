/* host PLUGIN [argument ...]: runs the entry of a plugin twice, as a host that loads it again. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  for (int turn = 0; turn < 2; ++turn) {
    void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void* symbol = plugin ? dlsym(plugin, "plugin_entry") : NULL;
    int (*entry)(int, char**) = NULL;
    if (!symbol) return fprintf(stderr, "%s\n", dlerror()), 1;
    memcpy(&entry, &symbol, sizeof entry);
    if (entry(argc - 1, argv + 1) != 0) return 1;
    dlclose(plugin);
  }
  return 0;
}
