/* tfhe_sbc.h: TFHE and CKKS encryption for small boards.
 *
 * Made by `cargo xtask header`; do not edit.
 *
 * A session is started with a key file of the key owner, a workspace that this program
 * provides and a source of entropy; then it encrypts bits, or radix blocks that it makes of
 * readings, into the bytes of a message, in a buffer or piece by piece; at the end it is
 * wiped. Nothing allocates, and nothing is global.
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
 * Functions of tfhe_sbc_ckks_... do the like for servers that run Microsoft SEAL: their
 * sessions are started with keys of SEAL or SEAL-Embedded, and turn numbers into ciphertexts
 * that SEAL loads.
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
 * Every function that can fail returns a tfhe_sbc_status, as int32_t: 0 if all is done. It
 * checks for NULL, misaligned and overlapping memory, lengths, and use of an encryptor that
 * holds no session, is a copy, or is in use. What it cannot check, the caller promises:
 *
 *   - pointers point to as many values as are stated;
 *   - what a session borrows (its workspace, the bytes of a device public key or of a key of
 *     SEAL's) stays in place, and nobody else touches it until the session is wiped;
 *   - one thread at a time uses an encryptor;
 *   - callbacks return: they neither throw exceptions nor longjmp;
 *   - memory is not brought back to an earlier state (from a snapshot, a hibernation) to go on
 *     with its session: two messages would have the same seeds.
 *
 * An encryptor is wiped before its memory is given up. Encryption takes the same time for all
 * values, keys and seeds; where doubles are computed in software, not with the plan `fast`, and
 * without any floating-point unit only with noise that is no Gaussian. CKKS encodes values in
 * doubles: where they are computed in software, its time depends on the values.
 */


#ifndef TFHE_SBC_H
#define TFHE_SBC_H

#include <stddef.h>
#include <stdint.h>

/* The initial value of a tfhe_sbc_encryptor that is no static variable. */
#define TFHE_SBC_ENCRYPTOR_INIT { { 0 } }

/* The same of a tfhe_sbc_ckks_encryptor. */
#define TFHE_SBC_CKKS_ENCRYPTOR_INIT { { 0 } }

