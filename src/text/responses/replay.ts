/**
 * The stream of a stored response, rebuilt from its object (contract §9: `stream` and `starting_after` of
 * `GET /responses/{id}`). The events are those of our own answers (item-writer.ts), with the deltas and the numbers
 * that they had if it was streamed; a response that was not streamed has each text in one delta.
 *
 * How a text was cut into deltas is what has to be stored in addition to the object. Only lengths are stored, because
 * the text is in the object: the events themselves take some fifty times as much.
 */
import { frameOf } from '../encoder.ts';
import { imageEvents } from './item-writer.ts';

type Members = Readonly<Record<string, unknown>>;

/** The length of one delta in UTF-16 code units, and the number of log probabilities that came with it, if any. */
type DeltaCut = number | readonly [length: number, logprobs: number];

/** By the part that the deltas extend (`deltaKey`), in the order of the deltas. */
export type DeltaCuts = Readonly<Record<string, readonly DeltaCut[]>>;

/** Identifies what a delta extends: a part of an item, or the arguments of a call. */
function deltaKey(event: Members): string {
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

interface ReplayedEvent extends Members {
  readonly type: string;
}

/**
 * @param response as it was returned. @param cuts of its stream.
 * @param startingAfter the number of the last event that is left out; undefined: none is.
 */
export function* replayFrames(response: Members, cuts: DeltaCuts, startingAfter = -1): Generator<string> {
  let number = 0;
  for (const { type, ...data } of replayEvents(response, cuts)) {
    if (number > startingAfter) yield frameOf({ type, sequence_number: number, ...data }, type);
    number += 1;
  }
}

/** How many events the stream has. */
export function countReplayed(response: Members, cuts: DeltaCuts): number {
  let events = 0;
  for (const _ of replayEvents(response, cuts)) events += 1;
  return events;
}

/**
 * What is to be stored of a stream's deltas. An upstream may have sent events that are not rebuilt here: their numbers
 * would mean other events, so that such a stream is stored like one that was not streamed.
 */
export function cutsToStore(response: Members, recorder: DeltaRecorder): DeltaCuts | undefined {
  const cuts = recorder.cuts();
  return countReplayed(response, cuts) === recorder.events ? cuts : undefined;
}

function* replayEvents(response: Members, cuts: DeltaCuts): Generator<ReplayedEvent> {
  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  // One in the background was queued before.
  const queued = { ...begun, status: 'queued' };
  const isBackground = response['background'] === true;
  yield { type: 'response.created', response: isBackground ? queued : begun };
  if (isBackground) yield { type: 'response.queued', response: queued };
  yield { type: 'response.in_progress', response: begun };
  for (const [index, item] of listOf(response['output']).entries()) yield* itemEvents(item, index, cuts);
  yield { type: `response.${String(response['status'])}`, response };
}

function* itemEvents(item: Members, output_index: number, cuts: DeltaCuts): Generator<ReplayedEvent> {
  if (item['type'] === 'image_generation_call') {
    yield* allImageEvents(item, output_index);
    return;
  }
  const where = { item_id: item['id'], output_index };
  yield { type: 'response.output_item.added', output_index, item: begunItem(item) };
  if (item['type'] === 'function_call') {
    yield* deltas({ type: 'response.function_call_arguments.delta', ...where }, item['arguments'], [], cuts);
    const { name, arguments: text } = item;
    yield { type: 'response.function_call_arguments.done', ...where, name, arguments: text };
  } else {
    for (const [index, part] of listOf(item['summary']).entries()) {
      yield* partEvents(part, { ...where, summary_index: index }, cuts);
    }
    for (const [index, part] of listOf(item['content']).entries()) {
      yield* partEvents(part, { ...where, content_index: index }, cuts);
    }
  }
  yield { type: 'response.output_item.done', output_index, item };
}

/** @param item as it ended. One without a task has never been generating. */
function* allImageEvents(item: Members, outputIndex: number): Generator<ReplayedEvent> {
  const { id, type } = item;
  yield* imageEvents({ type: 'begun' }, { id, type, result: null, status: 'in_progress' }, outputIndex);
  if (item['task_id'] !== undefined) yield* imageEvents({ type: 'generating' }, item, outputIndex);
  yield* imageEvents({ type: 'done' }, item, outputIndex);
}

/** An item before it had any content. */
function begunItem(item: Members): Members {
  return {
    ...Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'encrypted_content')),
    ...('status' in item ? { status: 'in_progress' } : {}),
    ...('content' in item ? { content: [] } : {}),
    ...('summary' in item ? { summary: [] } : {}),
    ...(item['type'] === 'function_call' ? { arguments: '' } : {}),
  };
}

