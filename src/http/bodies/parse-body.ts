/** From the bytes of a body to its value: on the event loop where it is small, else in a thread. */

export type ParsedBody =
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };

/** Without `stream`, a decoder keeps nothing of one body for the next, not even of one that is not UTF-8. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** @param bytes within the bounds of json-scanner.ts. */
export function parseBody(bytes: Uint8Array): ParsedBody {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return { kind: 'not_utf8' };
  }
  try {
    return { kind: 'parsed', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'not_json' };
  }
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
