#!/usr/bin/env python3
"""Verifies an audit bundle of Toolcrib with nothing but Python 3 and its standard library.

    python3 verify.py audit.tar --key audit-key.pub

A bundle is a tar archive: the audit (audit/*.jsonl), public keys (keys.pub), copies of the
checkpoints (anchors.jsonl), the rules and tool definitions in force (rules/, tools/), and a signed
list of SHA-256 sums of all of these (SHA256SUMS, SHA256SUMS.sig).

What is verified:

1. Every file is listed with its SHA-256, every listed file is there, and a trusted key signed the
   list.
2. Each rule file and tool definition is named by the SHA-256 of its text.
3. The records of each chain are numbered without a gap, and the hash of each is
   SHA-256(hash of the record before + text of the record).
4. A trusted key signed each checkpoint, and each checkpoint has the hash of the record that it
   names.
5. Every anchor, the second copy of a checkpoint, is one of the checkpoints.

Without --key, the keys in the bundle are trusted. Then the verification proves only that the
bundle is consistent: compare the printed keys with a copy from another source.

Exit codes: 0 sound, 1 something was found, 2 the bundle or the key file cannot be read.
"""

import argparse
import hashlib
import json
import sys
import tarfile

# Ed25519 verification as in RFC 8032, section 6.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_MINUS_1 = pow(2, (P - 1) // 4, P)


def add_points(a, b):
    """The sum of two points in extended homogeneous coordinates."""
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    s, t = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = n - m, t - s, t + s, n + m
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add_points(total, point)
        point = add_points(point, point)
        scalar >>= 1
    return total