/** The names of a part's events, and the member that grows. */
const PARTS: Readonly<Record<string, { readonly part: string; readonly text: string; readonly member: string }>> = {
  output_text: { part: 'content_part', text: 'output_text', member: 'text' },
  refusal: { part: 'content_part', text: 'refusal', member: 'refusal' },
  reasoning_text: { part: 'content_part', text: 'reasoning_text', member: 'text' },
  summary_text: { part: 'reasoning_summary_part', text: 'reasoning_summary_text', member: 'text' },
};

function* partEvents(part: Members, where: Members, cuts: DeltaCuts): Generator<ReplayedEvent> {
  const names = PARTS[String(part['type'])] ?? { part: 'content_part', text: undefined, member: '' };
  const { text, member } = names;
  yield { type: `response.${names.part}.added`, ...where, part: text === undefined ? part : begunPart(part, member) };
  if (text !== undefined) {
    const doneLogprobs = part['type'] === 'output_text' ? { logprobs: part['logprobs'] ?? [] } : {};
    const logprobs = part['type'] === 'output_text' ? listOf(part['logprobs']) : undefined;
    yield* deltas({ type: `response.${text}.delta`, ...where }, part[member], logprobs, cuts);
    yield { type: `response.${text}.done`, ...where, [member]: part[member], ...doneLogprobs };
  }
  yield { type: `response.${names.part}.done`, ...where, part };
}

function begunPart(part: Members, member: string): Members {
  const lists = ['annotations', 'logprobs'].filter((name) => name in part).map((name) => [name, []] as const);
  return { ...part, [member]: '', ...Object.fromEntries(lists) };
}

/** @param logprobs undefined: such deltas have none. */
function* deltas(
  head: ReplayedEvent,
  whole: unknown,
  logprobs: readonly Members[] | undefined,
  cuts: DeltaCuts,
): Generator<ReplayedEvent> {
  const text = typeof whole === 'string' ? whole : '';
  const hasLogprobs = head.type === 'response.output_text.delta';
  let at = 0;
  let sentLogprobs = 0;
  for (const cut of cutsOf(text, logprobs ?? [], cuts[deltaKey(head)])) {
    const [length, tokens] = typeof cut === 'number' ? [cut, 0] : cut;
    const delta = text.slice(at, at + length);
    yield {
      ...head,
      delta,
      ...(hasLogprobs ? { logprobs: logprobs?.slice(sentLogprobs, sentLogprobs + tokens) ?? [] } : {}),
    };
    at += length;
    sentLogprobs += tokens;
  }
}

/** The stored cuts, if they fit this text. */
function cutsOf(
  text: string,
  logprobs: readonly Members[],
  stored: readonly DeltaCut[] | undefined,
): readonly DeltaCut[] {
  const length = (stored ?? []).reduce<number>((sum, cut) => sum + (typeof cut === 'number' ? cut : cut[0]), 0);
  if (stored !== undefined && length === text.length) return stored;
  return text === '' && logprobs.length === 0 ? [] : [[text.length, logprobs.length]];
}

function listOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? (value as readonly Members[]) : [];
}
