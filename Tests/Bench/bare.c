// Bare libcurl with one kept connection: the limit of `request.send`.
//
//   bare URL HEADER SECONDS WARMUP CPU
//
// Sends one GET after the other with a reused easy handle, and prints JSON: requests, errors, p50_ns, p99_ns, cpu_ns (its
// own CPU time a request).

#define _GNU_SOURCE
#include <curl/curl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 4000000 };
static uint64_t *times;

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static size_t ignore(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  (void)context;
  return size * count;
}

static int compare(const void *one, const void *other) {
  uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(atoi(argv[5]), &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  times = malloc(MOST * sizeof *times);
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  struct curl_slist *fields = curl_slist_append(NULL, argv[2]);
  curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
  uint64_t begin = now(CLOCK_MONOTONIC), measured = begin + (uint64_t)(atof(argv[4]) * 1e9);
  uint64_t end = measured + (uint64_t)(atof(argv[3]) * 1e9), cpu = 0;
  size_t count = 0, errors = 0;
  for (uint64_t before = begin; before < end && count < MOST;) {
    long status = 0;
    if (curl_easy_perform(easy) != CURLE_OK) errors++;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) errors++;
    uint64_t after = now(CLOCK_MONOTONIC);
    if (before >= measured) {
      if (!cpu) cpu = now(CLOCK_PROCESS_CPUTIME_ID);
      times[count++] = after - before;
    }
    before = after;
  }
  if (!count) return 1;
  cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  qsort(times, count, sizeof *times, compare);
  printf("{\"requests\":%zu,\"errors\":%zu,\"p50_ns\":%llu,\"p99_ns\":%llu,\"cpu_ns\":%llu}\n", count, errors,
         (unsigned long long)times[count / 2], (unsigned long long)times[count * 99 / 100],
         (unsigned long long)(cpu / count));
  return 0;
}
