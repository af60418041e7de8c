/** Renders an answer that was opened, as a whole or as a stream, and counts in the tally what passes. */
import { DONE } from './encoder.ts';
import type { AnswerEncoder, TextProblem } from './encoder.ts';
import type { TextEvent, OpenedAnswer, TextCall } from './source.ts';
import type { Tally } from './tally.ts';

/** What rendering needs of a call as an endpoint decoded it (answer.ts). */
interface RenderedCall {
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  readonly encoder: (createdAt: number) => AnswerEncoder;
  /** An error as the endpoint reports it in the middle of a stream. */
  readonly problemOf: (error: unknown) => TextProblem;
}

/** Reads an answer that is not streamed to its end. */
export async function wholeAnswer(
  opened: OpenedAnswer,
  decoded: RenderedCall,
  call: TextCall,
): Promise<Readonly<Record<string, unknown>>> {
  if (opened.kind === 'body') return opened.body;
  if (opened.kind === 'frames') throw new Error('an answer that is not streamed was opened as a stream');
  const encoder = decoded.encoder(call.createdAt);
  encoder.begin();
  for await (const event of opened.events) {
    feed(call.tally, event);
    encoder.next(event);
  }
  encoder.end(call.tally.usage());
  return encoder.answer();
}

/** The progress of a stream. */
export interface StreamProgress {
  state: 'open' | 'over' | 'failed';
  /** The complete answer, once it exists. */
  whole: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The server-sent events of an answer; the last is `[DONE]`.
 *
 * @param onError records the error that ended the answer.
 *   It returns the error to report to the client; undefined: the client has disconnected.
 */
export async function* streamOf(
  opened: OpenedAnswer,
  decoded: RenderedCall,
  call: TextCall,
  progress: StreamProgress,
  onError: (error: unknown) => unknown,
): AsyncGenerator<string> {
  const encoder = decoded.encoder(call.createdAt);
  try {
    if (opened.kind === 'body') throw new Error('an answer that is streamed was opened as a whole');
    if (opened.kind === 'frames') {
      yield* opened.frames;
      progress.whole = opened.whole?.();
    } else {
      await decoded.nextTurn?.();
      yield* inTurns(encoder.begin(), decoded);
      for await (const event of opened.events) {
        feed(call.tally, event);
        yield* encoder.next(event);
      }
      await decoded.nextTurn?.();
      const last = encoder.end(call.tally.usage());
      progress.whole = encoder.answer();
      progress.state = 'over';
      yield* inTurns(last, decoded);
    }
    progress.state = 'over';
  } catch (error) {
    const reported = onError(error);
    if (reported === undefined) return;
    const problem = decoded.problemOf(reported);
    yield* opened.kind === 'frames' && opened.fail !== undefined ? opened.fail(problem) : encoder.fail(problem);
  }
  yield DONE;
}

/** Frames that may repeat a large request are serialized when they are taken. */
async function* inTurns(frames: readonly string[], { nextTurn }: RenderedCall): AsyncGenerator<string> {
  for (const frame of frames) {
    await nextTurn?.();
    yield frame;
  }
}

function feed(tally: Tally, event: TextEvent): void {
  switch (event.type) {
    case 'text':
    case 'refusal':
    case 'tool_arguments':
      tally.addOutput(event.text);
      return;
    case 'reasoning':
      tally.addReasoning(event.text);
      return;
    case 'tool_call':
      tally.addOutput(event.name);
      return;
    case 'usage':
      tally.report(event.usage);
      return;
    case 'image':
    case 'finish':
  }
}
