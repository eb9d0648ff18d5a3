/* A plugin that contains rill. Its host sees only its entry point. */
#define main run_stream
#include STREAM_C
#undef main

__attribute__((visibility("default"))) int plugin_entry(int argc, char** argv);

int plugin_entry(int argc, char** argv) { return run_stream(argc, argv); }
