/**
 * From the bytes of a body to its value: on the event loop where it is small, else as a job of a thread
 * (body-thread.ts), which loads nothing else of this room.
 */
import type { BodyFacts } from '../../tasks/record/body-facts.ts';

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

/** A job of a thread. */
export type BodyJob =
  /** Only shows that the thread runs. */
  | { readonly kind: 'start' }
  /**
   * @param factsOf for a create, which is identified by the fingerprint of its body: of the value, or of its member
   *   `body`, which the line of a batch has. Undefined: they are not needed.
   * @param isOutline whether of `body` only the model is needed, and of the value nothing that is not a text.
   */
  | {
      readonly kind: 'parse';
      readonly bytes: Uint8Array;
      readonly factsOf: 'value' | 'body' | undefined;
      readonly isOutline?: boolean | undefined;
    };

/** Its result. */
export type BodyJobAnswer =
  | { readonly kind: 'started' }
  /**
   * @param serialized the value (`v8.deserialize`): as bytes, so that it is built in the other thread when its turn
   *   comes, and not when the message arrives. @param facts where they were requested and what they are of is an
   *   object.
   */
  | { readonly kind: 'parsed'; readonly serialized: Uint8Array; readonly facts: BodyFacts | undefined }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };
