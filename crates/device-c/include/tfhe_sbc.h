/* tfhe_sbc.h: TFHE and CKKS encryption for small boards.
 *
 * Made by `cargo xtask header`; do not edit.
 *
 * A program starts a session with a key file from the key owner, a workspace that the program
 * provides, and a source of entropy. The session encrypts bits, or radix blocks that
 * tfhe_sbc_encode_readings makes of readings, into the bytes of a message, in a buffer or piece
 * by piece. At the end the session is wiped. Nothing allocates, and nothing is global, but for a
 * page of memory on Linux that tells a child of fork() from its parent.
 *
 *     static tfhe_sbc_encryptor encryptor;
 *     ...
 *     tfhe_sbc_options options = {
 *         .key = key, .key_len = key_len,
 *         .plan = TFHE_SBC_PLAN_BALANCED, .expander = TFHE_SBC_EXPANDER_CHACHA20,
 *         .entropy = board_entropy,
 *         .workspace = workspace, .workspace_len = sizeof workspace,
 *     };
 *     int32_t status = tfhe_sbc_encryptor_init(&encryptor, &options);
 *     if (status == TFHE_SBC_STATUS_OK)
 *         status = tfhe_sbc_encrypt_bits_to(&encryptor, bits, 1024, send, &radio);
 *     tfhe_sbc_encryptor_wipe(&encryptor);
 *     if (status != TFHE_SBC_STATUS_OK)
 *         puts(tfhe_sbc_error_text(status));
 *
 * The functions tfhe_sbc_ckks_... do the same for servers that run Microsoft SEAL: their
 * sessions start with keys of SEAL or SEAL-Embedded, and encrypt numbers into ciphertexts that
 * SEAL loads.
 *
 *     static tfhe_sbc_ckks_encryptor encryptor;
 *     ...
 *     tfhe_sbc_ckks_parameters parameters;
 *     int32_t status = tfhe_sbc_ckks_standard_parameters(4096, &parameters);
 *     tfhe_sbc_ckks_options options = {
 *         .parameters = &parameters, .key = sk_4096, .key_len = sizeof sk_4096,
 *         .plan = TFHE_SBC_PLAN_SMALL, .generator = TFHE_SBC_CKKS_GENERATOR_BLAKE2XB,
 *         .entropy = board_entropy,
 *         .workspace = workspace, .workspace_len = sizeof workspace,
 *     };
 *     if (status == TFHE_SBC_STATUS_OK)
 *         status = tfhe_sbc_ckks_encryptor_init(&encryptor, &options);
 *     if (status == TFHE_SBC_STATUS_OK)
 *         status = tfhe_sbc_ckks_encrypt_f32_to(&encryptor, readings, 100, 1 << 25,
 *                                               TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED, send, &radio);
 *     tfhe_sbc_ckks_encryptor_wipe(&encryptor);
 *
 * Every function that can fail returns a tfhe_sbc_status, as int32_t: 0 for success. It
 * checks for NULL, misaligned and overlapping memory, lengths, and use of an encryptor that
 * holds no session, is a copy, or is in use. The caller promises what it cannot check:
 *
 *   - a pointer points to as many values as are stated;
 *   - the memory that a session borrows (its workspace, the bytes of a device public key or of a
 *     key of SEAL's) stays in place, and nothing else uses it until the session is wiped;
 *   - only one thread at a time uses an encryptor;
 *   - callbacks return: they neither throw exceptions nor call longjmp;
 *   - memory with a session is not restored to an earlier state (from a snapshot or a
 *     hibernation): two messages would get the same seeds.
 *
 * A child that fork() made cannot use its parent's sessions: functions that encrypt return
 * TFHE_SBC_STATUS_FORKED there, and it starts sessions of its own.
 *
 * An encryptor must be wiped before its memory is released. Encryption is constant-time: it takes
 * the same time for all values, keys and seeds. Exceptions: the plan `fast` where doubles are
 * computed in software; Gaussian noise without any floating-point unit; and the encoding of CKKS,
 * which uses doubles, where they are computed in software.
 */


#ifndef TFHE_SBC_H
#define TFHE_SBC_H

#include <stddef.h>
#include <stdint.h>

/* The initial value of a tfhe_sbc_encryptor that is not a static variable. */
#define TFHE_SBC_ENCRYPTOR_INIT { { 0 } }

/* The initial value of a tfhe_sbc_ckks_encryptor that is not a static variable. */
#define TFHE_SBC_CKKS_ENCRYPTOR_INIT { { 0 } }

