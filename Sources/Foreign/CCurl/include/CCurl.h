#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

// libcurl without linking it: see README.md. Only the names that begin with `ccurl_` may be called; the functions
// that curl.h declares are not linked.

// Opens libcurl once. False if there is none, or one too old to say when a request begins to leave (before 7.80).
// Everything below may be called only after it said true.
bool ccurl_open(void);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
// libcurl copies the string.
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
// libcurl keeps the pointer.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);

typedef size_t (*ccurl_receive)(char *bytes, size_t size, size_t count, void *context);
// Told once, after the connection stands and before the first byte of the request leaves.
typedef int (*ccurl_about_to_send)(void *context, char *peer, char *local, int peer_port, int local_port);
CURLcode ccurl_set_callbacks(
  CURL *easy, void *context, ccurl_about_to_send about_to_send, ccurl_receive header, ccurl_receive body);
// Has OpenSSL overwrite decrypted bytes once they are read. Does nothing with another TLS library.
CURLcode ccurl_cleanse_plaintext(CURL *easy);

long ccurl_get_long(CURL *easy, CURLINFO info);
curl_off_t ccurl_get_size(CURL *easy, CURLINFO info);
// NULL if there is none; lives as long as the handle.
const char *ccurl_get_string(CURL *easy, CURLINFO info);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove_handle(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_perform(CURLM *multi);
CURLMcode ccurl_multi_poll(CURLM *multi, int timeout_milliseconds);
CURLMcode ccurl_multi_wakeup(CURLM *multi);
// The next transfer that ended; NULL if there is none.
CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result);

// `SIGPIPE` and the agent's own signals are not for the thread that calls this.
void ccurl_block_signals(void);
// Gives back to the system what the heap has free and what stands in files anyway: code and constants of libcurl and
// of all that came with it, 10 MB of them. The next transfer reads them again from the page cache.
void ccurl_give_memory_back(void);
// Wipes what a transfer left on this thread's stack.
void ccurl_wipe_stack(void);
