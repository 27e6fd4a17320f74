#include "CQRCode.h"
#include "CLibraries.h"

#include <dlfcn.h>
#include <stdlib.h>

// The part of qrencode.h that is called: it belongs to the interface of libqrencode.so.4. Where the header is installed, a
// declaration that differs from it does not compile.
#if __has_include(<qrencode.h>)
#include <qrencode.h>
#else
typedef enum { QR_ECLEVEL_L = 0, QR_ECLEVEL_M } QRecLevel;
typedef struct {
  int version;
  int width;
  unsigned char *data;
} QRcode;
#endif
QRcode *QRcode_encodeString8bit(const char *string, int version, QRecLevel level);
void QRcode_free(QRcode *code);

unsigned char *lanyard_qr_code(const char *text, int *size) {
  // Not closed again: a program draws one code and ends.
  void *library = lanyard_open_library("libqrencode.so.4");
  if (!library) return NULL;
  typeof(&QRcode_encodeString8bit) encode = (typeof(encode))dlsym(library, "QRcode_encodeString8bit");
  typeof(&QRcode_free) release = (typeof(release))dlsym(library, "QRcode_free");
  if (!encode || !release) return NULL;
  QRcode *code = encode(text, 0, QR_ECLEVEL_M);
  if (!code) return NULL;
  int count = code->width * code->width;
  unsigned char *modules = malloc((size_t)count);
  // The other bits say what a module is for.
  for (int index = 0; modules && index < count; index++) modules[index] = code->data[index] & 1;
  *size = code->width;
  release(code);
  return modules;
}
