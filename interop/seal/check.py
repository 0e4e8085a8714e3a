"""Gives a real SEAL the files that the program writes for it: keys load, ciphertexts decrypt
with the noise that they should have, and are computed on.

usage: check.py PROGRAM FOLDER
"""

import csv
import json
import math
import subprocess
import sys
from pathlib import Path

import tenseal.sealapi as seal

PROGRAM, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])


def tfhe_sbc(*arguments, fails=False):
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert (run.returncode != 0) == fails, f"{arguments}: {run.stderr}"
    return run.stderr if fails else run.stdout


def rms(found, expected):
    assert len(found) == len(expected)
    squares = ((a - b) ** 2 for a, b in zip(found, expected))
    return math.sqrt(sum(squares) / len(expected))


def within(what, found, expected, by=0.15):
    assert expected * (1 - by) < found < expected * (1 + by), f"{what}: {found:.3g} for {expected:.3g}"


class Owner:
    """SEAL with a key set that the program made."""

    def __init__(self, folder):
        self.folder = folder
        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.load(str(folder / "parms.seal"))
        self.context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        assert self.context.parameters_set()
        self.n = parameters.poly_modulus_degree()
        self.moduli = [prime.value() for prime in parameters.coeff_modulus()]
        self.secret = seal.SecretKey()
        self.secret.load(self.context, str(folder / "secret.seal"))
        self.public = seal.PublicKey()
        self.public.load(self.context, str(folder / "public.seal"))
        self.encoder = seal.CKKSEncoder(self.context)
        self.decryptor = seal.Decryptor(self.context, self.secret)
        self.evaluator = seal.Evaluator(self.context)

    def load(self, name):
        ciphertext = seal.Ciphertext()
        ciphertext.load(self.context, str(self.folder / name))
        return ciphertext

    def plaintext(self, ciphertext):
        plaintext = seal.Plaintext()
        self.decryptor.decrypt(ciphertext, plaintext)
        return plaintext

    def real(self, ciphertext):
        return list(self.encoder.decode_double(self.plaintext(ciphertext)))

    def complex(self, ciphertext):
        return list(self.encoder.decode_complex(self.plaintext(ciphertext)))

    def encoded(self, values, scale):
        plaintext = seal.Plaintext()
        self.encoder.encode(values, scale, plaintext)
        return plaintext


def write_csv(path, values):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["re", "im"])
        rows.writerows([repr(value.real), repr(value.imag)] for value in values)


