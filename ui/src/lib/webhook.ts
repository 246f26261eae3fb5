// The secret of a webhook, and how a request to it is signed.
import { api, path } from "./api";

const BYTES = 32;

/** Makes a secret and puts it into the vault, from where nothing gives it out again. */
export async function keepSecret(hook: string): Promise<string> {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  const secret = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  await api.put(path`/secrets/${`hook-${hook}`}`, { value: secret });
  return secret;
}

export function exampleOf(hook: string): string {
  return `time=$(date +%s); body='{"version": "1.2"}'
mac=$(printf '%s.%s' "$time" "$body" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
curl -H "X-Toolcrib-Timestamp: $time" -H "X-Toolcrib-Signature: sha256=$mac" \\
  -H 'Content-Type: application/json' -d "$body" ${location.origin}/api/v1/hooks/${hook}
`;
}
