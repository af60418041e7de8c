/**
 * What a create has to know of its whole body, however much of it there is. Found out where the body is parsed: beside
 * the event loop where it is large (http/bodies).
 */
import { fingerprint } from './fingerprint.ts';
import type { Fingerprint } from './fingerprint.ts';
import { unstorableProblem } from './storable-text.ts';

export interface BodyFacts {
  readonly fingerprint: Fingerprint;
  /** What stands in the way of storing it, naming the field. */
  readonly unstorable: string | undefined;
}

/** A body that takes some hundredths of a second to look through. */
export interface LargeBody {
  /** Where they are known already. */
  readonly facts: BodyFacts | undefined;
  /** To be awaited before anything is done that goes through all of it (limits/turns.ts). */
  readonly nextTurn: () => Promise<void>;
}

export function factsOf(body: Readonly<Record<string, unknown>>): BodyFacts {
  return { fingerprint: fingerprint(body), unstorable: unstorableProblem(body) };
}
