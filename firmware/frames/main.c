/* Makes one frame of 24 readings of 12 bits, for `cargo xtask arm`, which counts its instructions and
 * reads what it prints. The encoder is the one in C or the one in Rust. */
#include "../cortex-m4-c/board.h"
#include "encoder.h"

/* Hints without effect, between which firmware/qemu/count.c counts. All of Thumb's processors have them. */
#define BEGIN_OPEN __asm volatile(".inst.n 0xbf80" ::: "memory")
#define BEGIN_ENCODE __asm volatile(".inst.n 0xbf90" ::: "memory")
#define END __asm volatile(".inst.n 0xbff0" ::: "memory")

enum { ROWS = 24, FRAME_BYTES = 51 };

static const uint32_t PAINT = 0xa5a5a5a5u;

/* The frame of docs/frames.md. */
static const uint8_t expected[FRAME_BYTES] = {
    0x6d, 0x01, 0x00, 0x00, 0x99, 0x07, 0xc7, 0x86, 0x0a, 0x04, 0x5b, 0xbb, 0xbb,
    0x7e, 0x86, 0x58, 0x11, 0x7a, 0x16, 0xb7, 0xc2, 0x8e, 0xe5, 0xa6, 0x26, 0xd6,
    0x73, 0xc0, 0x47, 0xdb, 0x5a, 0xcc, 0xd5, 0x05, 0x0c, 0x8b, 0xaa, 0x81, 0xf9,
    0x49, 0x7d, 0xce, 0x3b, 0xb9, 0xcf, 0x4f, 0x0e, 0x36, 0xc6, 0xbe, 0x9f,
};

static uint16_t codes[ROWS];
static uint8_t frame[FRAME_BYTES];

static void print_number(uint32_t number) {
    char digits[11];
    char *first = digits + 10;
    *first = 0;
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    board_print(first);
}

static void print_bytes(const char *name, uint32_t bytes) {
    board_print("bytes frames_" ENCODER "_");
    board_print(name);
    board_print(" ");
    print_number(bytes);
    board_print("\n");
}

/* Linker symbols: the end of the variables, up to which the stack may grow. */
extern uint32_t bss_end;

/* Fills the free memory below the caller's stack with a pattern, and returns where that ends. */
static inline __attribute__((always_inline)) uint32_t *paint(void) {
    uint32_t *top;
    __asm volatile("mov %0, sp" : "=r"(top));
    for (volatile uint32_t *word = &bss_end; word < top; word++)
        *word = PAINT;
    return top;
}

/* The bytes below `top` that are not as they were painted. */
static uint32_t stack_bytes(const uint32_t *top) {
    const volatile uint32_t *word = &bss_end;
    while (word < top && *word == PAINT)
        word++;
    return (uint32_t)(top - word) * 4;
}

int main(void) {
    for (int i = 0; i < ROWS; i++)
        codes[i] = (uint16_t)(100 + 101 * i);

    BEGIN_OPEN;
    const int status = encoder_open();
    END;
    const uint32_t *top = paint();
    BEGIN_ENCODE;
    const int len = encoder_encode(codes, frame);
    END;
    const uint32_t stack = stack_bytes(top);

    if (status != 0 || len != FRAME_BYTES)
        return 1;
    for (int i = 0; i < FRAME_BYTES; i++)
        if (frame[i] != expected[i])
            return 1;
    board_print("region 0 frames_" ENCODER "_start\n");
    board_print("region 1 frames_" ENCODER "\n");
    print_bytes("state", encoder_state_bytes());
    print_bytes("stack", stack);
    return 0;
}