def decode_point(encoded):
    """The point of 32 bytes, or None."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_MINUS_1 % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signature_is_valid(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    point, commitment = decode_point(key), decode_point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or commitment is None or scalar >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    left, right = multiply(scalar, BASE), add_points(commitment, multiply(challenge, point))
    same_x = (left[0] * right[2] - right[0] * left[2]) % P == 0
    return same_x and (left[1] * right[2] - right[1] * left[2]) % P == 0


def check_arithmetic():
    """The third test vector of RFC 8032, section 7.1, and a changed message."""
    key = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
    signature = bytes.fromhex(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    )
    if not signature_is_valid(key, b"\xaf\x82", signature):
        sys.exit("the arithmetic of this Python is wrong: a valid signature was refused")
    if signature_is_valid(key, b"\xaf\x83", signature):
        sys.exit("the arithmetic of this Python is wrong: a wrong signature was accepted")


def parse_keys(text):
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def hex_bytes(text):
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        return b""


class Verifier:
    def __init__(self, path, trusted):
        self.archive = tarfile.open(path, "r:")
        self.trusted = trusted
        self.findings = []
        self.checked = {}

    def found(self, what):
        self.findings.append(what)

    def verify(self):
        sums, kept = self.hash_files()
        if self.trusted is None:
            self.trusted = parse_keys(kept.get("keys.pub", b"").decode("ascii", "replace"))
            print("the keys are those of the bundle; compare them with a copy of your own:")
        else:
            print("trusted keys:")
        for key in self.trusted:
            print("  " + key)
        self.verify_manifest(sums, kept)
        for path, digest in sums.items():
            folder, _, name = path.rpartition("/")
            if folder in ("rules", "tools") and name != digest + ".json":
                self.found("digest: %s is not named by the SHA-256 of its text" % path)
        self.verify_chains(kept.get("anchors.jsonl", b""))

    def hash_files(self):
        """The SHA-256 of each file, and the text of those that are needed as a whole."""
        sums, kept = {}, {}
        for member in self.archive:
            if not member.isfile() or member.name in sums:
                self.found("unlisted: %s is not a file, or is there twice" % member.name)
                continue
            digest, text = hashlib.sha256(), []
            source = self.archive.extractfile(member)
            for block in iter(lambda: source.read(1 << 20), b""):
                digest.update(block)
                if not member.name.startswith("audit/"):
                    text.append(block)
            sums[member.name] = digest.hexdigest()
            kept[member.name] = b"".join(text)
        return sums, kept

    def verify_manifest(self, sums, kept):
        manifest = kept.get("SHA256SUMS", b"")
        listed = {}
        for line in manifest.decode("utf-8", "replace").splitlines():
            digest, _, path = line.partition("  ")
            listed[path] = digest
        for path, digest in sums.items():
            if path in ("SHA256SUMS", "SHA256SUMS.sig"):
                continue
            if path not in listed:
                self.found("unlisted: %s is not in SHA256SUMS" % path)
            elif listed[path] != digest:
                self.found("altered: %s is not the file that SHA256SUMS lists" % path)
        for path in listed:
            if path not in sums:
                self.found("missing: %s is in SHA256SUMS and not in the bundle" % path)
        signed = kept.get("SHA256SUMS.sig", b"").decode("ascii", "replace").split()
        key, signature = signed if len(signed) == 2 else ("", "")
        message = b"toolcrib audit bundle 1\n" + manifest
        if key not in self.trusted:
            self.found("manifest: SHA256SUMS is not signed by a trusted key")
        elif not signature_is_valid(hex_bytes(key), message, hex_bytes(signature)):
            self.found("manifest: the signature of SHA256SUMS is wrong")

    def is_signed(self, checkpoint):
        """Whether a trusted key signed this checkpoint."""
        names = ("chain", "seq", "head", "at", "key", "signature")
        chain, seq, head, at, key, signature = identity = tuple(map(checkpoint.get, names))
        if identity not in self.checked:
            text = "toolcrib audit checkpoint 1\n%s\n%s\n%s\n%s\n" % (chain, seq, head, at)
            self.checked[identity] = key in self.trusted and signature_is_valid(
                hex_bytes(key), text.encode(), hex_bytes(signature)
            )
        return self.checked[identity]

    def believed(self, checkpoints, where):
        """Those with a valid signature, as (number, hash)."""
        believed = set()
        for checkpoint in checkpoints:
            if self.is_signed(checkpoint):
                believed.add((checkpoint["seq"], checkpoint["head"]))
            else:
                place = (checkpoint.get("chain"), checkpoint.get("seq"), where)
                self.found("forged_checkpoint: chain %s at %s %s is not believed" % place)
        return believed

    def lines(self):
        for member in self.archive:
            if member.isfile() and member.name.startswith("audit/"):
                for line in self.archive.extractfile(member):
                    yield json.loads(line)

    def verify_chains(self, anchor_text):
        anchors = {}
        for line in anchor_text.splitlines():
            anchor = json.loads(line)
            anchors.setdefault(anchor["chain"], []).append(anchor)
        chain, seen = None, set()
        for line in self.lines():
            if line["type"] == "chain":
                if chain is not None or line["chain"] in seen:
                    self.found("unreadable: chain %s begins twice" % line["chain"])
                chain = Chain(self, line)
                seen.add(line["chain"])
            elif line["type"] == "checkpoint":
                chain.checkpoints.append(line)
            elif line["type"] == "record":
                chain.add(line, anchors.get(chain.number, []))
            elif line["type"] == "end":
                chain.end(line, anchors.get(chain.number, []))
                chain = None
        if chain is not None:
            self.found("tail_cut: chain %s has no end" % chain.number)
        for number in sorted(set(anchors) - seen):
            self.found("missing_chain: chain %s is anchored and not in the bundle" % number)


class Chain:
    def __init__(self, verifier, line):
        self.verifier, self.number = verifier, line["chain"]
        self.previous = hashlib.sha256(b"toolcrib audit 1 chain %d" % self.number).digest()
        if line["after"] != 0 or hex_bytes(line["hash"]) != self.previous:
            verifier.found("gap: chain %s does not begin at its first record" % self.number)
        self.last, self.records = 0, 0
        self.checkpoints, self.signed, self.heads = [], None, {}

    def believe(self, anchors):
        """Checks signatures once, before the first record."""
        if self.signed is None:
            rows = self.verifier.believed(self.checkpoints, "beside the records")
            anchored = self.verifier.believed(anchors, "in the anchors")
            for seq, _ in sorted(anchored - rows):
                what = "missing_checkpoint: chain %s at %s is anchored and not beside the records"
                self.verifier.found(what % (self.number, seq))
            self.signed = rows | anchored
            self.wanted = {seq for seq, _ in self.signed}

    def add(self, row, anchors):
        self.believe(anchors)
        seq, text = row["seq"], row["text"]
        place = "chain %s, record %s" % (self.number, seq)
        if seq > self.last + 1:
            self.verifier.found("gap: chain %s misses records before %s" % (self.number, seq))
        elif seq <= self.last:
            self.verifier.found("moved: %s is not in its place" % place)
        try:
            record = json.loads(text)
            if (record["chain"], record["seq"]) != (self.number, seq):
                self.verifier.found("moved: %s was written for another place" % place)
        except (KeyError, TypeError, ValueError):
            self.verifier.found("altered: %s is not a record" % place)
        digest = hashlib.sha256(self.previous + text.encode()).hexdigest()
        if digest != row["hash"]:
            self.verifier.found("altered: %s does not fit its hash and the record before" % place)
        self.previous, self.last = hex_bytes(row["hash"]), seq
        self.records += 1
        if seq in self.wanted:
            self.heads[seq] = row["hash"]

    def end(self, line, anchors):
        self.believe(anchors)
        if (line["chain"], line["seq"]) != (self.number, self.last):
            self.verifier.found("tail_cut: chain %s does not end where it says" % self.number)
        for seq, head in sorted(self.signed):
            if seq > self.last:
                what = "tail_cut: chain %s ends at %s, a signed checkpoint is at %s"
                self.verifier.found(what % (self.number, self.last, seq))
            elif seq in self.heads and self.heads[seq] != head:
                what = "rewritten: chain %s up to %s is not what was signed"
                self.verifier.found(what % (self.number, seq))
        covered = max([seq for seq, _ in self.signed if seq <= self.last], default=0)
        what = "chain %s: %s records, %s checkpoints, signed up to %s"
        print(what % (self.number, self.records, len(self.signed), covered))


def main():
    words = argparse.ArgumentParser(description="Verifies an audit bundle of Toolcrib.")
    words.add_argument("bundle", help="the bundle, a tar archive")
    words.add_argument("--key", help="file of the public keys that are trusted, one in each line")
    args = words.parse_args()
    check_arithmetic()
    try:
        trusted = None
        if args.key:
            with open(args.key, encoding="ascii") as file:
                trusted = parse_keys(file.read())
        verifier = Verifier(args.bundle, trusted)
    except (OSError, tarfile.TarError, UnicodeDecodeError) as error:
        print("cannot be read: %s" % error, file=sys.stderr)
        return 2
    try:
        verifier.verify()
    except (tarfile.TarError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        verifier.found("unreadable: the bundle is malformed (%s)" % error)
    for finding in verifier.findings:
        print("! " + finding)
    print("NOT SOUND" if verifier.findings else "sound")
    return 1 if verifier.findings else 0


if __name__ == "__main__":
    sys.exit(main())
