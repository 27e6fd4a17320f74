#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

// libcurl without linking it: see README.md. Call only the names that begin with `ccurl_`; the functions that curl.h
// declares are not linked.

// Opens libcurl. False if it is missing or older than 7.80, which does not report when sending begins; the next call
// looks again, since a person may install it meanwhile. All other functions require that this returned true.
bool ccurl_open(void);
typedef enum { ccurl_lacks_itself, ccurl_lacks_crypto, ccurl_lacks_tls } ccurl_lack;
// What is missing where `ccurl_open` returns false: libcurl, or a library of OpenSSL without which it does not open.
ccurl_lack ccurl_missing(void);
// Whether zlib came with libcurl. The functions of `ccurl_inflater` require it.
bool ccurl_can_decode(void);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
// libcurl copies the string.
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
// libcurl keeps the pointer.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);
// Certificates that are trusted, in PEM form, instead of a file. libcurl copies them.
CURLcode ccurl_set_authorities(CURL *easy, const void *bytes, size_t count);

typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);
// `ccurl_receive` returns it when it has taken nothing; the transfer waits until `ccurl_resume`, which offers the same
// bytes again.
static const size_t ccurl_pause = CURL_WRITEFUNC_PAUSE;
// Called once, after the connection stands and before the first byte of the request leaves.
typedef int (*ccurl_about_to_send)(void *context, char *peer, char *local, int peer_port, int local_port);
CURLcode ccurl_set_callbacks(
  CURL *easy, void *context, ccurl_about_to_send about_to_send, ccurl_receive header, ccurl_receive body);
typedef size_t (*ccurl_send)(char *bytes, size_t size, size_t count, void *context);
// `ccurl_send` returns them when it has nothing now, until `ccurl_resume`, and when the body ends before its time.
static const size_t ccurl_read_pause = CURL_READFUNC_PAUSE;
static const size_t ccurl_read_abort = CURL_READFUNC_ABORT;
// Reads the body of an upload.
CURLcode ccurl_set_body(CURL *easy, void *context, ccurl_send send);
// Called with each socket that libcurl opens for a connection, before it connects.
typedef int (*ccurl_opened)(void *context, curl_socket_t socket, curlsocktype purpose);
CURLcode ccurl_set_opened(CURL *easy, void *context, ccurl_opened opened);
// Called with each address before libcurl connects to it: 4 or 16 bytes in network order. False refuses the address, and
// libcurl tries the next one.
typedef bool (*ccurl_may_connect)(const unsigned char *address, size_t count);
CURLcode ccurl_set_may_connect(CURL *easy, ccurl_may_connect may_connect);
// Whether nothing waits to be read on a connection that no request uses, and its other end has not closed it. Only
// valid in `ccurl_about_to_send`, with the socket of the connection. Always false for TLS by another library than
// OpenSSL 3.
bool ccurl_is_quiet(CURL *easy, int socket, bool is_tls);
// The local port of an IP socket; -1 for any other descriptor.
int ccurl_local_port(int socket);
// Makes OpenSSL overwrite decrypted bytes once they are read. No effect with another TLS library.
CURLcode ccurl_cleanse_plaintext(CURL *easy);

CURLcode ccurl_resume(CURL *easy);

// The socket of a connection that CURLOPT_CONNECT_ONLY opened, as long as the handle; -1 without one.
int ccurl_active_socket(CURL *easy);
// Bytes over that connection, through the TLS that libcurl opened on it. CURLE_AGAIN where the socket has to be waited for.
CURLcode ccurl_send_bytes(CURL *easy, const void *bytes, size_t count, size_t *sent);
CURLcode ccurl_receive_bytes(CURL *easy, void *bytes, size_t count, size_t *received);

long ccurl_get_long(CURL *easy, CURLINFO info);
// NULL if libcurl has none; valid as long as the handle.
const char *ccurl_get_string(CURL *easy, CURLINFO info);

// The server's own certificate, in PEM form, after a handshake with CURLOPT_CERTINFO. NULL if there is none; valid as long
// as the handle.
const char *ccurl_get_certificate(CURL *easy);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_perform(CURLM *multi);
/// Waits also for `wake` and `source` to be readable, -1 for none. Bit 0: `wake` is; bit 1: `source` is, or its other end is
/// closed.
int ccurl_multi_poll_both(CURLM *multi, int wake, int source, int timeout_milliseconds);
/// Waits also for `wake` to be readable. True if it is.
bool ccurl_multi_poll(CURLM *multi, int wake, int timeout_milliseconds);
// The next transfer that ended; NULL if there is none.
CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result);

// Returns free heap memory to the system, and the pages of the program and its libraries that equal their files: with
// libcurl and what a transfer needs of the program, 20 MB of code and constants. What is needed again is read from the
// page cache.
void ccurl_give_memory_back(void);

// All threads together use so many heaps (mallopt(3)), instead of one each that keeps the memory of its largest body.
void ccurl_limit_heaps(int count);

// Decodes one stream of compressed bytes.
typedef struct ccurl_inflater ccurl_inflater;
// RFC 1952, RFC 1950, RFC 1951.
typedef enum { ccurl_gzip, ccurl_zlib, ccurl_raw_deflate } ccurl_format;
typedef enum { ccurl_unfinished, ccurl_finished, ccurl_damaged } ccurl_progress;
// NULL without memory.
ccurl_inflater *ccurl_inflater_make(ccurl_format format);
void ccurl_inflater_free(ccurl_inflater *inflater);
// Decodes as much of `in` as fits into `out`.
ccurl_progress ccurl_inflate(
  ccurl_inflater *inflater, const void *in, size_t in_count, size_t *used, void *out, size_t out_size, size_t *made);
// Begins with the next stream after a finished one.
bool ccurl_inflate_again(ccurl_inflater *inflater);
