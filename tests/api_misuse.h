/* Check a call of the C interface: either refused with the expected code and message, or
 * successful. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "rill/rill.h"

static int checks = 0;
static int failures = 0;

static void expect(int line, const char* call, rill_status want, const char* text,
                   rill_status found) {
  ++checks;
  if (found == want && (want == RILL_OK || strstr(rill_last_error(), text))) return;
  ++failures;
  printf("line %d: %s\n  expected %s, \"%s\"\n  found %s, \"%s\"\n", line, call,
         rill_status_name(want), text, rill_status_name(found), rill_last_error());
}

static void expect_true(int line, const char* what, int holds) {
  ++checks;
  if (holds) return;
  ++failures;
  printf("line %d: %s does not hold\n", line, what);
}

/* One row of the table: the expected status, a part of the message, the call. */
#define REFUSED(code, text, call) expect(__LINE__, #call, RILL_E_##code, text, call)
#define FINE(call) expect(__LINE__, #call, RILL_OK, "", call)
#define TRUE(condition) expect_true(__LINE__, #condition, condition)

static char path_room[4][4096];

static const char* path_of(int slot, const char* folder, const char* name) {
  snprintf(path_room[slot], sizeof path_room[slot], "%s/%s", folder, name);
  return path_room[slot];
}
