// The kinds of access_kinds.h that the arguments name, in C.
#include "access_kinds.h"

static const struct kind all_kinds[] = {ACCESS_KINDS};

int main(int argc, char** argv) { return run_access(argc, argv, all_kinds, sizeof all_kinds / sizeof *all_kinds); }
