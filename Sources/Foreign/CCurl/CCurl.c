#define _GNU_SOURCE
#include "CCurl.h"
#include "CLibraries.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define FUNCTIONS(X)                                                                                          \
  X(global_init_mem) X(version_info) X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_pause) X(easy_send) X(easy_recv) \
  X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle) X(multi_remove_handle)   \
  X(multi_perform) X(multi_poll) X(multi_info_read)

#define DECLARE(name) static typeof(&curl_##name) name;
FUNCTIONS(DECLARE)

static typeof(&SSL_CTX_set_options) set_ssl_options;
static typeof(&SSL_has_pending) ssl_has_pending;
static typeof(&inflateInit2_) inflate_init;
static typeof(&inflate) inflate_more;
static typeof(&inflateReset) inflate_reset;
static typeof(&inflateEnd) inflate_end;
static _Atomic bool is_open;

// libcurl copies headers, bodies and responses, and frees every copy through these functions, which wipe it.

static void wiping_free(void *memory) {
  if (!memory) return;
  explicit_bzero(memory, malloc_usable_size(memory));
  free(memory);
}

static void *wiping_realloc(void *memory, size_t size) {
  if (!memory) return malloc(size);
  void *larger = malloc(size);
  if (!larger) return NULL;
  size_t old = malloc_usable_size(memory);
  memcpy(larger, memory, old < size ? old : size);
  wiping_free(memory);
  return larger;
}

static bool resolve(void *library) {
#define RESOLVE(name) if (!(name = (typeof(name))dlsym(library, "curl_" #name))) return false;
  FUNCTIONS(RESOLVE)
  return version_info(CURLVERSION_NOW)->version_num >= 0x075000;
}

static void open_now(void) {
  void *library = lanyard_open_library("libcurl.so.4");
  if (!library) return;
  if (!resolve(library)) {
    dlclose(library);
    return;
  }
  if (global_init_mem(CURL_GLOBAL_ALL, malloc, wiping_free, wiping_realloc, strdup, calloc) != CURLE_OK) return;
  curl_version_info_data *version = version_info(CURLVERSION_NOW);
  // The zlib that libcurl itself uses, found through its dependencies.
  inflate_init = (typeof(inflate_init))dlsym(library, "inflateInit2_");
  inflate_more = (typeof(inflate_more))dlsym(library, "inflate");
  inflate_reset = (typeof(inflate_reset))dlsym(library, "inflateReset");
  inflate_end = (typeof(inflate_end))dlsym(library, "inflateEnd");
  // The OpenSSL that libcurl itself uses, found through its dependencies.
  if (version->ssl_version && strncmp(version->ssl_version, "OpenSSL/3", 9) == 0) {
    set_ssl_options = (typeof(set_ssl_options))dlsym(library, "SSL_CTX_set_options");
    ssl_has_pending = (typeof(ssl_has_pending))dlsym(library, "SSL_has_pending");
  }
  is_open = true;
}

bool ccurl_open(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (is_open) return true;
  pthread_mutex_lock(&lock);
  if (!is_open) open_now();
  pthread_mutex_unlock(&lock);
  return is_open;
}

static bool opens(const char *name) {
  void *library = lanyard_open_library(name);
  if (library) dlclose(library);
  return library != NULL;
}

ccurl_lack ccurl_missing(void) {
  // Where its file is missing, too, a package manager brings OpenSSL along.
  if (!lanyard_library_is_there("libcurl.so.4")) return ccurl_lacks_itself;
  if (!opens("libcrypto.so.3")) return ccurl_lacks_crypto;
  return opens("libssl.so.3") ? ccurl_lacks_itself : ccurl_lacks_tls;
}

bool ccurl_can_decode(void) { return inflate_init && inflate_more && inflate_reset && inflate_end; }

// zlib's window holds the last 32 KiB of what it decoded.

static voidpf allocate_for_zlib(voidpf context, uInt count, uInt size) {
  (void)context;
  return calloc(count, size);
}

static void free_for_zlib(voidpf context, voidpf memory) {
  (void)context;
  wiping_free(memory);
}

struct ccurl_inflater { z_stream stream; };

