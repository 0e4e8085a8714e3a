"""Reads tfhe-sbc's files from their description in docs/wire-format.md alone.

Usage: independent_reader SECRET_KEY DEVICE_KEY MESSAGES...

What the device key made is read with it; a switch key is that device key's if it decrypts
to it. Python's standard library only, and none of the Rust code: what both make of a file is
the same only if the description is right. Prints a line for each key and message:

    secret_key NAME PARAMETER_FINGERPRINT KEY_FINGERPRINT
    device_key shared
    device_key DEVICE EPOCH KEY_FINGERPRINT
    device_switch_key DEVICE EPOCH KEY_FINGERPRINT
    device_public_key EXPANDER
    seeded_glwe_list EXPANDER PLAINTEXT...
    glwe_list PLAINTEXT...
    seeded_column_list EXPANDER SEGMENT...
    column_list SEGMENT...
    lwe_list PLAINTEXT...
    metadata HEX
    compact_codes PART...
    linear_bodies PART...
    packed_answers PLAINTEXT...
    cut_answers PLAINTEXT...
    packing_key K N BASE_LOG LEVELS KEY_BODY_BITS MASK_BITS BODY_BITS

A segment is `radix PLAINTEXT...`, or `compact BITS HEADROOM BODY_BITS ROUNDING CODE...`. A part is
`codes BITS PLAINTEXT_BITS CODE...`, as the metadata before the list describes it.
"""

import sys

from answers import Result, decrypt_compact_codes, decrypt_cut_answers, decrypt_linear_bodies, decrypt_packed_answers
from column_lists import decrypt_column_list
from expanders import EXPANDERS
from key_material import check_device_public_key, check_device_switch_key
from keys import Key
from lists import decrypt_glwe_list, decrypt_lwe_list, decrypt_seeded_glwe_list
from messages import messages
from packing import check_packing_key


def main(secret_path, device_path, *message_paths):
    (secret_message,) = messages(secret_path)
    assert secret_message.kind == "secret_key"
    secret = Key(secret_message)
    print("secret_key", secret.parameters.name, secret.parameters.fingerprint.hex(), secret.fingerprint.hex())

    (device_message,) = messages(device_path)
    assert device_message.kind == "device_key"
    device = Key(device_message)
    device.payload = device_message.payload
    assert device.key_set == secret.fingerprint
    assert device.parameters.fingerprint == secret.parameters.fingerprint
    if device.fingerprint == secret.fingerprint:
        assert device.glwe == secret.glwe
        print("device_key shared")
    else:
        print("device_key", device.device, device.epoch, device.fingerprint.hex())

    for path in message_paths:
        result = None
        for message in messages(path):
            if message.kind == "seeded_glwe_list":
                print(message.kind, EXPANDERS[message.expander], *decrypt_seeded_glwe_list(message, device))
            elif message.kind == "glwe_list":
                print(message.kind, *decrypt_glwe_list(message, secret))
            elif message.kind == "seeded_column_list":
                print(message.kind, EXPANDERS[message.expander], *decrypt_column_list(message, device))
            elif message.kind == "column_list":
                print(message.kind, *decrypt_column_list(message, secret))
            elif message.kind == "device_public_key":
                check_device_public_key(message, secret)
                print(message.kind, EXPANDERS[message.expander])
            elif message.kind == "device_switch_key":
                print(message.kind, *check_device_switch_key(message, secret, device))
            elif message.kind == "lwe_list":
                print(message.kind, *decrypt_lwe_list(message, secret))
            elif message.kind == "compact_codes":
                print(message.kind, *decrypt_compact_codes(message, secret, result.with_masks))
            elif message.kind == "linear_bodies":
                print(message.kind, *decrypt_linear_bodies(message, secret, result.without_masks))
            elif message.kind == "packed_answers":
                print(message.kind, *decrypt_packed_answers(message, secret))
            elif message.kind == "cut_answers":
                print(message.kind, *decrypt_cut_answers(message, secret))
            elif message.kind == "packing_key":
                print(message.kind, *check_packing_key(message, secret))
            else:
                if message.kind == "metadata":
                    result = Result(message.payload)
                print(message.kind, message.payload.hex())


if __name__ == "__main__":
    main(*sys.argv[1:])
