/** From the bytes of a body to its value: on the event loop where it is small, else in a thread. */

export type ParsedBody =
  | { readonly kind: 'parsed'; readonly value: unknown }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };

/** @param bytes within the bounds of json-scanner.ts. */
export function parseBody(bytes: Uint8Array): ParsedBody {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
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