/* Workspace of CKKS, by plan: for a secret key of k data primes, and for a public key whose
 * special prime has at most 31 bits. A larger one takes 4 n bytes more, with the plan fast 8 n. */
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL(n) (16 * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED(n) (20 * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST(n, k) ((20 + 4 * (k)) * (n))
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_SMALL_PUBLIC(n) (20 * (n) + (n) / 4)
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_BALANCED_PUBLIC(n) (24 * (n) + (n) / 4)
#define TFHE_SBC_CKKS_WORKSPACE_BYTES_FAST_PUBLIC(n) (32 * (n) + (n) / 4)


// Bytes of a parameter set's name, the final zero included.
#define TFHE_SBC_NAME_BYTES 33

// Bytes of a fingerprint.
#define TFHE_SBC_FINGERPRINT_BYTES 16

// The alignment of a workspace with which encryption is fastest.
#define TFHE_SBC_WORKSPACE_ALIGNMENT 64

// Most bytes that a sink is given at a time.
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

// Words of an encryptor.
#define TFHE_SBC_ENCRYPTOR_WORDS 96

// Most primes of a ciphertext.
#define TFHE_SBC_CKKS_MAX_DATA_PRIMES 16

// Most bytes that a sink is given at a time.
#define TFHE_SBC_CKKS_MAX_PIECE_BYTES 1024

// Words of a CKKS encryptor.
#define TFHE_SBC_CKKS_ENCRYPTOR_WORDS 128

// The form of a ciphertext.
typedef enum tfhe_sbc_ckks_format {
    // SEAL's serialization, uncompressed: `Ciphertext::load` takes it.
    TFHE_SBC_CKKS_FORMAT_SEAL = 0,
    // The same with a seed in place of the second polynomial, half as long. Not under a
    // public key.
    TFHE_SBC_CKKS_FORMAT_SEAL_SEEDED = 1,
    // SEAL-Embedded's stream of 32-bit words: of each prime the first polynomial, then the
    // second.
    TFHE_SBC_CKKS_FORMAT_RAW = 2,
} tfhe_sbc_ckks_format;

// The generator that a server expands seeded ciphertexts with.
typedef enum tfhe_sbc_ckks_generator {
    // BLAKE2Xb, SEAL's default.
    TFHE_SBC_CKKS_GENERATOR_BLAKE2XB = 1,
    // SHAKE256.
    TFHE_SBC_CKKS_GENERATOR_SHAKE256 = 2,
} tfhe_sbc_ckks_generator;

// How a public key lies in memory.
typedef enum tfhe_sbc_ckks_key_form {
    // SEAL's `PublicKey`, saved without compression.
    TFHE_SBC_CKKS_KEY_FORM_SEAL = 0,
    // SEAL-Embedded's files, one after the other: of each prime `pk0_ntt_…`, then
    // `pk1_ntt_…`.
    TFHE_SBC_CKKS_KEY_FORM_SEAL_EMBEDDED = 1,
} tfhe_sbc_ckks_key_form;

// The generator that expands seeds.
typedef enum tfhe_sbc_expander {
    // ChaCha20: the one to take when in doubt.
    TFHE_SBC_EXPANDER_CHACHA20 = 1,
    // AES-128 in counter mode: fastest where the processor has AES instructions.
    TFHE_SBC_EXPANDER_AES128_CTR = 2,
    // BLAKE2Xb.
    TFHE_SBC_EXPANDER_BLAKE2XB = 3,
    // BLAKE3.
    TFHE_SBC_EXPANDER_BLAKE3 = 4,
    // SHAKE256.
    TFHE_SBC_EXPANDER_SHAKE256 = 5,
    // AES-128 in TFHE-rs's counter mode, for masks that it expands itself.
    TFHE_SBC_EXPANDER_AES128_CTR_LE = 6,
} tfhe_sbc_expander;

// What a session keeps between ciphertexts. Messages are the same whatever the plan.
typedef enum tfhe_sbc_plan {
    // The least memory: the key is transformed again for every ciphertext.
    TFHE_SBC_PLAN_SMALL = 0,
    // The transformed key is kept; all arithmetic is on integers.
    TFHE_SBC_PLAN_BALANCED = 1,
    // Double-precision arithmetic, for processors that have it in hardware.
    TFHE_SBC_PLAN_FAST = 2,
} tfhe_sbc_plan;

// What a function returns: 0, or why it did nothing. Numbers keep their meaning from
// version to version; new ones may come.
typedef enum tfhe_sbc_status {
    // Done.
    TFHE_SBC_STATUS_OK = 0,
    // A pointer or a callback is NULL.
    TFHE_SBC_STATUS_NULL = -1,
    // A pointer is not aligned for its type, or the workspace not to 8 bytes.
    TFHE_SBC_STATUS_MISALIGNED = -2,
    // Memory that is written overlaps memory that is used otherwise.
    TFHE_SBC_STATUS_OVERLAP = -3,
    // A length that no memory has.
    TFHE_SBC_STATUS_LENGTH = -4,
    // The encryptor holds no session: it was never started, is wiped, or is a copy.
    TFHE_SBC_STATUS_NOT_INITIALISED = -5,
    // The encryptor holds a session: wipe it first.
    TFHE_SBC_STATUS_ALREADY_INITIALISED = -6,
    // The encryptor is used from within a callback of its own.
    TFHE_SBC_STATUS_BUSY = -7,
    // A memory plan that does not exist.
    TFHE_SBC_STATUS_UNKNOWN_PLAN = -8,
    // A memory plan that this build leaves out.
    TFHE_SBC_STATUS_PLAN_NOT_BUILT = -9,
    // An expander or generator that does not exist or that this build leaves out.
    TFHE_SBC_STATUS_EXPANDER = -10,
    // The workspace is too small.
    TFHE_SBC_STATUS_WORKSPACE_TOO_SMALL = -11,
    // The output buffer is too small.
    TFHE_SBC_STATUS_OUTPUT_TOO_SMALL = -12,
    // The bytes are no key file of the kind that is read.
    TFHE_SBC_STATUS_KEY_FORMAT = -13,
    // The key file is of a version that this build does not know.
    TFHE_SBC_STATUS_KEY_VERSION = -14,
    // The key file was changed or cut short on its way.
    TFHE_SBC_STATUS_KEY_DAMAGED = -15,
    // The key file is of another kind: a device key, or a device public key, is needed.
    TFHE_SBC_STATUS_KEY_KIND = -16,
    // The key's parameters are not ones that this build can use, or others than are given.
    TFHE_SBC_STATUS_KEY_PARAMETERS = -17,
    // The key's parameter set has no public-key uploads.
    TFHE_SBC_STATUS_NO_PUBLIC_KEY_UPLOADS = -18,
    // The entropy callback returned an error.
    TFHE_SBC_STATUS_ENTROPY_FAILED = -19,
    // The entropy callback gave bytes that are not random: is the generator switched on?
    TFHE_SBC_STATUS_ENTROPY_WEAK = -20,
    // The sink returned an error. What it has taken is no whole message.
    TFHE_SBC_STATUS_SINK_FAILED = -21,
    // The key's parameter set encodes blocks, not bits, or the other way round.
    TFHE_SBC_STATUS_PLAINTEXT_KIND = -22,
    // No plaintexts, or too many for one message.
    TFHE_SBC_STATUS_ELEMENT_COUNT = -23,
    // A bit that is not 0 or 1, or a block that is not below the message modulus.
    TFHE_SBC_STATUS_BLOCK_OUT_OF_RANGE = -24,
    // A reading or code outside the declared range.
    TFHE_SBC_STATUS_READING_OUT_OF_RANGE = -25,
    // A reading or value that is not a finite number.
    TFHE_SBC_STATUS_READING_NOT_FINITE = -26,
    // A fixed-point encoding that cannot work: offset, scale or bits.
    TFHE_SBC_STATUS_ENCODING = -27,
    // Columns or rows that no upload can have: none or too many, or a text that is too long.
    TFHE_SBC_STATUS_DESCRIPTION = -28,
    // A ciphertext format that does not exist, or a seeded one under a public key.
    TFHE_SBC_STATUS_FORMAT = -29,
    // Polynomial size or primes that cannot be, or that are not secure.
    TFHE_SBC_STATUS_PARAMETERS = -30,
    // A scale that is not a positive number.
    TFHE_SBC_STATUS_SCALE = -31,
    // Values that do not fit the primes at this scale.
    TFHE_SBC_STATUS_TOO_LARGE = -32,
    // A key of SEAL's that is compressed or seeded.
    TFHE_SBC_STATUS_KEY_COMPRESSED = -33,
    // Something else went wrong; a later version may name it.
    TFHE_SBC_STATUS_OTHER = -128,
} tfhe_sbc_status;

// An encryption session, without its workspace. Its content is the library's.
//
// Before the first use it holds zeros: it is a static variable, or
// `tfhe_sbc_encryptor e = TFHE_SBC_ENCRYPTOR_INIT;`. It stays where it is while it holds
// a session: a copy of it holds none. One thread uses it at a time.
typedef struct tfhe_sbc_encryptor {
    // Not for use.
    uint64_t opaque[TFHE_SBC_ENCRYPTOR_WORDS];
} tfhe_sbc_encryptor;

// Readings as unsigned fixed-point codes: reading `v` has the code
// `round((v - offset) / scale)` of `bits` bits.
typedef struct tfhe_sbc_encoding {
    // The lowest reading that can occur.
    double offset;
    // The step between neighbouring codes, above 0.
    double scale;
    // The width of a code, 1 to 52.
    uint32_t bits;
} tfhe_sbc_encoding;

// A column of readings, for the description of an upload.
typedef struct tfhe_sbc_column {
    // Its name: 1 to 64 letters, digits and underscores, ended by a zero.
    const char *name;
    // Its unit, for people, in UTF-8 and ended by a zero: at most 64 characters, or none.
    const char *unit;
    // The encoding of its readings.
    struct tfhe_sbc_encoding encoding;
} tfhe_sbc_column;

// Takes the next `len` bytes of a message, at most `TFHE_SBC_MAX_PIECE_BYTES`, or of a
// ciphertext, at most `TFHE_SBC_CKKS_MAX_PIECE_BYTES`. Gives 0, or any other number if it
// cannot.
typedef int (*tfhe_sbc_sink)(void *context, const uint8_t *piece, size_t len);

// Overwrites `len` bytes at `out`, all of them, with full-entropy bytes that it has never
// given before: of the operating system, or of the board's true random number generator.
// Gives 0, or any other number if it cannot.
typedef int (*tfhe_sbc_entropy)(void *context, uint8_t *out, size_t len);

// What a session is started with.
typedef struct tfhe_sbc_options {
    // The bytes of the key file. A device key is read once and may be wiped then; a device
    // public key stays there, unchanged, as long as the session.
    const uint8_t *key;
    // Their number.
    size_t key_len;
    // The memory plan: a `tfhe_sbc_plan`.
    uint32_t plan;
    // The generator that expands seeds: a `tfhe_sbc_expander`.
    uint32_t expander;
    // Where entropy comes from. It is called twice at the start, 32 bytes each, and again
    // every 65536 messages.
    tfhe_sbc_entropy entropy;
    // What the entropy callback is given, as it is; may be NULL.
    void *entropy_context;
    // The session's memory, aligned to 8 bytes or, for speed, to
    // `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nobody else touches it as long as the session.
    void *workspace;
    // Its bytes: at least `tfhe_sbc_workspace_bytes`.
    size_t workspace_len;
} tfhe_sbc_options;

// What a key file says.
typedef struct tfhe_sbc_key_info {
    // The name of its parameter set, ended by a zero.
    char parameters[TFHE_SBC_NAME_BYTES];
    // The fingerprint of the key that its messages are made under.
    uint8_t key[TFHE_SBC_FINGERPRINT_BYTES];
    // 1 if it is a device public key, 0 if it is a device key.
    uint32_t is_public;
    // 1 if its plaintexts are bits, 0 if they are radix blocks.
    uint32_t is_boolean;
    // Bits of a torus element: 32 or 64.
    uint32_t torus_bits;
    // The number k of polynomials of a mask.
    uint32_t glwe_dimension;
    // The number N of plaintexts of a ciphertext.
    uint32_t polynomial_size;
    // Bits of a block's message.
    uint32_t message_bits;
    // Bits of a block's carry.
    uint32_t carry_bits;
    // Bits that are sent of each coefficient of a body.
    uint32_t body_bits;
    // Bits that are sent of each coefficient of a mask in public-key uploads; 0 if the
    // parameter set has none.
    uint32_t public_key_mask_bits;
} tfhe_sbc_key_info;

// A ring and its moduli. Every prime is 1 modulo twice the polynomial size.
typedef struct tfhe_sbc_ckks_parameters {
    // The number of coefficients, twice that of slots: a power of two, 1024 to 16384.
    uint32_t polynomial_size;
    // How many primes ciphertexts have.
    uint32_t data_prime_count;
    // The primes of ciphertexts, in SEAL's order, each of at most 31 bits. The rest is not
    // read.
    uint32_t data_primes[TFHE_SBC_CKKS_MAX_DATA_PRIMES];
    // The last prime of SEAL's parameters, of at most 60 bits, which only keys have; 0 if
    // there is none.
    uint64_t special_prime;
} tfhe_sbc_ckks_parameters;

// An encryption session, without its workspace. Its content is the library's; what is said
// of a `tfhe_sbc_encryptor` holds for it too.
typedef struct tfhe_sbc_ckks_encryptor {
    // Not for use.
    uint64_t opaque[TFHE_SBC_CKKS_ENCRYPTOR_WORDS];
} tfhe_sbc_ckks_encryptor;

// What a session is started with.
typedef struct tfhe_sbc_ckks_options {
    // The parameters; they are copied.
    const struct tfhe_sbc_ckks_parameters *parameters;
    // The key, which stays there, unchanged, as long as the session. A secret key is packed,
    // 2 bits a coefficient: SEAL-Embedded's `sk_N.dat`, or what
    // `tfhe_sbc_ckks_secret_key_pack` makes of SEAL's.
    const uint8_t *key;
    // Its bytes.
    size_t key_len;
    // The form of a public key: a `tfhe_sbc_ckks_key_form`. Secret keys have one only.
    uint32_t key_form;
    // The memory plan: a `tfhe_sbc_plan`.
    uint32_t plan;
    // What masks under a secret key are expanded with: a `tfhe_sbc_ckks_generator`. A public
    // key needs none.
    uint32_t generator;
    // Where entropy comes from. It is called twice at the start, 32 bytes each, and again
    // every 65536 ciphertexts.
    tfhe_sbc_entropy entropy;
    // What the entropy callback is given, as it is; may be NULL.
    void *entropy_context;
    // The session's memory, aligned to 8 bytes or, for speed, to
    // `TFHE_SBC_WORKSPACE_ALIGNMENT`. Nobody else touches it as long as the session.
    void *workspace;
    // Its bytes: at least `tfhe_sbc_ckks_workspace_bytes`.
    size_t workspace_len;
} tfhe_sbc_ckks_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes the description of an upload of readings into the first bytes of `message`, which has
// room for `capacity`, and gives their number in `message_len`.
//
// An upload that questions can be asked about is this message and then, at once, one of
// `tfhe_sbc_encrypt_blocks` with the blocks of all rows of the first column, then of all rows of
// the second, and so on. `rows` are labels in UTF-8 of at most 64 characters, each ended by a zero:
// usually times. Nothing of the description is encrypted.
int32_t tfhe_sbc_describe(struct tfhe_sbc_encryptor *encryptor,
                          const struct tfhe_sbc_column *columns,
                          size_t column_count,
                          const char *const *rows,
                          size_t row_count,
                          uint8_t *message,
                          size_t capacity,
                          size_t *message_len);

// `tfhe_sbc_describe` that gives the message to `sink` piece by piece. Everything is checked before
// the first piece.
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
// The encryptor holds no session; after an error it still holds none.
int32_t tfhe_sbc_encryptor_init(struct tfhe_sbc_encryptor *encryptor,
                                const struct tfhe_sbc_options *options);

// Starts a session with a device public key: what the device holds does not decrypt its
// messages, which are larger for it.
//
// The encryptor holds no session; after an error it still holds none.
int32_t tfhe_sbc_encryptor_init_public(struct tfhe_sbc_encryptor *encryptor,
                                       const struct tfhe_sbc_options *options);

// Number of bytes of a message of `count` bits or blocks.
int32_t tfhe_sbc_message_bytes(struct tfhe_sbc_encryptor *encryptor,
                               size_t count,
                               size_t *bytes);

// Encrypts `count` bits, each a byte of 0 or 1, into the first bytes of `message`, which
// has room for `capacity`, and gives their number in `message_len`.
int32_t tfhe_sbc_encrypt_bits(struct tfhe_sbc_encryptor *encryptor,
                              const uint8_t *bits,
                              size_t count,
                              uint8_t *message,
                              size_t capacity,
                              size_t *message_len);

// Encrypts `count` radix blocks, each a byte below the message modulus, into the first
// bytes of `message`, which has room for `capacity`, and gives their number in
// `message_len`.
int32_t tfhe_sbc_encrypt_blocks(struct tfhe_sbc_encryptor *encryptor,
                                const uint8_t *blocks,
                                size_t count,
                                uint8_t *message,
                                size_t capacity,
                                size_t *message_len);

// Encrypts `count` bits, each a byte of 0 or 1, and gives the message to `sink` piece by
// piece while it is made. Everything is checked before the first piece.
int32_t tfhe_sbc_encrypt_bits_to(struct tfhe_sbc_encryptor *encryptor,
                                 const uint8_t *bits,
                                 size_t count,
                                 tfhe_sbc_sink sink,
                                 void *sink_context);

// Encrypts `count` radix blocks, each a byte below the message modulus, and gives the
// message to `sink` piece by piece while it is made. Everything is checked before the
// first piece.
int32_t tfhe_sbc_encrypt_blocks_to(struct tfhe_sbc_encryptor *encryptor,
                                   const uint8_t *blocks,
                                   size_t count,
                                   tfhe_sbc_sink sink,
                                   void *sink_context);

// Ends a session: overwrites all secrets, in the encryptor and in the workspace, with
// zeros. An encryptor without a session is only overwritten.
int32_t tfhe_sbc_encryptor_wipe(struct tfhe_sbc_encryptor *encryptor);

// Reads a key file of either kind and tells what is in it.
int32_t tfhe_sbc_key_info_read(const uint8_t *key,
                               size_t key_len,
                               struct tfhe_sbc_key_info *info);

// Number of bytes of the workspace of a session with this key file and memory plan.
int32_t tfhe_sbc_workspace_bytes(const uint8_t *key,
                                 size_t key_len,
                                 uint32_t plan,
                                 size_t *bytes);

// Number of bytes of a message that uploads `reading_count` readings of
// `bits_per_reading` bits each; a bit counts as a reading of one.
int32_t tfhe_sbc_upload_bytes(const uint8_t *key,
                              size_t key_len,
                              size_t reading_count,
                              uint32_t bits_per_reading,
                              size_t *bytes);

// Number of blocks of `count` readings or codes of `bits` bits, 1 to 64.
int32_t tfhe_sbc_block_count(struct tfhe_sbc_encryptor *encryptor,
                             uint32_t bits,
                             size_t count,
                             size_t *blocks);

// Turns `count` readings into radix blocks, least significant block first, reading after
// reading. `blocks` has room for `capacity`; the first `tfhe_sbc_block_count` are written,
// none if there is an error.
int32_t tfhe_sbc_encode_readings(struct tfhe_sbc_encryptor *encryptor,
                                 const struct tfhe_sbc_encoding *encoding,
                                 const double *readings,
                                 size_t count,
                                 uint8_t *blocks,
                                 size_t capacity);

// Turns `count` unsigned codes of `bits` bits, 1 to 64, into radix blocks, as
// `tfhe_sbc_encode_readings` but without floating point: what an analog-to-digital
// converter gives is such a code already.
int32_t tfhe_sbc_encode_codes(struct tfhe_sbc_encryptor *encryptor,
                              uint32_t bits,
                              const uint64_t *codes,
                              size_t count,
                              uint8_t *blocks,
                              size_t capacity);

// The fastest memory plan of this build on its target, a `tfhe_sbc_plan`.
uint32_t tfhe_sbc_recommended_plan(void);

// What a return value means, in a line of English without a full stop. Never NULL; the
// text lives as long as the program.
const char *tfhe_sbc_error_text(int32_t status);

// The version of the library, such as "0.1.0".
const char *tfhe_sbc_version(void);

// Gives SEAL-Embedded's parameters of a polynomial size.
int32_t tfhe_sbc_ckks_standard_parameters(uint32_t polynomial_size,
                                          struct tfhe_sbc_ckks_parameters *parameters);

// Reads SEAL's `EncryptionParameters`, saved without compression.
int32_t tfhe_sbc_ckks_parameters_read(const uint8_t *object,
                                      size_t object_len,
                                      struct tfhe_sbc_ckks_parameters *parameters);

// Number of bytes of the workspace of a session with a secret key, or with a public one if
// `is_public` is not 0.
int32_t tfhe_sbc_ckks_workspace_bytes(const struct tfhe_sbc_ckks_parameters *parameters,
                                      uint32_t plan,
                                      uint32_t is_public,
                                      size_t *bytes);

// Number of bytes of a ciphertext.
int32_t tfhe_sbc_ckks_ciphertext_bytes(const struct tfhe_sbc_ckks_parameters *parameters,
                                       uint32_t format,
                                       size_t *bytes);

// Packs SEAL's `SecretKey`, saved without compression, into the form that sessions take, of
// `polynomial_size / 4` bytes. `scratch` has `polynomial_size` numbers; a workspace has
// room for them. It is overwritten with zeros at the end.
int32_t tfhe_sbc_ckks_secret_key_pack(const struct tfhe_sbc_ckks_parameters *parameters,
                                      const uint8_t *object,
                                      size_t object_len,
                                      uint8_t *packed,
                                      size_t packed_len,
                                      uint32_t *scratch,
                                      size_t scratch_count);

// Starts a session with a secret key.
//
// The encryptor holds no session; after an error it still holds none.
int32_t tfhe_sbc_ckks_encryptor_init(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const struct tfhe_sbc_ckks_options *options);

// Starts a session with a public key: what the device holds does not decrypt its
// ciphertexts.
//
// The encryptor holds no session; after an error it still holds none.
int32_t tfhe_sbc_ckks_encryptor_init_public(struct tfhe_sbc_ckks_encryptor *encryptor,
                                            const struct tfhe_sbc_ckks_options *options);

// Encrypts `count` real numbers, times `scale` and rounded, into the first bytes of
// `ciphertext`, which has room for `capacity`, and gives their number in `ciphertext_len`.
// Slots without a value are zero.
int32_t tfhe_sbc_ckks_encrypt_f64(struct tfhe_sbc_ckks_encryptor *encryptor,
                                  const double *values,
                                  size_t count,
                                  double scale,
                                  uint32_t format,
                                  uint8_t *ciphertext,
                                  size_t capacity,
                                  size_t *ciphertext_len);

// As `tfhe_sbc_ckks_encrypt_f64`, of numbers in single precision.
int32_t tfhe_sbc_ckks_encrypt_f32(struct tfhe_sbc_ckks_encryptor *encryptor,
                                  const float *values,
                                  size_t count,
                                  double scale,
                                  uint32_t format,
                                  uint8_t *ciphertext,
                                  size_t capacity,
                                  size_t *ciphertext_len);

// As `tfhe_sbc_ckks_encrypt_f64`, of `count` complex numbers, each of them its real and then
// its imaginary part.
int32_t tfhe_sbc_ckks_encrypt_complex(struct tfhe_sbc_ckks_encryptor *encryptor,
                                      const double *values,
                                      size_t count,
                                      double scale,
                                      uint32_t format,
                                      uint8_t *ciphertext,
                                      size_t capacity,
                                      size_t *ciphertext_len);

// Encrypts `count` real numbers, times `scale` and rounded, and gives the ciphertext to `sink`
// piece by piece while it is made. Everything is checked before the first piece. Slots
// without a value are zero.
int32_t tfhe_sbc_ckks_encrypt_f64_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const double *values,
                                     size_t count,
                                     double scale,
                                     uint32_t format,
                                     tfhe_sbc_sink sink,
                                     void *sink_context);

// As `tfhe_sbc_ckks_encrypt_f64_to`, of numbers in single precision.
int32_t tfhe_sbc_ckks_encrypt_f32_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                     const float *values,
                                     size_t count,
                                     double scale,
                                     uint32_t format,
                                     tfhe_sbc_sink sink,
                                     void *sink_context);

// As `tfhe_sbc_ckks_encrypt_f64_to`, of `count` complex numbers, each of them its real and
// then its imaginary part.
int32_t tfhe_sbc_ckks_encrypt_complex_to(struct tfhe_sbc_ckks_encryptor *encryptor,
                                         const double *values,
                                         size_t count,
                                         double scale,
                                         uint32_t format,
                                         tfhe_sbc_sink sink,
                                         void *sink_context);

// Ends a session: overwrites all secrets, in the encryptor and in the workspace, with
// zeros. An encryptor without a session is only overwritten.
int32_t tfhe_sbc_ckks_encryptor_wipe(struct tfhe_sbc_ckks_encryptor *encryptor);

#ifdef __cplusplus
} // extern "C"
#endif // __cplusplus

#endif /* TFHE_SBC_H */
