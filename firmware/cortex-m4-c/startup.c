/* The start-up code, from reset to main: vectors, data, zeros, the floating-point unit. Newlib's
 * start-up file is not linked. */
#include <stdint.h>

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;

int main(void);
void board_exit(int status);
void reset_handler(void);
static void fault_handler(void);

static void fault_handler(void) { board_exit(1); }

void reset_handler(void) {
    const uint32_t *from = &data_load;
    for (uint32_t *to = &data_start; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
#ifdef __ARM_FP
    /* CPACR: full access to coprocessors 10 and 11. */
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;
    __asm volatile("dsb\n\tisb");
#endif
    board_exit(main());
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[] = {
    (vector)&stack_top, reset_handler, fault_handler, fault_handler,
    fault_handler,      fault_handler, fault_handler,
};
