/* An emulated board, which prints and exits by semihosting. A real board sends to its UART or
 * radio, and has a true random number generator. */
#include "board.h"

static uint32_t semihosting(uint32_t operation, const void *argument) {
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text) {
    static uint32_t console;
    uint32_t len = 0;
    while (text[len] != 0)
        len++;
    if (console == 0) {
        /* SYS_OPEN of the console, for writing. */
        const uintptr_t open[3] = {(uintptr_t) ":tt", 4, 3};
        console = semihosting(0x01, open);
    }
    /* SYS_WRITE. */
    const uintptr_t write[3] = {console, (uintptr_t)text, len};
    semihosting(0x05, write);
}

void board_exit(int status) {
    /* SYS_EXIT_EXTENDED: ADP_Stopped_ApplicationExit and the status. */
    const uint32_t argument[2] = {0x20026, (uint32_t)status};
    for (;;)
        semihosting(0x20, argument);
}

int board_entropy(void *context, uint8_t *out, size_t len) {
    (void)context;
#ifdef TFHE_SBC_TEST_ENTROPY
    /* Known to everybody: messages made with it are NOT ENCRYPTED. */
    static uint32_t state = 0x5eed;
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(state >> 24);
    }
    return 0;
#else
    /* Read the board's true random number generator here; on an STM32F405 wait for DRDY of
     * RNG_SR, check SECS and CECS, and take RNG_DR. Until then nothing is encrypted. */
    (void)out;
    (void)len;
    return 1;
#endif
}
