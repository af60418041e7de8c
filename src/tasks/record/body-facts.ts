/**
 * What a create has to know about its whole body, however large it is. Computed where the body is parsed: outside the
 * event loop where it is large (http/bodies).
 */
import { fingerprint } from './fingerprint.ts';
import type { Fingerprint } from './fingerprint.ts';
import { findUnstorableText } from './storable-text.ts';
import type { Violation } from '@darkroom/api/facts/violation';

export interface BodyFacts {
  readonly fingerprint: Fingerprint;
  /** What prevents storing it, naming the field. */
  readonly unstorable: Violation | undefined;
}

/** A body that takes some hundredths of a second to process. */
export interface LargeBody {
  /** Where they are known already. */
  readonly facts: BodyFacts | undefined;
  /** To be awaited before anything that processes all of it (limits/turns.ts). */
  readonly nextTurn: () => Promise<void>;
}

export function factsOf(body: Readonly<Record<string, unknown>>): BodyFacts {
  return { fingerprint: fingerprint(body), unstorable: findUnstorableText(body) };
}