/* The size of a workspace of CKKS for each plan: for a secret key with k data primes, and for a
 * public key whose special prime has at most 31 bits. A larger special prime takes 4 n bytes
 * more, with the plan fast 8 n. */
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL(n) (16 * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED(n) (20 * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST(n, k) ((20 + 4 * (k)) * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL_PUBLIC(n) (20 * (n) + (n) / 4)
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED_PUBLIC(n) (24 * (n) + (n) / 4)
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST_PUBLIC(n) (32 * (n) + (n) / 4)


// The number of bytes of a parameter set's name, including the terminating zero.
#define TFHE_SBC_NAME_BYTES 33

// The number of bytes of a fingerprint.
#define TFHE_SBC_FINGERPRINT_BYTES 16

// The alignment of a workspace with which encryption is fastest.
#define TFHE_SBC_WORKSPACE_ALIGNMENT 64

// The largest number of bytes that a sink is given at a time.
#define TFHE_SBC_MAX_PIECE_BYTES 256

// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan small, any key.
#define TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_SMALL 12416

// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan balanced, device key.
#define TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_BALANCED 16384

// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan balanced, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_BALANCED_PUBLIC 20480

// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan fast, device key.
#define TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_FAST 32768

// Workspace of `boolean_1024` and `boolean_1024_tuniform`, plan fast, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_BOOLEAN_1024_FAST_PUBLIC 36864

// Workspace of `gates`, plan small, any key.
#define TFHE_SBC_WORKSPACE_BYTES_GATES_SMALL 8384

// Workspace of `gates`, plan balanced, device key.
#define TFHE_SBC_WORKSPACE_BYTES_GATES_BALANCED 16384

// Workspace of `gates`, plan balanced, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_GATES_BALANCED_PUBLIC 61440

// Workspace of `gates`, plan fast, device key.
#define TFHE_SBC_WORKSPACE_BYTES_GATES_FAST 36864

// Workspace of `gates`, plan fast, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_GATES_FAST_PUBLIC 81920

// Workspace of `message_2_carry_2`, plan small, any key.
#define TFHE_SBC_WORKSPACE_BYTES_MESSAGE_2_CARRY_2_SMALL 33024

// Workspace of `message_2_carry_2`, plan balanced, device key.
#define TFHE_SBC_WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED 49152

// Workspace of `message_2_carry_2`, plan balanced, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_MESSAGE_2_CARRY_2_BALANCED_PUBLIC 65536

// Workspace of `message_2_carry_2`, plan fast, device key.
#define TFHE_SBC_WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST 81920

// Workspace of `message_2_carry_2`, plan fast, device public key.
#define TFHE_SBC_WORKSPACE_BYTES_MESSAGE_2_CARRY_2_FAST_PUBLIC 98304

// The number of words of an encryptor.
#define TFHE_SBC_ENCRYPTOR_WORDS 96

// The largest number of primes of a ciphertext.
#define TFHE_SBC_CKKS_MAX_DATA_PRIMES 16

// The largest number of bytes that a sink is given at a time.
#define TFHE_SBC_CKKS_MAX_PIECE_BYTES 1024

// The number of words of a CKKS encryptor.
#define TFHE_SBC_CKKS_ENCRYPTOR_WORDS 128

// The form of a ciphertext.
typedef enum tfhe_sbc_ckks_format {
    // SEAL's serialization, uncompressed, for `Ciphertext::load`.
    TFHE_SBC_CKKS_FORMAT_SEAL = 0,
    // SEAL's serialization with a seed in place of the second polynomial, half as long. Not for
    // public keys.
    TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED = 1,
    // SEAL-Embedded's stream of 32-bit words: for each prime the first polynomial, then the
    // second.
    TFHE_SBC_CKKS_FORMAT_RAW = 2,
} tfhe_sbc_ckks_format;

// The generator with which a server expands seeded ciphertexts.
typedef enum tfhe_sbc_ckks_generator {
    // BLAKE2Xb, SEAL's default.
    TFHE_SBC_CKKS_GENERATOR_BLAKE2XB = 1,
    // SHAKE256.
    TFHE_SBC_CKKS_GENERATOR_SHAKE256 = 2,
} tfhe_sbc_ckks_generator;

// The form of a public key in memory.
typedef enum tfhe_sbc_ckks_key_form {
    // SEAL's `PublicKey`, saved without compression.
    TFHE_SBC_CKKS_KEY_FORM_SEAL = 0,
    // SEAL-Embedded's files, one after the other: for each prime `pk0_ntt_…`, then
    // `pk1_ntt_…`.
    TFHE_SBC_CKKS_KEY_FORM_SEAL_EMBEDDED = 1,
} tfhe_sbc_ckks_key_form;

// The generator that expands seeds.
typedef enum tfhe_sbc_expander {
    // ChaCha20, the one to take when in doubt.
    TFHE_SBC_EXPANDER_CHACHA20 = 1,
    // AES-128 in counter mode, the fastest where the processor has AES instructions.
    TFHE_SBC_EXPANDER_AES128_CTR = 2,
    // BLAKE2Xb.
    TFHE_SBC_EXPANDER_BLAKE2XB = 3,
    // BLAKE3.
    TFHE_SBC_EXPANDER_BLAKE3 = 4,
    // SHAKE256.
    TFHE_SBC_EXPANDER_SHAKE256 = 5,
    // AES-128 in TFHE-rs's counter mode, for masks that TFHE-rs expands.
    TFHE_SBC_EXPANDER_AES128_CTR_LE = 6,
} tfhe_sbc_expander;

// A memory plan: what a session keeps between ciphertexts. The messages are the same under every
// plan.
typedef enum tfhe_sbc_plan {
    // The least memory: the key is transformed again for every ciphertext.
    TFHE_SBC_PLAN_SMALL = 0,
    // The transformed key is kept; all arithmetic is on integers.
    TFHE_SBC_PLAN_BALANCED = 1,
    // Double-precision arithmetic, for processors that have it in hardware.
    TFHE_SBC_PLAN_FAST = 2,
} tfhe_sbc_plan;

// The result of a function: 0, or the reason why it did nothing. Numbers keep their meaning from
// version to version; new ones may be added.
typedef enum tfhe_sbc_status {
    // The function has done its work.
    TFHE_SBC_STATUS_OK = 0,
    // A pointer or a callback is NULL.
    TFHE_SBC_STATUS_NULL = -1,
    // A pointer is not aligned for its type, or the workspace not to 8 bytes.
    TFHE_SBC_STATUS_MISALIGNED = -2,
    // Memory that is written overlaps other memory that the function uses.
    TFHE_SBC_STATUS_OVERLAP = -3,
    // A length is larger than any memory.
    TFHE_SBC_STATUS_LENGTH = -4,
    // The encryptor holds no session: it was never started, has been wiped, or is a copy.
    TFHE_SBC_STATUS_NOT_INITIALISED = -5,
    // The encryptor holds a session: wipe it first.
    TFHE_SBC_STATUS_ALREADY_INITIALISED = -6,
    // The encryptor is used from within a callback of its own.
    TFHE_SBC_STATUS_BUSY = -7,
    // The memory plan does not exist.
    TFHE_SBC_STATUS_UNKNOWN_PLAN = -8,
    // The memory plan is not part of this build.
    TFHE_SBC_STATUS_PLAN_NOT_BUILT = -9,
    // The expander or generator does not exist or is not part of this build.
    TFHE_SBC_STATUS_EXPANDER = -10,
    // The workspace is too small.
    TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL = -11,
    // The output buffer is too small.
    TFHE_SBC_STATUS_OUTPUT_TOO_SMALL = -12,
    // The bytes are not a key file of the kind that is read.
    TFHE_SBC_STATUS_KEY_FORMAT = -13,
    // The key file is of a version that this build does not know.
    TFHE_SBC_STATUS_KEY_VERSION = -14,
    // The key file was changed or cut short in transfer.
    TFHE_SBC_STATUS_KEY_DAMAGED = -15,
    // The key file is of another kind: a device key, or a device public key, is needed.
    TFHE_SBC_STATUS_KEY_KIND = -16,
    // The key's parameters are not usable in this build, or differ from those that were given.
    TFHE_SBC_STATUS_KEY_PARAMETERS = -17,
    // The key's parameter set has no public-key uploads.
    TFHE_SBC_STATUS_NO_PUBLIC_KEY_UPLOADS = -18,
    // The entropy callback returned an error.
    TFHE_SBC_STATUS_ENTROPY_FAILED = -19,
    // The entropy callback gave bytes that are not random: is the generator switched on?
    TFHE_SBC_STATUS_ENTROPY_WEAK = -20,
    // The sink returned an error. The bytes that it took are an incomplete message.
    TFHE_SBC_STATUS_SINK_FAILED = -21,
    // The key's parameter set encodes blocks, not bits, or the other way round.
    TFHE_SBC_STATUS_PLAINTEXT_KIND = -22,
    // There are no plaintexts, or too many for one message.
    TFHE_SBC_STATUS_ELEMENT_COUNT = -23,
    // A bit is not 0 or 1, or a block is not below the message modulus.
    TFHE_SBC_STATUS_BLOCK_OUT_OF_RANGE = -24,
    // A reading or code is outside the declared range.
    TFHE_SBC_STATUS_READING_OUT_OF_RANGE = -25,
    // A reading or value is not a finite number.
    TFHE_SBC_STATUS_READING_NOT_FINITE = -26,
    // Offset, scale or bits of a fixed-point encoding are not usable.
    TFHE_SBC_STATUS_ENCODING = -27,
    // The columns or rows cannot be those of an upload: none, too many, or a text that is too long.
    TFHE_SBC_STATUS_DESCRIPTION = -28,
    // The ciphertext format does not exist, or is a seeded one under a public key.
    TFHE_SBC_STATUS_FORMAT = -29,
    // The polynomial size or the primes are not usable, or not secure.
    TFHE_SBC_STATUS_PARAMETERS = -30,
    // The scale is not a positive number.
    TFHE_SBC_STATUS_SCALE = -31,
    // The values are too large for the primes at this scale.
    TFHE_SBC_STATUS_TOO_LARGE = -32,
    // A key of SEAL's is compressed or seeded.
    TFHE_SBC_STATUS_KEY_COMPRESSED = -33,
    // Headroom and body bits of a compact column are not usable, or the column holds radix blocks.
    TFHE_SBC_STATUS_COMPACT = -34,
    // There are no columns, or too many for one message.
    TFHE_SBC_STATUS_COLUMN_COUNT = -35,
    // What is derived from a column is not usable: the column is not compact, or the codes of its flags do not
    // increase or do not divide its codes.
    TFHE_SBC_STATUS_DERIVED = -36,
    // The session was copied by `fork()`: the parent process goes on with it, and this process starts its own.
    TFHE_SBC_STATUS_FORKED = -37,
    // Another error, which a later version may give a number of its own.
    TFHE_SBC_STATUS_OTHER = -128,
} tfhe_sbc_status;

// An encryption session, without its workspace. Only the library uses its content.
//
// Before the first use it holds zeros: it is a static variable, or
// `tfhe_sbc_encryptor e = TFHE_SBC_ENCRYPTOR_INIT;`. It must not move while it holds
// a session: a copy of it holds none. Only one thread may use it at a time.
typedef struct tfhe_sbc_encryptor {
    // For the library alone.
    uint64_t opaque[TFHE_SBC_ENCRYPTOR_WORDS];
} tfhe_sbc_encryptor;

// An encoding of readings as unsigned fixed-point codes: reading `v` has the code
// `round((v - offset) / scale)` of `bits` bits.
typedef struct tfhe_sbc_encoding {
    // The lowest reading that can occur.
    double offset;
    // The step between neighbouring codes, above 0.
    double scale;
    // The width of a code, 1 to 52.
    uint32_t bits;
} tfhe_sbc_encoding;

// The compact form of a column: one coefficient holds a whole code, below bits of headroom. All zeros
// stand for radix blocks.
typedef struct tfhe_sbc_compact {
    // The number of bits above a code: sums of codes stay below `2^(bits + headroom)`. Width of a code,
    // at most 40, and headroom are at most 48 bits together.
    uint32_t headroom;
    // The number of bits of each body coefficient that travel: more than code and headroom have, and at
    // most 56.
    uint32_t body_bits;
    // Not 0 if the rounding error of a body is added to the next one, so that the error of a sum of
    // neighbouring rows stays that of two roundings.
    uint32_t feedback;
} tfhe_sbc_compact;

// The squares and flags that a board derives from a compact column and sends beside it, so that sums of it need no bootstrap. All
// zeros stand for nothing. The library computes the derived codes.
typedef struct tfhe_sbc_derived {
    // The compact form of the squares of the codes, which have twice their bits, at most 40; all zeros if no
    // squares are sent. With squares, variances and standard deviations need no bootstrap.
    struct tfhe_sbc_compact square;
    // The first code of each flag, in increasing order, from 1 to the highest code. A flag is 1 for this code
    // and all above it, and 0 for those below. With a flag at each threshold and edge, counts and
    // histograms need no bootstrap. Not read if there are no flags.
    const uint64_t *flags_from;
    // The number of flags.
    size_t flag_count;
    // The compact form of the flags, which are codes of one bit; all zeros if there are none.
    struct tfhe_sbc_compact flags;
} tfhe_sbc_derived;

// The values of one column, row after row: radix blocks, codes or readings. Exactly one of the three
// pointers is not NULL.
typedef struct tfhe_sbc_column_values {
    // Radix blocks, each a byte below the message modulus, as `tfhe_sbc_encode_readings` and
    // `tfhe_sbc_encode_codes` make them. Their column is not compact.
    const uint8_t *blocks;
    // Unsigned codes of `encoding.bits` bits of a compact column.
    const uint64_t *codes;
    // Readings of a compact column, which become codes of `encoding`.
    const double *readings;
    // The number of blocks, codes or readings.
    size_t count;
    // The encoding of readings. Codes use its `bits` only, blocks nothing of it.
    struct tfhe_sbc_encoding encoding;
    // The compact form; all zeros if there are blocks.
    struct tfhe_sbc_compact compact;
    // The derived squares and flags, as the description states them; all zeros if there are none. The message has
    // the squares behind the column, and then each flag.
    struct tfhe_sbc_derived derived;
} tfhe_sbc_column_values;

// Takes the next `len` bytes of a message, at most `TFHE_SBC_MAX_PIECE_BYTES`, or of a
// ciphertext, at most `TFHE_SBC_CKKS_MAX_PIECE_BYTES`. Returns 0, or any other number if it
// cannot take them.
typedef int (*tfhe_sbc_sink)(void *context, const uint8_t *piece, size_t len);

// A column of readings, for the description of an upload.
typedef struct tfhe_sbc_column {
    // The name: 1 to 64 letters, digits and underscores, terminated by a zero byte.
    const char *name;
    // The unit, for people, in UTF-8 and terminated by a zero byte: at most 64 characters; may be
    // empty.
    const char *unit;
    // The encoding of the column's readings.
    struct tfhe_sbc_encoding encoding;
    // The compact form of the codes; all zeros if they are split into radix blocks.
    struct tfhe_sbc_compact compact;
    // The derived squares and flags; all zeros if there are none.
    struct tfhe_sbc_derived derived;
} tfhe_sbc_column;

// A source of entropy: the operating system, or the board's true random number generator. It
// overwrites all `len` bytes at `out` with full-entropy bytes that it has never given before, and
// returns 0, or any other number if it cannot.
typedef int (*tfhe_sbc_entropy)(void *context, uint8_t *out, size_t len);

// The arguments that a session is started with.
typedef struct tfhe_sbc_options {
    // The bytes of the key file. A device key is read once and may be wiped afterwards; a device
    // public key stays at this place, unchanged, as long as the session lasts.
    const uint8_t *key;
    // The number of bytes of the key file.
    size_t key_len;
    // The memory plan: a `tfhe_sbc_plan`.
    uint32_t plan;
    // The generator that expands seeds: a `tfhe_sbc_expander`.
    uint32_t expander;
    // The source of entropy. It is called twice at the start, for 32 bytes each, and again
    // every 65536 messages.
    tfhe_sbc_entropy entropy;
    // The first argument of the entropy callback; may be NULL.
    void *entropy_context;
    // The session's memory, aligned to 8 bytes or, for speed, to
    // `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nothing else may use it as long as the session lasts.
    void *workspace;
    // The number of bytes of the workspace: at least `tfhe_sbc_workspace_bytes`.
    size_t workspace_len;
} tfhe_sbc_options;

// The content of a key file.
typedef struct tfhe_sbc_key_info {
    // The name of the parameter set, terminated by a zero byte.
    char parameters[TFHE_SBC_NAME_BYTES];
    // The fingerprint of the key set that messages are made under.
    uint8_t key[TFHE_SBC_FINGERPRINT_BYTES];
    // 1 for a device public key, 0 for a device key.
    uint32_t is_public;
    // 1 if plaintexts are bits, 0 if they are radix blocks.
    uint32_t is_boolean;
    // The number of bits of a torus element: 32 or 64.
    uint32_t torus_bits;
    // The number k of polynomials of a mask.
    uint32_t glwe_dimension;
    // The number N of plaintexts of a ciphertext.
    uint32_t polynomial_size;
    // The number of message bits of a block.
    uint32_t message_bits;
    // The number of carry bits of a block.
    uint32_t carry_bits;
    // The number of bits that are sent of each coefficient of a body.
    uint32_t body_bits;
    // The number of bits that are sent of each coefficient of a mask in public-key uploads; 0 if the
    // parameter set has no such uploads.
    uint32_t public_key_mask_bits;
} tfhe_sbc_key_info;

// A ring and its moduli. Every prime is 1 modulo twice the polynomial size.
typedef struct tfhe_sbc_ckks_parameters {
    // The number of coefficients, twice the number of slots: a power of two, 1024 to 16384.
    uint32_t polynomial_size;
    // The number of primes of ciphertexts.
    uint32_t data_prime_count;
    // The primes of ciphertexts, in SEAL's order, each of at most 31 bits. Places behind
    // `data_prime_count` are not read.
    uint32_t data_primes[TFHE_SBC_CKKS_MAX_DATA_PRIMES];
    // The last prime of SEAL's parameters, of at most 60 bits, which only keys have; 0 if
    // there is none.
    uint64_t special_prime;
} tfhe_sbc_ckks_parameters;

// An encryption session, without its workspace. Only the library uses its content. The rules
// for a `tfhe_sbc_encryptor` apply to it too.
typedef struct tfhe_sbc_ckks_encryptor {
    // For the library alone.
    uint64_t opaque[TFHE_SBC_CKKS_ENCRYPTOR_WORDS];
} tfhe_sbc_ckks_encryptor;

// The arguments that a session is started with.
typedef struct tfhe_sbc_ckks_options {
    // The parameters; they are copied.
    const struct tfhe_sbc_ckks_parameters *parameters;
    // The key, which stays at this place, unchanged, as long as the session lasts. A secret key is
    // packed, 2 bits a coefficient: SEAL-Embedded's `sk_N.dat`, or the result of
    // `tfhe_sbc_ckks_secret_key_pack` for a key of SEAL's.
    const uint8_t *key;
    // The number of bytes of the key.
    size_t key_len;
    // The form of a public key: a `tfhe_sbc_ckks_key_form`. Ignored for a secret key.
    uint32_t key_form;
    // The memory plan: a `tfhe_sbc_plan`.
    uint32_t plan;
    // The generator that expands masks under a secret key: a `tfhe_sbc_ckks_generator`. Ignored for
    // a public key.
    uint32_t generator;
    // The source of entropy. It is called twice at the start, for 32 bytes each, and again
    // every 65536 ciphertexts.
    tfhe_sbc_entropy entropy;
    // The first argument of the entropy callback; may be NULL.
    void *entropy_context;
    // The session's memory, aligned to 8 bytes or, for speed, to
    // `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nothing else may use it as long as the session lasts.
    void *workspace;
    // The number of bytes of the workspace: at least `tfhe_sbc_ckks_workspace_bytes`.
    size_t workspace_len;
} tfhe_sbc_ckks_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes to `bytes` the number of bytes of the message of these columns. The values are not read.
int32_t tfhe_sbc_columns_message_bytes(struct tfhe_sbc_encryptor *encryptor,
                                       const struct tfhe_sbc_column_values *columns,
                                       size_t column_count,
                                       size_t *bytes);

// Encrypts columns, each with its own encoding, into the first bytes of `message`, which has room for
// `capacity`, and writes their number to `message_len`. Everything is checked before anything is
// written. The key's parameter set is one for radix blocks over the 64-bit torus.
int32_t tfhe_sbc_encrypt_columns(struct tfhe_sbc_encryptor *encryptor,
                                 const struct tfhe_sbc_column_values *columns,
                                 size_t column_count,
                                 uint8_t *message,
                                 size_t capacity,
                                 size_t *message_len);

// Does the same as `tfhe_sbc_encrypt_columns`, but passes the message to `sink` piece by piece while it
// is made. Everything is checked before the first piece.
int32_t tfhe_sbc_encrypt_columns_to(struct tfhe_sbc_encryptor *encryptor,
                                    const struct tfhe_sbc_column_values *columns,
                                    size_t column_count,
                                    tfhe_sbc_sink sink,
                                    void *sink_context);

// Writes the description of an upload of readings into the first bytes of `message`, which has
// room for `capacity`, and their number to `message_len`.
//
// A server can answer questions about an upload that consists of this message and, immediately
// after it, one of `tfhe_sbc_encrypt_blocks` with the blocks of all rows of the first column, then
// of all rows of the second, and so on; or one of `tfhe_sbc_encrypt_columns`, if a column is
// compact. `rows` are labels in UTF-8 of at most 64 characters, each terminated by a zero byte,
// usually times. The description is not encrypted.
int32_t tfhe_sbc_describe(struct tfhe_sbc_encryptor *encryptor,
                          const struct tfhe_sbc_column *columns,
                          size_t column_count,
                          const char *const *rows,
                          size_t row_count,
                          uint8_t *message,
                          size_t capacity,
                          size_t *message_len);

// Does the same as `tfhe_sbc_describe`, but passes the message to `sink` piece by piece. Everything
// is checked before the first piece.
int32_t tfhe_sbc_describe_to(struct tfhe_sbc_encryptor *encryptor,
                             const struct tfhe_sbc_column *columns,
                             size_t column_count,
                             const char *const *rows,
                             size_t row_count,
                             tfhe_sbc_sink sink,
                             void *sink_context);

// Starts a session with a device key: seeds replace the masks of its messages, and whoever
// has the key decrypts them.
//
// The encryptor must hold no session; after an error it still holds none.
int32_t tfhe_sbc_encryptor_init(struct tfhe_sbc_encryptor *encryptor,
                                const struct tfhe_sbc_options *options);

// Starts a session with a device public key, so that nothing on the device decrypts its messages.
// They are larger than those under a device key.
//
// The encryptor must hold no session; after an error it still holds none.
int32_t tfhe_sbc_encryptor_init_public(struct tfhe_sbc_encryptor *encryptor,
                                       const struct tfhe_sbc_options *options);

// Writes to `bytes` the number of bytes of a message of `count` bits or blocks.
int32_t tfhe_sbc_message_bytes(struct tfhe_sbc_encryptor *encryptor,
                               size_t count,
                               size_t *bytes);

// Encrypts `count` bits, each a byte of 0 or 1, into the first bytes of `message`, which
// has room for `capacity`, and writes their number to `message_len`.
int32_t tfhe_sbc_encrypt_bits(struct tfhe_sbc_encryptor *encryptor,
                              const uint8_t *bits,
                              size_t count,
                              uint8_t *message,
                              size_t capacity,
                              size_t *message_len);

// Encrypts `count` radix blocks, each a byte below the message modulus, into the first
// bytes of `message`, which has room for `capacity`, and writes their number to
// `message_len`.
int32_t tfhe_sbc_encrypt_blocks(struct tfhe_sbc_encryptor *encryptor,
                                const uint8_t *blocks,
                                size_t count,
                                uint8_t *message,
                                size_t capacity,
                                size_t *message_len);

// Encrypts `count` bits, each a byte of 0 or 1, and passes the message to `sink` piece by
// piece while it is made. Everything is checked before the first piece.
int32_t tfhe_sbc_encrypt_bits_to(struct tfhe_sbc_encryptor *encryptor,
                                 const uint8_t *bits,
                                 size_t count,
                                 tfhe_sbc_sink sink,
                                 void *sink_context);

// Encrypts `count` radix blocks, each a byte below the message modulus, and passes the
// message to `sink` piece by piece while it is made. Everything is checked before the
// first piece.
int32_t tfhe_sbc_encrypt_blocks_to(struct tfhe_sbc_encryptor *encryptor,
                                   const uint8_t *blocks,
                                   size_t count,
                                   tfhe_sbc_sink sink,
                                   void *sink_context);

// Ends a session: overwrites all secrets with zeros, in the encryptor and in the workspace. An
// encryptor without a session is only overwritten.
int32_t tfhe_sbc_encryptor_wipe(struct tfhe_sbc_encryptor *encryptor);

// Reads a key file of either kind and writes its content to `info`.
int32_t tfhe_sbc_key_info_read(const uint8_t *key,
                               size_t key_len,
                               struct tfhe_sbc_key_info *info);

// Writes to `bytes` the size of the workspace of a session with this key file and memory plan.
int32_t tfhe_sbc_workspace_bytes(const uint8_t *key,
                                 size_t key_len,
                                 uint32_t plan,
                                 size_t *bytes);

// Writes to `bytes` the number of bytes of a message that uploads `reading_count` readings of
// `bits_per_reading` bits each; a bit counts as a reading of one bit.
int32_t tfhe_sbc_upload_bytes(const uint8_t *key,
                              size_t key_len,
                              size_t reading_count,
                              uint32_t bits_per_reading,
                              size_t *bytes);

// Writes to `blocks` the number of blocks of `count` readings or codes of `bits` bits, 1 to 64.
int32_t tfhe_sbc_block_count(struct tfhe_sbc_encryptor *encryptor,
                             uint32_t bits,
                             size_t count,
                             size_t *blocks);

// Encodes `count` readings as radix blocks: reading after reading, and of each the least
// significant block first. `blocks` has room for `capacity`; the first `tfhe_sbc_block_count` are
// written, or none if there is an error.
int32_t tfhe_sbc_encode_readings(struct tfhe_sbc_encryptor *encryptor,
                                 const struct tfhe_sbc_encoding *encoding,
                                 const double *readings,
                                 size_t count,
                                 uint8_t *blocks,
                                 size_t capacity);

// Encodes `count` unsigned codes of `bits` bits, 1 to 64, as radix blocks, as
// `tfhe_sbc_encode_readings` does, but without floating point. The result of an
// analog-to-digital converter is such a code.
int32_t tfhe_sbc_encode_codes(struct tfhe_sbc_encryptor *encryptor,
                              uint32_t bits,
                              const uint64_t *codes,
                              size_t count,
                              uint8_t *blocks,
                              size_t capacity);

// Returns the fastest memory plan of this build on its target, a `tfhe_sbc_plan`.
uint32_t tfhe_sbc_recommended_plan(void);

// Returns the meaning of a return value, in a line of English without a full stop. Never NULL; the
// text lives as long as the program.
const char *tfhe_sbc_error_text(int32_t status);

// Returns the version of the library, such as "0.1.0".
const char *tfhe_sbc_version(void);

// Writes SEAL-Embedded's parameters of a polynomial size to `parameters`.
int32_t tfhe_sbc_ckks_standard_parameters(uint32_t polynomial_size,
                                          struct tfhe_sbc_ckks_parameters *parameters);

// Reads SEAL's `EncryptionParameters`, saved without compression, into `parameters`.
int32_t tfhe_sbc_ckks_parameters_read(const uint8_t *object,
                                      size_t object_len,
                                      struct tfhe_sbc_ckks_parameters *parameters);

// Writes to `bytes` the size of the workspace of a session with a secret key, or with a public key
// if `is_public` is not 0.
int32_t tfhe_sbc_ckks_workspace_bytes(const struct tfhe_sbc_ckks_parameters *parameters,
                                      uint32_t plan,
                                      uint32_t is_public,
                                      size_t *bytes);

// Writes to `bytes` the number of bytes of a ciphertext.
int32_t tfhe_sbc_ckks_ciphertext_bytes(const struct tfhe_sbc_ckks_parameters *parameters,
                                       uint32_t format,
                                       size_t *bytes);

// Packs SEAL's `SecretKey`, saved without compression, into the form that sessions take, of
// `polynomial_size / 4` bytes. `scratch` has `polynomial_size` numbers, for which a workspace is
// large enough. It is overwritten with zeros at the end.
int32_t tfhe_sbc_ckks_secret_key_pack(const struct tfhe_sbc_ckks_parameters *parameters,
                                      const uint8_t *object,
                                      size_t object_len,
                                      uint8_t *packed,
                                      size_t packed_len,
                                      uint32_t *scratch,
                                      size_t scratch_count);

// Starts a session with a secret key.
//
// The encryptor must hold no session; after an error it still holds none.
int32_t tfhe_sbc_ckks_encryptor_init(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const struct tfhe_sbc_ckks_options *options);

// Starts a session with a public key, so that nothing on the device decrypts its ciphertexts.
//
// The encryptor must hold no session; after an error it still holds none.
int32_t tfhe_sbc_ckks_encryptor_init_public(struct tfhe_sbc_ckks_encryptor *encryptor,
                                            const struct tfhe_sbc_ckks_options *options);

// Encrypts `count` real numbers, multiplied by `scale` and rounded, into the first bytes of
// `ciphertext`, which has room for `capacity`, and writes their number to `ciphertext_len`.
// Slots without a value are zero.
int32_t tfhe_sbc_ckks_encrypt_f64(struct tfhe_sbc_ckks_encryptor *encryptor,
                                  const double *values,
                                  size_t count,
                                  double scale,
                                  uint32_t format,
                                  uint8_t *ciphertext,
                                  size_t capacity,
                                  size_t *ciphertext_len);

// Does the same as `tfhe_sbc_ckks_encrypt_f64` for numbers in single precision.
int32_t tfhe_sbc_ckks_encrypt_f32(struct tfhe_sbc_ckks_encryptor *encryptor,
                                  const float *values,
                                  size_t count,
                                  double scale,
                                  uint32_t format,
                                  uint8_t *ciphertext,
                                  size_t capacity,
                                  size_t *ciphertext_len);

// Does the same as `tfhe_sbc_ckks_encrypt_f64` for `count` complex numbers, each given as its real
// and then its imaginary part.
int32_t tfhe_sbc_ckks_encrypt_complex(struct tfhe_sbc_ckks_encryptor *encryptor,
                                      const double *values,
                                      size_t count,
                                      double scale,
                                      uint32_t format,
                                      uint8_t *ciphertext,
                                      size_t capacity,
                                      size_t *ciphertext_len);

// Encrypts `count` real numbers, multiplied by `scale` and rounded, and passes the ciphertext to
// `sink` piece by piece while it is made. Everything is checked before the first piece. Slots
// without a value are zero.
int32_t tfhe_sbc_ckks_encrypt_f64_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const double *values,
                                     size_t count,
                                     double scale,
                                     uint32_t format,
                                     tfhe_sbc_sink sink,
                                     void *sink_context);

// Does the same as `tfhe_sbc_ckks_encrypt_f64_to` for numbers in single precision.
int32_t tfhe_sbc_ckks_encrypt_f32_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const float *values,
                                     size_t count,
                                     double scale,
                                     uint32_t format,
                                     tfhe_sbc_sink sink,
                                     void *sink_context);

// Does the same as `tfhe_sbc_ckks_encrypt_f64_to` for `count` complex numbers, each given as its
// real and then its imaginary part.
int32_t tfhe_sbc_ckks_encrypt_complex_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                         const double *values,
                                         size_t count,
                                         double scale,
                                         uint32_t format,
                                         tfhe_sbc_sink sink,
                                         void *sink_context);

// Ends a session: overwrites all secrets with zeros, in the encryptor and in the workspace. An
// encryptor without a session is only overwritten.
int32_t tfhe_sbc_ckks_encryptor_wipe(struct tfhe_sbc_ckks_encryptor *encryptor);

#ifdef __cplusplus
} // extern "C"
#endif // __cplusplus

#endif /* TFHE_SBC_H */
