"""Record decoded MXFP4 groups: all sixteen codes at ordinary and extreme scales (2.5).

    python3 record_mxfp4.py OUT.json

{"cases": [{"scale": byte, "packed": [16 bytes], "bits": [32 float32 patterns]}]}, columns in
order.  Scale 254 overflows to infinity from magnitude 2 on; 255 is to be refused: no case.
"""
import json
import sys

import numpy as np

import checkpoint
import philox

SCALES = (0, 1, 2, 64, 103, 121, 126, 127, 128, 129, 192, 253, 254)


def case(number, scale):
    """All codes once in order, then once as drawn."""
    ordered = [low | ((low + 1) << 4) for low in range(0, 16, 2)]
    drawn = [int(w) & 255 for w in philox.words(4, number, 8)[:, 0]]
    packed = np.array([ordered + drawn], np.uint8)
    values = checkpoint.decode_mxfp4(packed, np.array([[scale]], np.uint8))[0]
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    return {"scale": scale, "packed": [int(b) for b in packed[0]],
            "bits": [int(b) for b in bits]}


def main():
    """Command line."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = ",\n".join(json.dumps(case(n, s)) for n, s in enumerate(SCALES))
    with open(sys.argv[1], "w") as out:
        out.write('{"cases": [\n%s]}\n' % cases)


if __name__ == "__main__":
    main()
