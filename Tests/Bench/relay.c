// What any program costs that sends requests for others: each line of a client on a unix socket is answered with the
// response to one GET by libcurl, on a connection that is kept. It reads of the line only its id, knows one URL and one
// token, and decides nothing; one thread reads, sends and answers.
//
//   relay SOCKET URL HEADER
//
// Serves one client after the other until it is killed. Built by bench.py with `cc -O2 -lcurl`.

#define _GNU_SOURCE
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char body[1 << 16];
static size_t length;

static size_t take(char *bytes, size_t size, size_t count, void *context) {
  (void)context;
  if (length + size * count > sizeof body) return 0;
  memcpy(body + length, bytes, size * count);
  length += size * count;
  return size * count;
}

static void serve(int client, CURL *easy) {
  static char line[1 << 16], answer[1 << 17];
  for (ssize_t got; (got = read(client, line, sizeof line - 1)) > 0;) {
    line[got] = 0;
    const char *id = strstr(line, "\"id\":");
    if (!id) return;
    id += strlen("\"id\":");
    length = 0;
    if (curl_easy_perform(easy) != CURLE_OK) return;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    const char *form = "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"status\":%ld,\"body\":%.*s}}\n";
    int digits = (int)strspn(id, "0123456789");
    int count = snprintf(answer, sizeof answer, form, digits, id, status, (int)length, body);
    if (send(client, answer, (size_t)count, MSG_NOSIGNAL) != count) return;
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) return 1;
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  struct curl_slist *fields = curl_slist_append(NULL, argv[3]);
  curl_easy_setopt(easy, CURLOPT_URL, argv[2]);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client < 0) return 1;
    serve(client, easy);
    close(client);
  }
}