def check(name, keygen):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    tfhe_sbc("ckks", "keygen", "--out", folder, *keygen)
    owner = Owner(folder)
    n = owner.n
    scale = 2.0 ** (20 if n == 1024 else 25)
    values = [complex(3 * math.sin(0.01 * i) + i / n - 1, math.cos(0.1 * i)) for i in range(n // 2)]
    reals = [value.real for value in values]
    write_csv(folder / "values.csv", values)

    def encrypt(out, *arguments, key="secret.seal"):
        tfhe_sbc(
            *["ckks", "encrypt", folder / "values.csv", "--key", folder / key],
            *["--column", "re", "--out", folder / out, "--scale", scale, *arguments],
        )
        return folder / out

    # Errors of both parts: their variance is that of n coefficients' noise, and of n real ones'
    # rounding for a real vector.
    fresh = math.sqrt((21 / 2 + 2 / 12) * n / 2) / scale
    forms = {
        "seeded.seal": [],
        "shake.seal": ["--generator", "shake256"],
        "whole.seal": ["--form", "expanded"],
    }
    for out, arguments in forms.items():
        encrypt(out, *arguments)
        within(f"{name} {out}", rms(owner.real(owner.load(out)), reals), fresh)
    assert (folder / "seeded.seal").stat().st_size < 0.52 * (folder / "whole.seal").stat().st_size

    # SEAL's own ciphertexts are no better.
    theirs = seal.Ciphertext()
    encryptor = seal.Encryptor(owner.context, owner.public, owner.secret)
    encryptor.encrypt_symmetric(owner.encoded(reals, scale), theirs)
    within(f"{name} SEAL's own", rms(owner.real(theirs), reals), fresh)

    encrypt("complex.seal", "--imaginary", "im")
    found = owner.complex(owner.load("complex.seal"))
    for part in (lambda value: value.real, lambda value: value.imag):
        error = rms([part(value) for value in found], [part(value) for value in values])
        within(f"{name} complex", error, math.sqrt((21 / 2 + 1 / 12) * n / 2) / scale)

    # Under the public key SEAL's error too; without a special prime it is that of products.
    encrypt("public.ct.seal", key="public.seal")
    public_error = rms(owner.real(owner.load("public.ct.seal")), reals)
    encryptor.encrypt(owner.encoded(reals, scale), theirs)
    their_error = rms(owner.real(theirs), reals)
    within(f"{name} public key", public_error, their_error, by=0.2)

    # Checks the object that SEAL-Embedded's stream becomes.
    encrypt("raw.bin", "--form", "raw")
    for source, arguments in {"raw.bin": ["--scale", scale], "seeded.seal": []}.items():
        tfhe_sbc(
            *["convert", "--to", "seal", folder / source, "--parms", folder / "parms.seal"],
            *["--out", folder / "converted.seal", *arguments],
        )
        within(f"{name} {source}", rms(owner.real(owner.load("converted.seal")), reals), fresh)

    # The same from the program's own decryption.
    text = tfhe_sbc(
        *["ckks", "decrypt", folder / "complex.seal", "--key", folder / "secret.seal"],
        *["--complex", "--json"],
    )
    ours = json.loads(text)
    for ours, theirs_part in ((ours["real"], "real"), (ours["imaginary"], "imag")):
        theirs_part = [getattr(value, theirs_part) for value in found]
        assert rms(ours, theirs_part) < 1e-9, name

    # Keys come back as they went, whichever form they were in.
    for source, form in {"secret.seal": "seal", f"sk_{n}.dat": "seal-embedded"}.items():
        again = folder.with_name(f"{folder.name}-{form}")
        for old in again.glob("*"):
            old.unlink()
        tfhe_sbc(
            *["keys", "import", "--from", form, folder / source, "--out", again],
            *["--parms", folder / "parms.seal", "--public"],
        )
        for file in ("parms.seal", "secret.seal", f"sk_{n}.dat"):
            assert (again / file).read_bytes() == (folder / file).read_bytes(), (name, file)
        # The key as SEAL saves it, compressed.
        owner.secret.save(str(again / "saved.seal"))
        owner.public.save(str(again / "saved-public.seal"))
        for saved, file in {"saved.seal": "secret.seal", "saved-public.seal": "public.seal"}.items():
            of_seal = again.with_name(again.name + "-saved")
            for old in of_seal.glob("*"):
                old.unlink()
            tfhe_sbc(
                *["keys", "import", "--from", "seal", again / saved, "--out", of_seal],
                *["--parms", folder / "parms.seal"],
            )
            # Its header is of its version, so only ours are compared whole.
            size = (folder / file).stat().st_size
            assert (of_seal / file).stat().st_size in (size, size + 8), (name, file)
            if file == "secret.seal":
                assert (of_seal / file).read_bytes() == (folder / file).read_bytes(), name
        imported = seal.PublicKey()
        imported.load(owner.context, str(again / "public.seal"))

    rotation = compute(name, owner, reals, fresh)
    print(
        f"{name}: symmetric {fresh:.2e}, public key {public_error:.2e}, SEAL's {their_error:.2e}"
        + (f", rotated {rotation:.2e}" if rotation else "")
    )


def compute(name, owner, reals, fresh):
    """Sums, products, and rotations of what the program encrypted; gives a rotation's error."""
    a, b = owner.load("seeded.seal"), owner.load("shake.seal")
    total = seal.Ciphertext()
    owner.evaluator.add(a, b, total)
    doubled = [2 * value for value in reals]
    within(f"{name} sum", rms(owner.real(total), doubled), math.sqrt(2) * fresh)
    if len(owner.moduli) < 3:
        return None

    keys = seal.KeyGenerator(owner.context, owner.secret)
    relinearization, galois = seal.RelinKeys(), seal.GaloisKeys()
    keys.create_relin_keys(relinearization)
    keys.create_galois_keys(galois)
    # Standard deviations of what the operations add, for coefficients of a ternary secret: rounding
    # after a rescaling, with and without its square, and switching keys, by digits in [0, q).
    n = owner.n
    rounding = math.sqrt((1 + 2 * n / 3) / 12 * n / 2)
    rounding_of_three = math.sqrt(n**3 / 54)
    *data, special = owner.moduli
    switching = math.sqrt(len(data) * n * max(data) ** 2 / 3 * 21 / 2 * n / 2) / special

    product = seal.Ciphertext()
    owner.evaluator.multiply(a, b, product)
    squares = [value * value for value in reals]
    owner.evaluator.rescale_to_next_inplace(product)
    error, bound = rms(owner.real(product), squares), rounding_of_three / product.scale
    assert bound / 3 < error < 2 * bound, f"{name} product: {error} for {bound}"
    # Three polynomials at a lower level, compressed as SEAL saves: the program decrypts them.
    product.save(str(owner.folder / "product.seal"))
    text = tfhe_sbc(
        *["ckks", "decrypt", owner.folder / "product.seal", "--json"],
        *["--key", owner.folder / "secret.seal"],
    )
    assert rms(json.loads(text)["real"], owner.real(product)) < 1e-9, name
    owner.evaluator.multiply(a, b, product)
    owner.evaluator.relinearize_inplace(product, relinearization)
    owner.evaluator.rescale_to_next_inplace(product)
    error = rms(owner.real(product), squares)
    bound = math.hypot(rounding, switching / data[-1]) / product.scale + 6 * fresh
    assert error < 2 * bound, f"{name} relinearized product: {error} for {bound}"
    rotated = seal.Ciphertext()
    owner.evaluator.rotate_vector(a, 1, galois, rotated)
    error = rms(owner.real(rotated), reals[1:] + reals[:1])
    bound = math.hypot(fresh, math.hypot(rounding, switching) / rotated.scale)
    assert error < 2 * bound, f"{name} rotation: {error} for {bound}"
    return error


def main():
    for n in (1024, 2048, 4096, 8192, 16384):
        check(f"n{n}", ["--n", n])
    custom = seal.CoeffModulus.Create(8192, [31, 30, 31, 50])
    *data, special = [prime.value() for prime in custom]
    primes = ",".join(map(str, data))
    check("custom", ["--n", 8192, "--primes", primes, "--special", special])


main()