ccurl_inflater *ccurl_inflater_make(ccurl_format format) {
  ccurl_inflater *inflater = calloc(1, sizeof *inflater);
  if (!inflater) return NULL;
  inflater->stream.zalloc = allocate_for_zlib;
  inflater->stream.zfree = free_for_zlib;
  int window = format == ccurl_gzip ? MAX_WBITS + 16 : format == ccurl_zlib ? MAX_WBITS : -MAX_WBITS;
  if (inflate_init(&inflater->stream, window, ZLIB_VERSION, (int)sizeof(z_stream)) == Z_OK) return inflater;
  free(inflater);
  return NULL;
}

void ccurl_inflater_free(ccurl_inflater *inflater) {
  inflate_end(&inflater->stream);
  wiping_free(inflater);
}

ccurl_progress ccurl_inflate(
  ccurl_inflater *inflater, const void *in, size_t in_count, size_t *used, void *out, size_t out_size, size_t *made) {
  z_stream *stream = &inflater->stream;
  stream->next_in = (Bytef *)in;
  stream->avail_in = (uInt)in_count;
  stream->next_out = out;
  stream->avail_out = (uInt)out_size;
  int result = inflate_more(stream, Z_NO_FLUSH);
  *used = in_count - stream->avail_in;
  *made = out_size - stream->avail_out;
  stream->next_in = NULL;
  stream->next_out = NULL;
  switch (result) {
    // Z_BUF_ERROR: nothing could be done with so few bytes of input or so little room.
    case Z_OK: case Z_BUF_ERROR: return ccurl_unfinished;
    case Z_STREAM_END: return ccurl_finished;
    default: return ccurl_damaged;
  }
}

bool ccurl_inflate_again(ccurl_inflater *inflater) { return inflate_reset(&inflater->stream) == Z_OK; }

CURL *ccurl_easy_init(void) { return easy_init(); }
void ccurl_easy_cleanup(CURL *easy) { easy_cleanup(easy); }
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return easy_setopt(easy, option, value); }
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) { return easy_setopt(easy, option, value); }
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return easy_setopt(easy, option, value);
}
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return easy_setopt(easy, option, value);
}

CURLcode ccurl_set_authorities(CURL *easy, const void *bytes, size_t count) {
  struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
  return easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

CURLcode ccurl_set_callbacks(
  CURL *easy, void *context, ccurl_about_to_send about_to_send, ccurl_receive header, ccurl_receive body) {
  CURLcode code = easy_setopt(easy, CURLOPT_PREREQFUNCTION, about_to_send);
  if (!code) code = easy_setopt(easy, CURLOPT_PREREQDATA, context);
  if (!code) code = easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
  if (!code) code = easy_setopt(easy, CURLOPT_HEADERDATA, context);
  if (!code) code = easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
  if (!code) code = easy_setopt(easy, CURLOPT_WRITEDATA, context);
  return code;
}

CURLcode ccurl_set_body(CURL *easy, void *context, ccurl_send send) {
  CURLcode code = easy_setopt(easy, CURLOPT_READFUNCTION, send);
  return code ? code : easy_setopt(easy, CURLOPT_READDATA, context);
}

CURLcode ccurl_set_opened(CURL *easy, void *context, ccurl_opened opened) {
  CURLcode code = easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, opened);
  return code ? code : easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  ccurl_may_connect may_connect = (ccurl_may_connect)context;
  bool may = false;
  if (address->family == AF_INET) {
    may = may_connect((const unsigned char *)&((struct sockaddr_in *)&address->addr)->sin_addr, 4);
  } else if (address->family == AF_INET6) {
    may = may_connect((const unsigned char *)&((struct sockaddr_in6 *)&address->addr)->sin6_addr, 16);
  }
  if (!may) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode ccurl_set_may_connect(CURL *easy, ccurl_may_connect may_connect) {
  CURLcode code = easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  return code ? code : easy_setopt(easy, CURLOPT_OPENSOCKETDATA, (void *)may_connect);
}

int ccurl_active_socket(CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK && socket != CURL_SOCKET_BAD ? socket : -1;
}

CURLcode ccurl_send_bytes(CURL *easy, const void *bytes, size_t count, size_t *sent) {
  return easy_send(easy, bytes, count, sent);
}

CURLcode ccurl_receive_bytes(CURL *easy, void *bytes, size_t count, size_t *received) {
  return easy_recv(easy, bytes, count, received);
}

int ccurl_local_port(int socket) {
  struct sockaddr_in6 address;
  socklen_t length = sizeof address;
  if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) return -1;
  // The port is at the same place in both families.
  return address.sin6_family == AF_INET || address.sin6_family == AF_INET6 ? ntohs(address.sin6_port) : -1;
}

