// A plugin for QEMU's TCG that counts the guest instructions of marked regions.
//
// The guest marks region `id` (0..14) by hints that do nothing on a processor:
//   A64        hint #(96 + id) before, hint #111 behind
//   A32, T32   dbg #id before, dbg #15 behind
//   T16        the hints 0xbf80 + 16 id (id 0 to 6) before, 0xbff0 behind: for ARMv6-M, which has no dbg
// Markers themselves are not counted. Regions do not nest. Per region, one line
// `region ID calls N min COUNT max COUNT` goes to the file of the argument `out=`.
//
//   cc -O2 -shared -fPIC -o libcount.so count.c
//   qemu-aarch64 -plugin ./libcount.so,out=counts.txt PROGRAM
//
// Counts are of one processor: the program is to have one thread. Plugin interface of
// version 1 (QEMU 4.2 to 8.2), declared here since distributions do not ship its header.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    struct { int smp_vcpus, max_vcpus; } system;
} plugin_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0 };
enum { INLINE_ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_insn_exec_cb(
    struct qemu_plugin_insn *, void (*)(unsigned, void *), int registers, void *);
void qemu_plugin_register_vcpu_insn_exec_inline(
    struct qemu_plugin_insn *, int operation, void *address, uint64_t immediate);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;

enum { REGIONS = 15, END = 15, NO_MARKER = -1 };

static struct region {
    uint64_t calls, min, max;
} regions[REGIONS];

static bool is_a64;
static const char *out_path;
static uint64_t executed;      // instructions so far, markers excepted
static int open_region = NO_MARKER;
static uint64_t executed_at_start;

/// The marker that an instruction is: a region, END, or NO_MARKER.
static int marker_of(const struct qemu_plugin_insn *instruction) {
    uint32_t word;
    uint16_t half;
    if (!is_a64 && qemu_plugin_insn_size(instruction) == sizeof half) {
        memcpy(&half, qemu_plugin_insn_data(instruction), sizeof half);
        if ((half & 0xff8f) != 0xbf80) {
            return NO_MARKER;
        }
        return half == 0xbff0 ? END : (half >> 4) & 7;
    }
    if (qemu_plugin_insn_size(instruction) != sizeof word) {
        return NO_MARKER;
    }
    memcpy(&word, qemu_plugin_insn_data(instruction), sizeof word);
    if (is_a64) {
        bool is_hint = (word & 0xfffff01f) == 0xd503201f;
        unsigned number = (word >> 5) & 0x7f;
        return is_hint && number >= 96 && number <= 111 ? (int)number - 96 : NO_MARKER;
    }
    // A T32 instruction has its first halfword in the low half of the word.
    uint32_t halves = (word << 16) | (word >> 16);
    bool is_debug_hint = (word & 0xfffffff0) == 0xe320f0f0 || (halves & 0xfffffff0) == 0xf3af80f0;
    if (!is_debug_hint) {
        return NO_MARKER;
    }
    return (word & 0xfffffff0) == 0xe320f0f0 ? (int)(word & 15) : (int)(halves & 15);
}

static void on_marker(unsigned cpu, void *data) {
    (void)cpu;
    int marker = (int)(intptr_t)data;
    if (marker != END) {
        open_region = marker;
        executed_at_start = executed;
        return;
    }
    if (open_region == NO_MARKER) {
        return;
    }
    struct region *region = &regions[open_region];
    uint64_t count = executed - executed_at_start;
    if (region->calls == 0 || count < region->min) {
        region->min = count;
    }
    if (count > region->max) {
        region->max = count;
    }
    region->calls++;
    open_region = NO_MARKER;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *block) {
    (void)id;
    size_t length = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < length; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        int marker = marker_of(instruction);
        if (marker == NO_MARKER) {
            qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64, &executed, 1);
        } else {
            qemu_plugin_register_vcpu_insn_exec_cb(
                instruction, on_marker, NO_REGISTERS, (void *)(intptr_t)marker);
        }
    }
}

static void on_exit_of_guest(plugin_id id, void *data) {
    (void)id;
    (void)data;
    FILE *out = fopen(out_path, "w");
    if (out == NULL) {
        perror(out_path);
        return;
    }
    for (int i = 0; i < REGIONS; i++) {
        const struct region *region = &regions[i];
        if (region->calls > 0) {
            fprintf(out, "region %d calls %" PRIu64 " min %" PRIu64 " max %" PRIu64 "\n", i,
                    region->calls, region->min, region->max);
        }
    }
    fclose(out);
}

EXPORT int qemu_plugin_install(plugin_id id, const plugin_info *info, int argc, char **argv) {
    is_a64 = strcmp(info->target_name, "aarch64") == 0;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) == 0) {
            out_path = strdup(argv[i] + 4);
        }
    }
    if (out_path == NULL) {
        fprintf(stderr, "count: name a file for the counts with out=FILE\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_guest, NULL);
    return 0;
}
