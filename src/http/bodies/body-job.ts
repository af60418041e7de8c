/** What the body threads are asked to do, and what they answer. */
import type { BodyFacts } from '../../tasks/record/body-facts.ts';

export type BodyJob =
  /** Only shows that the thread is there. */
  | { readonly kind: 'start' }
  /** `needsFacts`: of a create, which is known by the fingerprint of its body. */
  | { readonly kind: 'parse'; readonly bytes: Uint8Array; readonly needsFacts: boolean };

export type BodyJobAnswer =
  | { readonly kind: 'started' }
  /**
   * @param serialized the value (`v8.deserialize`): as bytes, so that it is made in the other thread when its turn comes,
   *   and not when the message does. @param facts where they were asked for and the value is an object.
   */
  | { readonly kind: 'parsed'; readonly serialized: Uint8Array; readonly facts: BodyFacts | undefined }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };
