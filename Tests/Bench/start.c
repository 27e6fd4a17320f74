// What a start costs any program that holds its secrets as the agent does, and does no other work: the libraries that the agent
// needs at once, a helper forked before the first secret, the names of the certificate authorities, the records of a store, each
// unsealed, and a socket.
//
//   start SOCKET STORE BYTES
//
// STORE is a copy of the agent's. The answer to a line is that many bytes. Serves one connection after the other until it is
// killed. Built by bench.py with `cc -O2` and with libsqlite3 and libsodium.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "start: %s failed\n", what);
  exit(1);
}

// It answers nothing, and ends with its parent.
static void fork_helper(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) fail("socketpair");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    char byte;
    close(ends[0]);
    while (read(ends[1], &byte, 1) > 0) {}
    _exit(0);
  }
  close(ends[1]);
}

static void read_links(const char *path) {
  DIR *directory = opendir(path);
  if (!directory) return;
  char target[4096];
  for (struct dirent *entry; (entry = readdir(directory));) {
    ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    (void)length;
  }
  closedir(directory);
}

// What a start of the agent reads: heads, keys and profiles of accounts, and what belongs to the vault. The key is not the
// store's, so nothing opens; the work for a seal is the same but for the last comparison.
static void read_store(const char *path) {
  static unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES], plain[1 << 20];
  sqlite3 *store;
  sqlite3_stmt *rows;
  if (sqlite3_open_v2(path, &store, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) fail("sqlite3_open_v2");
  if (sqlite3_exec(store, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) != SQLITE_OK) fail("PRAGMA");
  const char *query = "SELECT kind, id, sealed FROM record WHERE kind < 4 OR kind >= 16";
  if (sqlite3_prepare_v2(store, query, -1, &rows, NULL) != SQLITE_OK) fail("SELECT");
  while (sqlite3_step(rows) == SQLITE_ROW) {
    const unsigned char *sealed = sqlite3_column_blob(rows, 2);
    unsigned long long sealed_bytes = sqlite3_column_bytes(rows, 2), plain_bytes;
    if (sealed_bytes < 40 || sealed_bytes > sizeof plain) continue;
    int result = crypto_aead_xchacha20poly1305_ietf_decrypt(
      plain, &plain_bytes, NULL, sealed + 24, sealed_bytes - 24, NULL, 0, sealed, key);
    (void)result;
  }
  sqlite3_finalize(rows);
}

int main(int argc, char **argv) {
  if (argc != 4) fail("start SOCKET STORE BYTES");
  struct rlimit none = {0, 0};
  if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0) fail("prctl");
  fork_helper();
  if (sodium_init() < 0) fail("sodium_init");
  read_links("/etc/ssl/certs");
  read_store(argv[2]);
  size_t length = strtoul(argv[3], NULL, 10);
  char *answer = malloc(length);
  if (!answer) fail("malloc");
  memset(answer, 'a', length);
  answer[length - 1] = '\n';
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(argv[1]) >= sizeof address.sun_path) fail(argv[1]);
  strcpy(address.sun_path, argv[1]);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 16) < 0) fail(argv[1]);
  for (;;) {
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    char line[1 << 16];
    if (client >= 0 && read(client, line, sizeof line) > 0 && write(client, answer, length) < 0) fail("write");
    close(client);
  }
}
