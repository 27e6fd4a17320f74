#pragma once

// The QR code (ISO/IEC 18004) of a text, in byte mode, at error correction level M, in the smallest version that holds
// it: `*size` rows of as many bytes, 1 for a dark module. The caller frees them (free(3)). NULL if libqrencode is missing
// or no version holds the text.
unsigned char *lanyard_qr_code(const char *text, int *size);
