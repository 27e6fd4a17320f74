// The load generator: round trips over unix sockets, each one timed.
//
//   load --socket PATH --request FILE [--connections N] [--depth N] [--seconds S | --requests N] [--warmup S]
//        [--cpu N] [--fresh] [--ssh] [--names FILE]
//
// FILE holds one request line, in which `%ID%` stands for the id; every request gets an id of its own, and answers may
// come in any order. `%NAME%` stands for a line of --names, the next one for each request; all are equally long.
// --fresh makes a connection for each request, N of them at once. --ssh speaks ssh-agent's protocol instead: asks for the list of
// identities (RFC draft-miller-ssh-agent, section 4.4), length-prefixed, answered in order.
//
// Prints one JSON object: requests, seconds, rate, p50, p90, p99 and maximum in nanoseconds, bytes received, and
// `errors`, the number of answers that contain `"error"`. Exits 1 when the server goes away or answers what was not
// asked.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  CONNECTIONS = 256,
  DEPTH = 128,
  ID_DIGITS = 10,
  ANSWER = 1 << 21,  // the longest answer, and room for what follows it
  SUB_BUCKETS = 64,  // a histogram bucket is at most 1/64 of its value wide
  BUCKETS = 64 * SUB_BUCKETS,
};
#define FIRST_ID 1000000000ull  // ten digits, so every request has the same length

struct connection {
  int fd;
  uint64_t sent;              // requests sent so far: the next id
  uint64_t answered;          // of --ssh: answers come in order
  uint64_t sent_at[DEPTH];    // by id modulo depth; 0 when that place is free
  unsigned free_places[DEPTH];
  unsigned free_count;
  char *answers;
  size_t used;
  char *requests;             // what is still to be written
  size_t begin, end;
};

static const char *socket_path, *request_path, *names_path;
static int connection_count = 1, depth = 1, cpu = -1;
static double seconds = 1, warmup = 0.2;
static uint64_t request_limit;
static bool fresh, ssh;

static char *template, *id_place;
static size_t template_length;
static char *names, *name_place;
static size_t name_length, name_count;
static struct connection connections[CONNECTIONS];
static uint64_t histogram[BUCKETS], answers, errors, bytes, slowest;

