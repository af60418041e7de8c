/** The jobs of the body threads, and their results. */
import type { BodyFacts } from '../../tasks/record/body-facts.ts';

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

export type BodyJobAnswer =
  | { readonly kind: 'started' }
  /**
   * @param serialized the value (`v8.deserialize`): as bytes, so that it is built in the other thread when its turn
   *   comes, and not when the message arrives. @param facts where they were requested and what they are of is an object.
   */
  | { readonly kind: 'parsed'; readonly serialized: Uint8Array; readonly facts: BodyFacts | undefined }
  | { readonly kind: 'not_utf8' }
  | { readonly kind: 'not_json' };