bool ccurl_is_quiet(CURL *easy, int socket, bool is_tls) {
  char byte;
  if (recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return false;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  if (!is_tls) return true;
  // OpenSSL may have read more from the socket than libcurl has read from it.
  struct curl_tlssessioninfo *tls = NULL;
  if (!ssl_has_pending || easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls) return false;
  return tls->backend == CURLSSLBACKEND_OPENSSL && tls->internals && !ssl_has_pending(tls->internals);
}

static CURLcode cleanse(CURL *easy, void *context, void *unused) {
  (void)easy;
  (void)unused;
  set_ssl_options((SSL_CTX *)context, SSL_OP_CLEANSE_PLAINTEXT);
  return CURLE_OK;
}

CURLcode ccurl_cleanse_plaintext(CURL *easy) {
  return set_ssl_options ? easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, cleanse) : CURLE_OK;
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  easy_getinfo(easy, info, &value);
  return value;
}

CURLcode ccurl_resume(CURL *easy) { return easy_pause(easy, CURLPAUSE_CONT); }

const char *ccurl_get_string(CURL *easy, CURLINFO info) {
  char *value = NULL;
  easy_getinfo(easy, info, &value);
  return value;
}

const char *ccurl_get_certificate(CURL *easy) {
  struct curl_certinfo *chain = NULL;
  if (easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain || chain->num_of_certs < 1) return NULL;
  for (struct curl_slist *line = chain->certinfo[0]; line; line = line->next) {
    if (strncmp(line->data, "Cert:", 5) == 0) return line->data + 5;
  }
  return NULL;
}

CURLM *ccurl_multi_init(void) { return multi_init(); }
void ccurl_multi_cleanup(CURLM *multi) { multi_cleanup(multi); }
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return multi_setopt(multi, option, value);
}
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *easy) { return multi_add_handle(multi, easy); }
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *easy) { return multi_remove_handle(multi, easy); }
CURLMcode ccurl_multi_perform(CURLM *multi) {
  int running;
  return multi_perform(multi, &running);
}
bool ccurl_multi_poll(CURLM *multi, int wake, int timeout_milliseconds) {
  struct curl_waitfd waited = {.fd = wake, .events = CURL_WAIT_POLLIN};
  multi_poll(multi, &waited, 1, timeout_milliseconds, NULL);
  return waited.revents != 0;
}

int ccurl_multi_poll_both(CURLM *multi, int wake, int source, int timeout_milliseconds) {
  struct curl_waitfd waited[] = {{.fd = wake, .events = CURL_WAIT_POLLIN}, {.fd = source, .events = CURL_WAIT_POLLIN}};
  multi_poll(multi, waited, source < 0 ? 1 : 2, timeout_milliseconds, NULL);
  return (waited[0].revents != 0) | (waited[1].revents != 0) << 1;
}

CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

// Read-only segments equal their file, so dropping their pages loses nothing. Segments that relocation wrote to are
// marked writable in their header, even if they are read-only now.
static int drop_pages(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  (void)context;
  // The program headers lie in pages that are dropped here: read them all first, or the reading brings pages back.
  struct {
    uintptr_t start, end;
  } segments[16];
  size_t count = 0;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int header = 0; header < object->dlpi_phnum && count < 16; header++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[header];
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    segments[count].start = start & ~(page - 1);
    segments[count++].end = start + segment->p_memsz;
  }
  while (count-- > 0)
    madvise((void *)segments[count].start, segments[count].end - segments[count].start, MADV_DONTNEED);
  return 0;
}

void ccurl_limit_heaps(int count) { mallopt(M_ARENA_MAX, count); }

void ccurl_give_memory_back(void) {
  malloc_trim(0);
  dl_iterate_phdr(drop_pages, NULL);
}
