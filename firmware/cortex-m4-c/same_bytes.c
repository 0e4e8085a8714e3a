/* Runs ../same-bytes on this board. */
#include "same_bytes.h"

int main(void) { return same_bytes(); }
