/**
 * How the text of a streamed response was cut into deltas: what has to be stored in addition to the response object so
 * that the same events can be sent again under the same numbers (replay.ts). Only lengths are stored, because the text
 * is in the object: the events themselves take some fifty times as much.
 */

/** The length of one delta in UTF-16 code units, and the number of log probabilities that came with it, if any. */
export type DeltaCut = number | readonly [length: number, logprobs: number];

/** By the part that the deltas extend (`deltaKey`), in the order of the deltas. */
export type DeltaCuts = Readonly<Record<string, readonly DeltaCut[]>>;

type Members = Readonly<Record<string, unknown>>;

/** Identifies what a delta extends: a part of an item, or the arguments of a call. */
export function deltaKey(event: Members): string {
  const item = indexIn(event, 'output_index');
  for (const [list, index] of [
    ['summary', 'summary_index'],
    ['content', 'content_index'],
  ] as const) {
    if (event[index] !== undefined) return `${item}.${list}.${indexIn(event, index)}`;
  }
  return `${item}.arguments`;
}

/** The first if an upstream does not specify it. */
function indexIn(event: Members, name: string): number {
  const index = event[name];
  return typeof index === 'number' ? index : 0;
}

/** Receives each event of a stream while it passes. */
export class DeltaRecorder {
  readonly #cuts = new Map<string, DeltaCut[]>();
  #events = 0;

  note(event: Members): void {
    this.#events += 1;
    const { delta, logprobs } = event;
    if (typeof delta !== 'string') return;
    const key = deltaKey(event);
    const cuts = this.#cuts.get(key) ?? [];
    const tokens = Array.isArray(logprobs) ? logprobs.length : 0;
    cuts.push(tokens === 0 ? delta.length : [delta.length, tokens]);
    this.#cuts.set(key, cuts);
  }

  /** The number of events. */
  get events(): number {
    return this.#events;
  }

  cuts(): DeltaCuts {
    return Object.fromEntries(this.#cuts);
  }
}
