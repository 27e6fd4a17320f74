// A small MCP server over streamable HTTP, as fast as one can be: what a bridge before it adds is the bridge's own work.
//
//   mcp_server [METADATA]
//
// Prints its port and serves until it is killed, a thread a connection. Every POST is answered at once: by a result for the
// request's own id, or by 202 for a notification. With METADATA, a file in which `%s` is this server's origin, requests
// without an Authorization header are 401, and the file is the protected-resource metadata. Built by mcp.py with `cc -O2`.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

static char metadata[8192];
static char challenge[512];
static int port;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static int write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written <= 0) return -1;
    bytes += written;
    length -= (size_t)written;
  }
  return 0;
}

static int respond(int fd, const char *status, const char *more, const char *body) {
  static __thread char answer[1 << 16];
  int length = snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%s", status, strlen(body),
                        more, body);
  return write_all(fd, answer, (size_t)length);
}

// The text of the id: up to the comma or brace after it. Ids of the bench have neither.
static void copy_id(const char *body, char *id, size_t size) {
  const char *found = strstr(body, "\"id\"");
  id[0] = 0;
  if (!found) return;
  found += strcspn(found, ":") + 1;
  found += strspn(found, " ");
  size_t length = strcspn(found, ",}");
  if (length < size) {
    memcpy(id, found, length);
    id[length] = 0;
  }
}

static int post(int fd, const char *body) {
  static __thread char answer[1 << 15];
  char id[256];
  const char *json = "Content-Type: application/json\r\n";
  copy_id(body, id, sizeof id);
  if (!id[0]) return respond(fd, "202 Accepted", "", "");
  const char *result = "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"8\"}],\"isError\":false}";
  if (strstr(body, "\"initialize\""))
    result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
  else if (strstr(body, "\"server/discover\""))
    result = "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\"],"
             "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
  else if (strstr(body, "\"tools/list\""))
    result = "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[{\"name\":\"add\",\"description\":\"adds\","
             "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}}}}]}";
  snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id, result);
  return respond(fd, "200 OK", json, answer);
}

static int request(int fd, char *head, char *body) {
  if (!strncmp(head, "GET /.well-known/oauth-protected-resource", 41) && metadata[0])
    return respond(fd, "200 OK", "Content-Type: application/json\r\n", metadata);
  if (strncmp(head, "POST ", 5)) {
    if (!strncmp(head, "DELETE ", 7)) return respond(fd, "200 OK", "", "");
    return respond(fd, strncmp(head, "GET /mcp", 8) ? "404 Not Found" : "405 Method Not Allowed", "", "");
  }
  if (metadata[0] && !strcasestr(head, "\r\nauthorization: ")) return respond(fd, "401 Unauthorized", challenge, "");
  return post(fd, body);
}

static void *serve(void *argument) {
  int fd = (int)(intptr_t)argument;
  char *buffer = malloc(BUFFER + 1);
  size_t used = 0;
  for (;;) {
    buffer[used] = 0;
    char *end = strstr(buffer, "\r\n\r\n");
    if (end) {
      char *length_field = strcasestr(buffer, "\r\ncontent-length:");
      size_t length = length_field && length_field < end ? strtoul(length_field + 17, NULL, 10) : 0;
      char *body = end + 4;
      size_t whole = (size_t)(body - buffer) + length;
      if (whole > BUFFER) break;
      if (used >= whole) {
        char next = buffer[whole];
        buffer[whole] = 0;
        end[2] = 0;
        if (request(fd, buffer, body) < 0) break;
        buffer[whole] = next;
        used -= whole;
        memmove(buffer, buffer + whole, used);
        continue;
      }
    }
    if (used == BUFFER) break;
    ssize_t count = read(fd, buffer + used, BUFFER - used);
    if (count <= 0) break;
    used += (size_t)count;
  }
  free(buffer);
  close(fd);
  return NULL;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 128) < 0) fail("listen");
  if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) fail("getsockname");
  port = ntohs(address.sin_port);
  if (argc > 1) {
    char origin[64], format[4096];
    snprintf(origin, sizeof origin, "http://127.0.0.1:%d", port);
    FILE *file = fopen(argv[1], "r");
    if (!file) fail(argv[1]);
    size_t length = fread(format, 1, sizeof format - 1, file);
    format[length] = 0;
    fclose(file);
    char *place = strstr(format, "%s");
    if (!place) fail("no %s in the metadata");
    *place = 0;
    snprintf(metadata, sizeof metadata, "%s%s%s", format, origin, place + 2);
    snprintf(challenge, sizeof challenge,
             "WWW-Authenticate: Bearer resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp\"\r\n", origin);
  }
  printf("%d\n", port);
  fflush(stdout);
  for (;;) {
    int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0) continue;
    int yes = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection) == 0) pthread_detach(thread);
    else close(connection);
  }
}
