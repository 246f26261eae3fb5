#!/usr/bin/env python3
"""Rotates the table of a model so that its first dimensions tell most: the index looks at those alone before it compares whole vectors.

A rotation changes no distance, so the ranking stays as it is but for rounding. The axes are the principal ones of the tool texts.
Needs : pip install numpy tokenizers
Run   : python rotate.py --model FOLDER --data dev.jsonl --out FOLDER  (the model as make_model.py writes it, its own training tools)
"""
import argparse, json, os, re, shutil, struct
import numpy as np
from tokenizers import Tokenizer
ap = argparse.ArgumentParser(); ap.add_argument('--model', required=True); ap.add_argument('--data', required=True); ap.add_argument('--out', required=True); a = ap.parse_args()

def split_ident(s):
    s = re.sub(r'[_\-./:{}\[\]|#@]+', ' ', s)
    s = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', s); s = re.sub(r'(?<=[A-Z])(?=[A-Z][a-z])', ' ', s)
    s = re.sub(r'(?<=[A-Za-z])(?=[0-9]{2,})', ' ', s)
    return re.sub(r'\s+', ' ', s).strip()
def short(t): return (split_ident(t['server']) + ' ' if t.get('server') else '') + split_ident(t['name']) + ': ' + t['description']

raw = open(f'{a.model}/model.safetensors', 'rb').read(); n = struct.unpack('<Q', raw[:8])[0]; head = json.loads(raw[8:8 + n])
def tensor(k, dtype): x, y = head[k]['data_offsets']; return np.frombuffer(raw[8 + n + x:8 + n + y], dtype).reshape(head[k]['shape'])
E, w = tensor('embeddings', np.int8).astype(np.float64), tensor('weights', np.float32).astype(np.float64)
tok = Tokenizer.from_file(f'{a.model}/tokenizer.json'); unk = tok.token_to_id('[UNK]')
X = []
for r in map(json.loads, open(a.data, encoding='utf8')):
    if r['type'] != 'tool': continue
    ids = [i for i in tok.encode(short(r), add_special_tokens=False).ids if i != unk]
    v = (E[ids] * w[ids, None]).sum(0); X.append(v / max(np.linalg.norm(v), 1e-9))
X = np.array(X); val, vec = np.linalg.eigh(X.T @ X); V = vec[:, ::-1]
R = E @ V; s = np.maximum(np.abs(R).max(1), 1e-9) / 127
q = np.clip(np.round(R / s[:, None]), -127, 127).astype(np.int8); w2 = (w * s).astype(np.float32)
part = ((X @ V) ** 2).mean(0); print('share of the first 32, 48, 64 dimensions:', [round(float(part[:k].sum()), 3) for k in (32, 48, 64)])
h = json.dumps({'weights': {'dtype': 'F32', 'shape': [len(w2)], 'data_offsets': [0, w2.nbytes]}, 'embeddings': {'dtype': 'I8', 'shape': list(q.shape), 'data_offsets': [w2.nbytes, w2.nbytes + q.nbytes]}}, separators=(',', ':')).encode()
h += b' ' * (-len(h) % 8); os.makedirs(a.out, exist_ok=True)
open(f'{a.out}/model.safetensors', 'wb').write(struct.pack('<Q', len(h)) + h + w2.tobytes() + q.tobytes())
for f in ('tokenizer.json', 'config.json'): shutil.copyfile(f'{a.model}/{f}', f'{a.out}/{f}')
