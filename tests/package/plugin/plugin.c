/* A plugin with rill inside: its host sees its own entry alone. */
#define main run_stream
#include STREAM_C
#undef main

__attribute__((visibility("default"))) int plugin_entry(int argc, char** argv);

int plugin_entry(int argc, char** argv) { return run_stream(argc, argv); }
