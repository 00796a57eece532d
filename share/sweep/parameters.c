// The choices of algorithms that the library offers, asked from itself by the tools interface (MPI_T), which needs no MPI_Init.
//
// One line for each: the variable of the environment, the value, and what that means. Open MPI says which values there are.
// MPICH 4.0 names them in the description only, each before " - " and directly behind the sentence about the one before: what
// belongs to the name is tried out. As a value can only be set before MPI_T starts, processes are forked for that.
#define _GNU_SOURCE

#include "sweep.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

struct parameter {
  char name[200], text[3000];
  MPI_Datatype type;
  MPI_T_enum values;
};

static bool read_parameter(int index, struct parameter* p) {
  int name_room = sizeof p->name, text_room = sizeof p->text, verbosity, bind, scope;
  p->values = MPI_T_ENUM_NULL;
  if (MPI_T_cvar_get_info(index, p->name, &name_room, &verbosity, &p->type, &p->values, p->text, &text_room, &bind, &scope))
    return false;
  for (char* at = p->text; *at; ++at)
    if (*at == '\n' || *at == '\t') *at = ' ';
  return true;
}

static bool ends_with(const char* text, const char* end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

static void print_values(const struct parameter* p) {
  int count = 0, name_room = 0;
  if (MPI_T_enum_get_info(p->values, &count, NULL, &name_room)) return;
  for (int i = 0; i < count; ++i) {
    char meaning[200] = "";
    int value, room = sizeof meaning;
    if (MPI_T_enum_get_item(p->values, i, &value, meaning, &room) || value == 0) continue;  // 0: the library decides
    printf("OMPI_MCA_%s\t%d\t%s\n", p->name, value, meaning);
  }
}

// Open MPI: "coll_basic_priority" says that there is a component `basic` of the framework `coll`.
static void print_component(const struct parameter* p) {
  static const char* const frameworks[] = {"coll_", "pml_", "osc_"};
  for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; ++i) {
    const size_t length = strlen(frameworks[i]);
    if (strncmp(p->name, frameworks[i], length) || !ends_with(p->name, "_priority")) continue;
    const int rest = (int)(strlen(p->name) - length - strlen("_priority"));
    if (rest > 0 && !memchr(p->name + length, '_', (size_t)rest))
      printf("component\t%.*s\t%.*s\n", (int)length - 1, p->name, rest, p->name + length);
  }
}

// In a process of its own: prints what can be read as it is, and hands on the descriptions of the others.
static void look(int out) {
  int provided, count = 0;
  static struct parameter p;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) || MPI_T_cvar_get_num(&count)) _exit(1);
  FILE* const hand_on = fdopen(out, "w");
  for (int i = 0; i < count; ++i) {
    if (!read_parameter(i, &p)) continue;
    const bool mpich = !strncmp(p.name, "MPIR_CVAR_", 10);
    if (!mpich) print_component(&p);
    if (p.values != MPI_T_ENUM_NULL && ends_with(p.name, "_algorithm")) print_values(&p);
    if (mpich && (ends_with(p.name, "_ALGORITHM") || ends_with(p.name, "_DEVICE_COLLECTIVES")))
      fprintf(hand_on, "%s\t%s\n", p.name, p.text);
    if (!strcmp(p.name, "MPIR_CVAR_NOLOCAL")) printf("%s\t1\tas if every process had a host of its own\n", p.name);
  }
  fclose(hand_on);
  fflush(stdout);
  _exit(0);
}

// The number that the library has for a value of this name; -1 if it has none.
static int number_of(const char* name, const char* value) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    int provided, index, number = -1, count;
    MPI_T_cvar_handle handle;
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    setenv(name, value, 1);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) || MPI_T_cvar_get_index(name, &index) ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) || MPI_T_cvar_read(handle, &number))
      _exit(255);
    _exit(number >= 0 && number < 255 ? number : 255);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255) return -1;
  return WEXITSTATUS(status);
}

static void print_described(const char* name, const char* text) {
  int number = 0;
  for (const char* dash = strstr(text, " - "); dash; dash = strstr(dash + 3, " - "), ++number) {
    const char* end = dash;
    while (end > text && end[-1] == ' ') --end;
    const char* begin = end;
    while (begin > text && (islower((unsigned char)begin[-1]) || isdigit((unsigned char)begin[-1]) || begin[-1] == '_')) --begin;
    char value[200];
    bool found = number == 0;  // the library decides
    for (; begin < end && !found; ++begin) {
      snprintf(value, sizeof value, "%.*s", (int)(end - begin), begin);
      found = number_of(name, value) == number;
    }
    if (found && number > 0) printf("%s\t%s\t%s\n", name, value, value);
  }
}

void list_parameters(void) {
  int ends[2];
  if (pipe(ends)) return;
  const pid_t child = fork();
  if (child == 0) look(ends[1]);
  close(ends[1]);
  FILE* const in = fdopen(ends[0], "r");
  static char line[4000];
  while (fgets(line, sizeof line, in)) {
    char* const tab = strchr(line, '\t');
    if (!tab) continue;
    *tab = 0;
    print_described(line, tab + 1);
  }
  fclose(in);
  if (child > 0) waitpid(child, NULL, 0);
}
