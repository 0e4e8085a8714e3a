/* Frames of masked readings. See tfhe_sbc_frames.h. */
#include "tfhe_sbc_frames.h"

/* Bits that wait for a whole byte: up to 7, and a code. */
#if TFHE_SBC_FRAMES_WIDTH == 16
typedef uint32_t pending_bits;
#else
typedef uint64_t pending_bits;
#endif

enum { COUNTER_BYTES = 4, TAG_BYTES = 8, BLOCK_HALFWORDS = 32, PADS = 0, MAC = 1 };

static uint32_t load32(const uint8_t *from) {
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void store32(uint8_t *to, uint32_t word) {
    for (uint8_t i = 0; i < 4; i++, word >>= 8)
        to[i] = (uint8_t)word;
}

/* Overwrites secrets, which a compiler may not leave out. */
static void wipe(uint32_t *words, uint8_t count) {
    volatile uint32_t *place = words;
    while (count-- > 0)
        *place++ = 0;
}

/* ---- ChaCha20 (RFC 8439, section 2.3) ---- */

static uint32_t rotate(uint32_t word, uint8_t by) { return word << by | word >> (32 - by); }

static void quarter_round(uint32_t *pa, uint32_t *pb, uint32_t *pc, uint32_t *pd) {
    uint32_t a = *pa, b = *pb, c = *pc, d = *pd;
    a += b;
    d = rotate(d ^ a, 16);
    c += d;
    b = rotate(b ^ c, 12);
    a += b;
    d = rotate(d ^ a, 8);
    c += d;
    b = rotate(b ^ c, 7);
    *pa = a, *pb = b, *pc = c, *pd = d;
}

/* Adds the words of a text or key. */
static void add_words(uint32_t *x, const uint8_t *bytes, uint8_t count) {
    for (; count-- > 0; bytes += 4)
        *x++ += load32(bytes);
}

/* Adds the input of the block function to the state: constants, key, and block index, counter,
 * domain, 0. */
static void add_input(uint32_t x[16], const uint8_t key[32], uint32_t index, uint32_t counter,
                      uint32_t domain) {
    add_words(x, (const uint8_t *)"expand 32-byte k", 4);
    add_words(x + 4, key, 8);
    x[12] += index;
    x[13] += counter;
    x[14] += domain;
}

static void block(uint32_t x[16], const uint8_t key[32], uint32_t index, uint32_t counter,
                  uint32_t domain) {
    wipe(x, 16);
    add_input(x, key, index, counter, domain);
    for (uint8_t round = 0; round < 10; round++) {
        for (uint8_t i = 0; i < 4; i++)
            quarter_round(x + i, x + 4 + i, x + 8 + i, x + 12 + i);
        for (uint8_t i = 0; i < 4; i++)
            quarter_round(x + i, x + 4 + (i + 1) % 4, x + 8 + (i + 2) % 4, x + 12 + (i + 3) % 4);
    }
    add_input(x, key, index, counter, domain);
}

/* ---- SipHash-2-4 (Aumasson and Bernstein, 2012) ---- */

static uint64_t load64(const uint8_t *from) {
    return load32(from) | (uint64_t)load32(from + 4) << 32;
}

static uint64_t rotate64(uint64_t word, uint8_t by) { return word << by | word >> (64 - by); }

static void sip_rounds(uint64_t v[4], uint8_t count) {
    uint64_t a = v[0], b = v[1], c = v[2], d = v[3];
    while (count-- > 0) {
        a += b;
        b = rotate64(b, 13) ^ a;
        a = rotate64(a, 32);
        c += d;
        d = rotate64(d, 16) ^ c;
        a += d;
        d = rotate64(d, 21) ^ a;
        c += b;
        b = rotate64(b, 17) ^ c;
        c = rotate64(c, 32);
    }
    v[0] = a, v[1] = b, v[2] = c, v[3] = d;
}

static void sip_absorb(uint64_t v[4], const uint8_t bytes[8]) {
    const uint64_t word = load64(bytes);
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

/* Writes the tag of the id and `len` further bytes. */
static void write_tag(uint8_t *tag, const uint8_t key[16], const uint8_t id[8],
                      const uint8_t *bytes, uint16_t len) {
    static const char constants[] = "uespemosmodnarodarenegylsetybdet";
    const uint8_t message_bytes = (uint8_t)(len + 8);
    uint8_t last[8];
    uint64_t v[4];
    uint8_t i;
    for (i = 0; i < 4; i++)
        v[i] = load64((const uint8_t *)constants + 8 * i) ^ load64(key + i % 2 * 8);
    sip_absorb(v, id);
    for (; len >= 8; len -= 8, bytes += 8)
        sip_absorb(v, bytes);
    for (i = 0; i < 7; i++)
        last[i] = i < len ? bytes[i] : 0;
    last[7] = message_bytes;
    sip_absorb(v, last);
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    v[0] ^= v[1] ^ v[2] ^ v[3];
    store32(tag, (uint32_t)v[0]);
    store32(tag + 4, (uint32_t)(v[0] >> 32));
}

/* ---- Frames ---- */

uint16_t tfhe_sbc_frames_bytes(const tfhe_sbc_frames_board *board) {
    uint16_t bits = 0;
    for (uint8_t i = 0; i < board->columns; i++)
        bits += board->column[i].width;
    return (uint16_t)(((uint32_t)board->rows * bits + 7) / 8 + COUNTER_BYTES + TAG_BYTES +
                      (board->named ? 8 : 0));
}

int tfhe_sbc_frames_open(tfhe_sbc_frames *frames, const tfhe_sbc_frames_board *board,
                         uint32_t limit, uint16_t leap, tfhe_sbc_frames_store store,
                         void *context) {
    uint32_t x[16];
    uint8_t i;
    if (board->columns == 0 || board->columns > TFHE_SBC_FRAMES_MAX_COLUMNS || board->rows == 0)
        return TFHE_SBC_FRAMES_BOARD;
    for (i = 0; i < board->columns; i++) {
        const tfhe_sbc_frames_column *column = &board->column[i];
        if (column->bits == 0 || column->bits > column->width ||
            column->width > TFHE_SBC_FRAMES_WIDTH)
            return TFHE_SBC_FRAMES_BOARD;
    }
    frames->board = board;
    frames->store = store;
    frames->context = context;
    frames->next = limit;
    frames->limit = limit;
    frames->leap = leap > 0 ? leap : 1;
    block(x, board->key, 0, 0, MAC);
    for (i = 0; i < 4; i++)
        store32(frames->mac_key + 4 * i, x[i]);
    wipe(x, 16);
    return 0;
}

/* Takes the next counter, and first stores that it may be used. */
static int take_counter(tfhe_sbc_frames *frames, uint32_t *counter) {
    if (frames->next >= frames->board->frames)
        return TFHE_SBC_FRAMES_EXHAUSTED;
    if (frames->next >= frames->limit) {
        uint32_t left = frames->board->frames - frames->next;
        uint32_t limit = frames->next + (left < frames->leap ? left : frames->leap);
        if (frames->store(frames->context, limit) != 0)
            return TFHE_SBC_FRAMES_STORE;
        frames->limit = limit;
    }
    *counter = frames->next++;
    return 0;
}

int tfhe_sbc_frames_encode(tfhe_sbc_frames *frames, const tfhe_sbc_code *codes, uint8_t *out) {
    const tfhe_sbc_frames_board *board = frames->board;
    const uint16_t count = (uint16_t)(board->rows * board->columns);
    uint32_t x[16], counter;
    uint32_t next_block = 0;
    pending_bits pending = 0;
    tfhe_sbc_code excess = 0;
    uint8_t pending_count = 0, used = BLOCK_HALFWORDS, column = 0, i;
    uint8_t *tagged = out, *place;
#if TFHE_SBC_FRAMES_WIDTH > 16
    uint8_t lane = 1;
    for (i = 0; i < board->columns; i++)
        if (board->column[i].width > 16)
            lane = 2;
#else
    enum { lane = 1 };
#endif
    int status;

    for (uint16_t j = 0; j < count; j++) {
        /* In two steps, because a shift by all bits of a number has no result in C. */
        excess |= (tfhe_sbc_code)(codes[j] >> (board->column[column].bits - 1) >> 1);
        if (++column == board->columns)
            column = 0;
    }
    if (excess != 0)
        return TFHE_SBC_FRAMES_CODE;
    status = take_counter(frames, &counter);
    if (status != 0)
        return status;

    if (board->named) {
        for (i = 0; i < 8; i++)
            *tagged++ = board->id[i];
    }
    store32(tagged, counter);
    place = tagged + COUNTER_BYTES;
    for (uint16_t j = 0; j < count; j++) {
        const uint8_t width = board->column[column].width;
        tfhe_sbc_code masked = codes[j];
        if (used == BLOCK_HALFWORDS) {
            block(x, board->key, next_block++, counter, PADS);
            used = 0;
        }
        if (lane == 1)
            masked += (tfhe_sbc_code)(x[used / 2] >> 16 * (used % 2));
        else
            masked += (tfhe_sbc_code)x[used / 2];
        used += lane;
        masked &= (tfhe_sbc_code)((tfhe_sbc_code)-1 >> (TFHE_SBC_FRAMES_WIDTH - width));
        pending |= (pending_bits)masked << pending_count;
        for (pending_count += width; pending_count >= 8; pending_count -= 8, pending >>= 8)
            *place++ = (uint8_t)pending;
        if (++column == board->columns)
            column = 0;
    }
    if (pending_count > 0)
        *place++ = (uint8_t)pending;
    wipe(x, 16);
    write_tag(place, frames->mac_key, board->id, tagged, (uint16_t)(place - tagged));
    return (int)(place + TAG_BYTES - out);
}