static void fail(const char *what) {
  if (errno) perror(what); else fprintf(stderr, "%s\n", what);
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static unsigned bucket_of(uint64_t ns) {
  if (ns < SUB_BUCKETS) return ns;
  unsigned shift = 63 - __builtin_clzll(ns) - 6;
  return (shift + 1) * SUB_BUCKETS + (ns >> shift) - SUB_BUCKETS;
}

static uint64_t bucket_floor(unsigned bucket) {
  if (bucket < SUB_BUCKETS) return bucket;
  unsigned shift = bucket / SUB_BUCKETS - 1;
  return (uint64_t)(bucket % SUB_BUCKETS + SUB_BUCKETS) << shift;
}

static uint64_t percentile(double part) {
  uint64_t wanted = answers * part, seen = 0;
  for (unsigned i = 0; i < BUCKETS; i++) {
    seen += histogram[i];
    if (seen > wanted) return bucket_floor(i);
  }
  return slowest;
}

// A whole file without the newlines at its end.
static size_t read_text(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  size_t length = fread(text, 1, size, file);
  fclose(file);
  while (length && text[length - 1] == '\n') length--;
  return length;
}

static void read_names(void) {
  enum { NAMES = 1 << 22 };
  names = malloc(NAMES);
  if (!names) fail("malloc");
  size_t length = read_text(names_path, names, NAMES - 1);
  names[length] = '\n';
  name_length = (char *)memchr(names, '\n', length + 1) - names;
  name_count = (length + 1) / (name_length + 1);
  errno = 0;
  if (!name_length || name_count * (name_length + 1) != length + 1) fail("the names are not equally long");
}

static void read_template(void) {
  static char text[1 << 20];
  size_t length = read_text(request_path, text, sizeof text / 2);
  char *name = names ? memmem(text, length, "%NAME%", 6) : NULL;
  if (name) {
    memmove(name + name_length, name + 6, text + length - (name + 6));
    memset(name, '?', name_length);
    length += name_length - 6;
  }
  char *mark = memmem(text, length, "%ID%", 4);
  errno = 0;
  if (!mark) fail("the request has no %ID%");
  size_t before = mark - text, after = length - before - 4;
  template_length = before + ID_DIGITS + after + 1;
  template = malloc(template_length);
  memcpy(template, text, before);
  memcpy(template + before + ID_DIGITS, mark + 4, after);
  template[template_length - 1] = '\n';
  id_place = template + before;
  if (name) name_place = template + (name - text) + (name > mark ? ID_DIGITS - 4 : 0);
}

static int dial(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  errno = ENAMETOOLONG;
  if (strlen(socket_path) >= sizeof address.sun_path) fail(socket_path);
  strcpy(address.sun_path, socket_path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail(socket_path);
  return fd;
}

static void open_connection(struct connection *c) {
  c->fd = dial();
  if (!c->answers) c->answers = malloc(ANSWER);
  if (!c->requests) c->requests = malloc(template_length * DEPTH);
  if (!c->answers || !c->requests) fail("malloc");
  c->sent = c->answered = c->used = c->begin = c->end = 0;
  c->free_count = depth;
  for (int i = 0; i < depth; i++) c->free_places[i] = i, c->sent_at[i] = 0;
}

// Puts one more request into what is to be written. An id is `generation * depth + place`, so the place of an answer
// is found without a search.
static void prepare(struct connection *c) {
  uint64_t place = ssh ? c->sent % depth : c->free_places[--c->free_count];
  uint64_t id = FIRST_ID + c->sent * depth + place;
  c->sent++;
  memcpy(c->requests + c->end, template, template_length);
  if (!ssh) {
    char *digit = c->requests + c->end + (id_place - template) + ID_DIGITS;
    for (int i = 0; i < ID_DIGITS; i++, id /= 10) *--digit = '0' + id % 10;
  }
  if (name_place) {
    static size_t next;
    const char *name = names + next++ % name_count * (name_length + 1);
    memcpy(c->requests + c->end + (name_place - template), name, name_length);
  }
  c->end += template_length;
  c->sent_at[place] = now();
}

static void send_prepared(struct connection *c) {
  while (c->begin < c->end) {
    ssize_t n = send(c->fd, c->requests + c->begin, c->end - c->begin, MSG_NOSIGNAL);
    if (n < 0) fail("send");
    c->begin += n;
  }
  c->begin = c->end = 0;
}

static void count_answer(struct connection *c, const char *answer, size_t length, uint64_t at) {
  uint64_t place;
  errno = 0;
  if (ssh) {
    place = c->answered++ % depth;
    if (length < 5 || answer[4] != 12) errors++;  // SSH_AGENT_IDENTITIES_ANSWER
  } else {
    const char *id = memmem(answer, length, "\"id\":", 5);
    if (!id || answer + length - id < 5 + ID_DIGITS) fail("an answer without id");
    uint64_t number = 0;
    for (int i = 5; i < 5 + ID_DIGITS; i++) number = number * 10 + (id[i] - '0');
    if (number < FIRST_ID) fail("an answer to nothing");
    place = (number - FIRST_ID) % depth;
    if (memmem(answer, length, "\"error\"", 7)) errors++;
  }
  if (!c->sent_at[place]) fail("an answer to nothing");
  uint64_t took = at - c->sent_at[place];
  c->sent_at[place] = 0;
  if (!ssh) c->free_places[c->free_count++] = place;
  histogram[bucket_of(took)]++;
  if (took > slowest) slowest = took;
  answers++;
  bytes += length;
}

// The length of the first whole answer, or 0.
static size_t whole_answer(const char *text, size_t used) {
  if (ssh) {
    if (used < 4) return 0;
    const unsigned char *b = (const unsigned char *)text;
    size_t length = 4 + ((size_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
    return length <= used ? length : 0;
  }
  const char *newline = memchr(text, '\n', used);
  return newline ? newline + 1 - text : 0;
}

// Reads once; returns how many answers were in it.
static int receive(struct connection *c) {
  errno = 0;
  if (c->used == ANSWER) fail("an answer without end");
  ssize_t n = recv(c->fd, c->answers + c->used, ANSWER - c->used, 0);
  if (n <= 0) fail("the server went away");
  uint64_t at = now();
  c->used += n;
  size_t begin = 0, length;
  int found = 0;
  while ((length = whole_answer(c->answers + begin, c->used - begin))) {
    count_answer(c, c->answers + begin, length, at);
    begin += length;
    found++;
  }
  c->used -= begin;
  memmove(c->answers, c->answers + begin, c->used);
  return found;
}

static bool finished(uint64_t until, uint64_t limit) { return limit ? answers >= limit : now() >= until; }

// From connect to the answer.
static void ask_on_fresh_connection(struct connection *c) {
  uint64_t begun = now();
  open_connection(c);
  prepare(c);
  c->sent_at[0] = begun;
  send_prepared(c);
}

// One connection a request, as many at once as there are connections.
static void run_fresh(uint64_t until, uint64_t limit) {
  struct pollfd watched[CONNECTIONS];
  for (int i = 0; i < connection_count; i++) {
    ask_on_fresh_connection(&connections[i]);
    watched[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
  }
  int waiting = connection_count;
  while (waiting) {
    if (connection_count > 1 && poll(watched, connection_count, -1) < 0) fail("poll");
    for (int i = 0; i < connection_count; i++) {
      if (connection_count > 1 && !watched[i].revents) continue;
      if (!receive(&connections[i])) continue;
      close(connections[i].fd);
      watched[i] = (struct pollfd){.fd = -1};
      if (finished(until, limit)) {
        waiting--;
      } else {
        ask_on_fresh_connection(&connections[i]);
        watched[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
      }
    }
  }
}

static void run_open(uint64_t until, uint64_t limit) {
  struct pollfd watched[CONNECTIONS];
  for (int i = 0; i < connection_count; i++) {
    watched[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
    for (int j = 0; j < depth; j++) prepare(&connections[i]);
    send_prepared(&connections[i]);
  }
  int waiting = connection_count * depth;
  while (waiting) {
    // A lone connection blocks in recv: that is all its client would do.
    if (connection_count > 1 && poll(watched, connection_count, -1) < 0) fail("poll");
    for (int i = 0; i < connection_count; i++) {
      if (connection_count > 1 && !watched[i].revents) continue;
      int found = receive(&connections[i]);
      if (finished(until, limit)) {
        waiting -= found;
      } else {
        while (found--) prepare(&connections[i]);
        send_prepared(&connections[i]);
      }
    }
  }
}

static void run(double for_seconds, uint64_t limit) {
  uint64_t until = now() + for_seconds * 1e9;
  if (fresh) run_fresh(until, limit); else run_open(until, limit);
}

static void parse(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    if (!strcmp(option, "--fresh")) { fresh = true; continue; }
    if (!strcmp(option, "--ssh")) { ssh = true; continue; }
    const char *value = i + 1 < argc ? argv[++i] : "";
    if (!strcmp(option, "--socket")) socket_path = value;
    else if (!strcmp(option, "--request")) request_path = value;
    else if (!strcmp(option, "--names")) names_path = value;
    else if (!strcmp(option, "--connections")) connection_count = atoi(value);
    else if (!strcmp(option, "--depth")) depth = atoi(value);
    else if (!strcmp(option, "--seconds")) seconds = atof(value);
    else if (!strcmp(option, "--requests")) request_limit = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--warmup")) warmup = atof(value);
    else if (!strcmp(option, "--cpu")) cpu = atoi(value);
    else { fprintf(stderr, "load: no option %s\n", option); exit(64); }
  }
  if (!socket_path || (!request_path && !ssh) || connection_count < 1 || connection_count > CONNECTIONS || depth < 1 ||
      depth > DEPTH) {
    fputs("usage: load --socket PATH --request FILE [--connections N] [--depth N] [--seconds S | --requests N]\n"
          "            [--warmup S] [--cpu N] [--fresh] [--ssh] [--names FILE]\n", stderr);
    exit(64);
  }
}

int main(int argc, char **argv) {
  parse(argc, argv);
  if (ssh) {
    static char list[] = {0, 0, 0, 1, 11};  // SSH_AGENTC_REQUEST_IDENTITIES
    template = list;
    template_length = sizeof list;
  } else {
    if (names_path) read_names();
    read_template();
  }
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0) fail("sched_setaffinity");
  }
  if (!fresh) for (int i = 0; i < connection_count; i++) open_connection(&connections[i]);
  if (warmup > 0) {
    run(warmup, 0);
    memset(histogram, 0, sizeof histogram);
    answers = errors = bytes = slowest = 0;
  }
  uint64_t begun = now();
  run(seconds, request_limit);
  double took = (now() - begun) / 1e9;
  printf("{\"requests\":%llu,\"seconds\":%.6f,\"rate\":%.1f,\"p50_ns\":%llu,\"p90_ns\":%llu,\"p99_ns\":%llu,"
         "\"max_ns\":%llu,\"bytes\":%llu,\"errors\":%llu}\n",
         (unsigned long long)answers, took, answers / took, (unsigned long long)percentile(0.5),
         (unsigned long long)percentile(0.9), (unsigned long long)percentile(0.99), (unsigned long long)slowest,
         (unsigned long long)bytes, (unsigned long long)errors);
  return 0;
}
