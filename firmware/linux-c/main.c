/* Encrypts numbers, one or more a line and separated by commas or spaces.
 *
 *     encrypt KEY OFFSET SCALE BITS NAME [UNIT] < readings.csv > upload.tsbc
 *     encrypt KEY OFFSET SCALE BITS < readings.csv > message.tsbc
 *
 * KEY is a device key file, or a device public key file. Reading v is sent as the code
 * round((v - OFFSET) / SCALE) of BITS bits. With a NAME it makes an upload that a server takes: a
 * description of one column of that name, its rows numbered from 0, and then the ciphertexts.
 * Without a NAME it makes the ciphertexts alone. With a key for bits, which has no columns, readings are their
 * codes' bits. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <tfhe_sbc.h>

static int entropy(void *context, uint8_t *out, size_t len) {
    (void)context;
    while (len > 0) {
        const ssize_t got = getrandom(out, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 1;
        out += got;
        len -= (size_t)got;
    }
    return 0;
}

static int write_piece(void *file, const uint8_t *piece, size_t len) {
    return fwrite(piece, 1, len, file) != len;
}

/* Prints what went wrong, and returns the exit status of a failure. */
static int fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* A buffer that grows. */
struct buffer {
    unsigned char *bytes;
    size_t len, capacity;
};

static int append(struct buffer *buffer, const void *bytes, size_t len) {
    if (buffer->capacity - buffer->len < len) {
        const size_t capacity = 2 * (buffer->capacity + len);
        unsigned char *grown = realloc(buffer->bytes, capacity);
        if (grown == NULL)
            return fail("memory", strerror(errno));
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
    return 0;
}

static int read_file(const char *path, struct buffer *buffer) {
    unsigned char piece[4096];
    size_t len;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(path, strerror(errno));
    int failed = 0;
    while (!failed && (len = fread(piece, 1, sizeof piece, file)) > 0)
        failed = append(buffer, piece, len);
    if (!failed && ferror(file))
        failed = fail(path, strerror(errno));
    fclose(file);
    return failed;
}

static int read_numbers(FILE *file, struct buffer *buffer) {
    for (;;) {
        double number;
        const int fields = fscanf(file, " %lf", &number);
        if (fields == EOF)
            return buffer->len == 0 ? fail("stdin", "no readings") : 0;
        if (fields != 1)
            return fail("stdin", "this is no number");
        if (append(buffer, &number, sizeof number))
            return 1;
        const int next = getc(file);
        if (next != ',' && next != EOF)
            ungetc(next, file);
    }
}

/* Reads a number of the command line. */
static int parse(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    return *text == 0 || *end != 0 ? fail(text, "this is no number") : 0;
}

/* Describes an upload of one column of readings, with their numbers as labels. */
static int32_t describe(tfhe_sbc_encryptor *encryptor, const tfhe_sbc_column *column, size_t count) {
    enum { LABEL = 24 };
    char *texts = malloc(count * LABEL);
    const char **labels = malloc(count * sizeof *labels);
    int32_t status = TFHE_SBC_STATUS_OTHER;
    if (texts != NULL && labels != NULL) {
        for (size_t row = 0; row < count; row++) {
            labels[row] = texts + row * LABEL;
            snprintf(texts + row * LABEL, LABEL, "%zu", row);
        }
        status = tfhe_sbc_describe_to(encryptor, column, 1, labels, count, write_piece, stdout);
    }
    free(labels);
    free(texts);
    return status;
}

static int32_t encrypt(const struct buffer *key, const tfhe_sbc_column *column,
                       const struct buffer *numbers) {
    const tfhe_sbc_encoding *encoding = &column->encoding;
    static tfhe_sbc_encryptor encryptor;
    const size_t count = numbers->len / sizeof(double);
    uint8_t *blocks = NULL;
    size_t block_count;
    tfhe_sbc_key_info info;
    tfhe_sbc_options options = {
        .key = key->bytes,
        .key_len = key->len,
        .plan = tfhe_sbc_recommended_plan(),
        .expander = TFHE_SBC_EXPANDER_CHACHA20,
        .entropy = entropy,
    };
    int32_t status = tfhe_sbc_key_info_read(key->bytes, key->len, &info);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_workspace_bytes(key->bytes, key->len, options.plan,
                                          &options.workspace_len);
    if (status != TFHE_SBC_STATUS_OK)
        return status;
    if (posix_memalign(&options.workspace, TFHE_SBC_WORKSPACE_ALIGNMENT, options.workspace_len))
        return TFHE_SBC_STATUS_OTHER;

    status = info.is_public ? tfhe_sbc_encryptor_init_public(&encryptor, &options)
                            : tfhe_sbc_encryptor_init(&encryptor, &options);
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_block_count(&encryptor, encoding->bits, count, &block_count);
    if (status == TFHE_SBC_STATUS_OK && (blocks = malloc(block_count)) == NULL)
        status = TFHE_SBC_STATUS_OTHER;
    if (status == TFHE_SBC_STATUS_OK)
        status = tfhe_sbc_encode_readings(&encryptor, encoding, (const double *)(void *)numbers->bytes,
                                          count, blocks, block_count);
    if (status == TFHE_SBC_STATUS_OK && column->name != NULL)
        status = info.is_boolean ? TFHE_SBC_STATUS_DESCRIPTION : describe(&encryptor, column, count);
    if (status == TFHE_SBC_STATUS_OK)
        status = info.is_boolean ? tfhe_sbc_encrypt_bits_to(&encryptor, blocks, block_count,
                                                            write_piece, stdout)
                                 : tfhe_sbc_encrypt_blocks_to(&encryptor, blocks, block_count,
                                                              write_piece, stdout);
    tfhe_sbc_encryptor_wipe(&encryptor);
    free(blocks);
    free(options.workspace);
    return status;
}

int main(int argc, char **argv) {
    struct buffer key = {NULL, 0, 0}, numbers = {NULL, 0, 0};
    double bits;
    if (argc < 5 || argc > 7)
        return fail("usage", "encrypt KEY OFFSET SCALE BITS [NAME [UNIT]] < readings.csv > upload.tsbc");
    tfhe_sbc_column column = {
        .name = argc > 5 ? argv[5] : NULL,
        .unit = argc > 6 ? argv[6] : "",
    };
    if (parse(argv[2], &column.encoding.offset) || parse(argv[3], &column.encoding.scale) ||
        parse(argv[4], &bits))
        return 1;
    column.encoding.bits = bits >= 1 && bits <= 52 ? (uint32_t)bits : 0;

    int failed = read_file(argv[1], &key) || read_numbers(stdin, &numbers);
    if (!failed) {
        const int32_t status = encrypt(&key, &column, &numbers);
        if (status != TFHE_SBC_STATUS_OK)
            failed = fail(argv[1], tfhe_sbc_error_text(status));
        else if (fflush(stdout) != 0)
            failed = fail("stdout", strerror(errno));
    }
    if (key.bytes != NULL)
        explicit_bzero(key.bytes, key.len);
    free(key.bytes);
    free(numbers.bytes);
    return failed;
}
